"""What a person would really give: each becomes a trace with finite numbers, or one clear sentence."""

from __future__ import annotations

import pytest
import torch

from encoder import EncoderError, TextEncoder, TextError
from tests.engine.conftest import tiny

INPUTS = {
    "empty": ("", ("[CLS]", "[SEP]")),
    "only spaces": ("   \t\n ", ("[CLS]", "[SEP]")),
    "one character": ("a", ("[CLS]", "a", "[SEP]")),
    "emoji": ("I ❤️ 🦜!", None),
    "family emoji": ("👨‍👩‍👧‍👦", None),
    "right to left": ("مرحبا بالعالم", None),
    "Chinese": ("今天天气很好", None),
    "lone surrogates": ("a \ud83d b \udc00", None),
    "NUL": ("a\x00b", None),
    "control characters": ("\x01\x02\u200b\ufeff", None),
    "special tokens typed": ("[CLS] [MASK] [SEP] [PAD]", None),
    "one long word": ("x" * 3000, None),
    "mark-up": ("<script>alert(1)</script> & \"quotes\" 'too' $x_1$", None),
}


@pytest.mark.parametrize("name", list(INPUTS))
def test_odd_inputs(minilm: TextEncoder, name: str):
    text, tokens = INPUTS[name]
    trace = minilm.trace(text)
    assert tokens is None or trace.tokens == tokens
    assert trace.tokens[0] == "[CLS]"
    assert trace.tokens[-1] == "[SEP]"
    assert len(trace.tokens) == len(trace.labels) == trace.n_tokens == trace.n_real == len(trace.source)
    assert trace.n_tokens <= 512
    assert torch.isfinite(trace.output).all()
    for layer in range(6):
        sums = trace.layer_attention(layer).sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)
    assert trace.thumbnails(64).shape[:2] == (6, 12)
    embedded = minilm.embed(text)
    assert embedded.shape == (1, 384)
    assert torch.isfinite(embedded).all()


def test_a_long_text_is_cut_and_says_so(minilm: TextEncoder):
    text = ("word " * 4000)[:20_000]
    trace = minilm.trace(text)
    assert trace.n_tokens == 512
    assert trace.source.n_full == 4002
    assert trace.source.cut
    assert not minilm.trace("word").source.cut
    assert trace.tokens[-1] == "[SEP]"


def test_a_long_pair_is_cut_on_its_longer_side(minilm: TextEncoder):
    trace = minilm.trace("cat", "dog " * 1000)
    assert trace.n_tokens == 512
    assert trace.tokens[:4] == ("[CLS]", "cat", "[SEP]", "dog")
    assert trace.source.n_full == 1004


def test_odd_inputs_in_one_batch(minilm: TextEncoder):
    texts = [text for text, _ in INPUTS.values()][:9]
    for text, trace in zip(texts, minilm.trace_batch(texts), strict=True):
        alone = minilm.trace(text)
        n = trace.n_real
        assert trace.tokens[:n] == alone.tokens
        assert set(trace.tokens[n:]) <= {"[PAD]"}
        torch.testing.assert_close(trace.output[:n], alone.output, atol=1e-5, rtol=1e-4)


def test_a_batch_of_nothing(minilm: TextEncoder):
    with pytest.raises(TextError, match="at least one"):
        minilm.trace_batch([])
    with pytest.raises(TextError, match="list of texts"):
        minilm.trace_batch("one text")
    assert minilm.embed([]).shape == (0, 384)


def test_training_mode_is_refused():
    model = tiny(dropout=0.1)
    model.encoder.train()
    with pytest.raises(EncoderError, match="training mode"):
        model.trace("the cat")


def test_bfloat16_within_its_own_tolerance(minilm: TextEncoder, prose: str):
    import encoder

    exact = minilm.trace(prose)
    rounded = encoder.load("minilm", device="cpu", dtype="bfloat16").trace(prose, request=("z",))
    assert rounded.output.dtype == torch.bfloat16
    similar = torch.nn.functional.cosine_similarity(rounded.output.float(), exact.output, dim=-1)
    assert similar.min() > 0.99
    for layer in range(6):
        pattern = rounded.layer_attention(layer)
        assert pattern.dtype == torch.float32
        torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:2]), atol=1e-5, rtol=0)
        assert (pattern - exact.layer_attention(layer)).abs().max() < 0.1
        captured = rounded.values[f"layers.{layer}.z"].float()
        derived = torch.stack([rounded.z(layer, head) for head in range(12)])
        torch.testing.assert_close(derived, captured, atol=2e-2, rtol=2e-2)
