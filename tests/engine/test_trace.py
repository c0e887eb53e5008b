"""Trace: windows, pooled maps, thumbnails and chunks are the whole map looked at in another way."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch

from encoder import EncoderError, TextEncoder, Trace
from encoder.edits import Edit, MaskKeys
from encoder.model.overview import block_max, pooling_block
from encoder.trace import trace as trace_module
from tests.engine.conftest import WORDS, tiny

pytestmark = pytest.mark.sample(3, "another architecture")

SENTENCE = "the cat sat on the unhappy mat ."


def text_of(n_tokens: int) -> str:
    """A text of exactly n_tokens tokens, [CLS] and [SEP] included."""
    words = [word for word in WORDS if word.isalpha()]
    return " ".join(words[i * i % len(words)] for i in range(n_tokens - 2))


def brute_force_pool(pattern: torch.Tensor, size: int) -> torch.Tensor:
    n = len(pattern)
    block = -(-n // size)
    cells = -(-n // block)
    out = torch.zeros(cells, cells)
    for row in range(n):
        for column in range(n):
            here = out[row // block, column // block]
            out[row // block, column // block] = max(here, pattern[row, column])
    return out


def test_shapes(variant: TextEncoder):
    trace = variant.trace(SENTENCE)
    config = variant.config
    n_layers, n_heads, n, width = config.n_layers, config.n_heads, 12, config.d_head
    assert trace.n_tokens == trace.n_real == len(trace.tokens) == len(trace.labels) == len(trace.ids) == n
    for stacked in (trace.q, trace.k, trace.v):
        assert stacked.shape == (n_layers, n_heads, n, width)
    assert trace.tokens[0] == "[CLS]"
    assert trace.tokens[-1] == "[SEP]"
    assert trace.tokens[6:8] == ("un", "##happ")
    assert trace.output.shape == (n, config.d_model)
    assert list(trace.residual) == ["embedding"] + [
        f"layers.{layer}.{name}" for layer in range(3) for name in (f"after_{part}" for part in config.sublayers)
    ]
    if trace.position is not None:
        assert trace.position.shape == (n, config.embedding_width)
    for layer in range(n_layers):
        for one, stacked in zip(trace.layer_qkv(layer), (trace.q, trace.k, trace.v), strict=True):
            assert torch.equal(one, stacked[layer])


def test_norms_come_in_the_order_in_which_they_act():
    assert list(tiny(n_layers=2).trace("cat").norms) == [
        "embedding_norm",
        "layers.0.attention_norm",
        "layers.0.ffn_norm",
        "layers.1.attention_norm",
        "layers.1.ffn_norm",
    ]
    pre = tiny(n_layers=2, norm_placement="pre", first_norm=False, embedding_norm=False)
    assert list(pre.trace("cat").norms) == [
        "layers.0.ffn_norm",
        "layers.1.attention_norm",
        "layers.1.ffn_norm",
        "final_norm",
    ]


def test_windows_are_slices_of_the_whole(variant: TextEncoder):
    trace = variant.trace_batch([SENTENCE, "dog"])[0]
    scores, pattern = trace.scores(1, 4), trace.attention(1, 4)
    windows = [slice(*ends) for ends in ((0, 1), (2, 7), (11, 12), (3, None), (None, 4), (-3, None), (1, 10, 3))]
    for queries in [None, *windows]:
        rows = queries or slice(None)
        torch.testing.assert_close(trace.layer_attention(1, queries)[4], pattern[rows], atol=1e-6, rtol=1e-5)
        for keys in [None, *windows]:
            columns = keys or slice(None)
            window = trace.attention(1, 4, queries=queries, keys=keys)
            torch.testing.assert_close(window, pattern[rows, columns], atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(trace.scores(1, 4, queries, keys), scores[rows, columns], atol=1e-6, rtol=1e-5)
    assert trace.attention(1, 4, queries=slice(5, 5)).shape == (0, 12)


@pytest.mark.parametrize("edits", [(), (MaskKeys(layer=1, head=2, keys=(3,)),)])
def test_every_layer(variant: TextEncoder, edits: tuple[Edit, ...]):
    trace = variant.trace(SENTENCE, edits=edits)
    scores, attention = trace.every_layer()
    for layer in range(3):
        torch.testing.assert_close(scores[layer], trace.layer_scores(layer), atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(attention[layer], trace.layer_attention(layer), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("numbers", [1, 40, 150, 10_000])
def test_chunks_put_together_are_the_whole(monkeypatch: pytest.MonkeyPatch, variant: TextEncoder, numbers: int):
    """However small the chunks: one row at a time, a few, all."""
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", numbers)
    monkeypatch.setattr(trace_module, "MIN_ROWS", 1)
    trace = variant.trace(SENTENCE)
    for layer in range(3):
        for heads in (None, slice(2, 4)):
            chunks = [(rows, scores.clone(), one.clone()) for rows, scores, one in trace.attention_chunks(layer, heads)]
            rows, scores, patterns = zip(*chunks, strict=True)
            assert [row for chunk in rows for row in range(12)[chunk]] == list(range(12))
            whole = trace.layer_attention(layer)[heads or slice(None)]
            torch.testing.assert_close(torch.cat(patterns, dim=1), whole, atol=1e-6, rtol=1e-5)
            again = trace.contexts[layer].pattern(torch.cat(scores, dim=1), heads=heads or slice(None))
            torch.testing.assert_close(again, whole, atol=1e-6, rtol=1e-5)
        z = trace.attention(layer, 2) @ trace.v[layer, 2]
        if (gate := trace.values.get(f"layers.{layer}.gate")) is not None:
            z = z * gate[2]
        torch.testing.assert_close(trace.z(layer, 2), z, atol=1e-5, rtol=1e-5)


@functools.cache
def traced(n_tokens: int) -> Trace:
    """A text of so many tokens."""
    return tiny().trace(text_of(n_tokens))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 64])
@pytest.mark.parametrize("n_tokens", [2, 3, 4, 7, 8, 9, 16, 23])
def test_pooled_maps(monkeypatch: pytest.MonkeyPatch, n_tokens: int, size: int):
    trace = traced(n_tokens)
    assert trace.n_tokens == n_tokens
    monkeypatch.setattr(trace_module, "MIN_ROWS", 1)
    whole = [brute_force_pool(trace.attention(1, head), size) for head in range(5)]
    for numbers in (1, 300, 8_000_000):
        monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", numbers)
        thumbnails = trace.thumbnails(size)
        assert thumbnails.shape == (3, 5, *whole[0].shape)
        assert thumbnails.shape[-1] <= size
        for head, expected in enumerate(whole):
            torch.testing.assert_close(trace.pooled_attention(1, head, size), expected, atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(thumbnails[1, head], expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("size", [1, 4, 256])
def test_one_token(size: int):
    """A sentence of one token: a tokenizer without special tokens, or an empty text with one."""
    model = tiny()
    source = model.tokenize("cat")
    alone = {
        field: getattr(source, field)[1:2]
        for field in ("ids", "tokens", "labels", "words", "segments", "special", "offsets")
    }
    trace = model.trace_tokens(dataclasses.replace(source, **alone))
    assert trace.tokens == ("cat",)
    assert trace.attention(0, 0).tolist() == [[1.0]]
    assert trace.pooled_attention(0, 0, size).tolist() == [[1.0]]
    assert trace.thumbnails(size).tolist() == torch.ones(3, 5, 1, 1).tolist()
    torch.testing.assert_close(trace.z(0, 0), trace.v[0, 0])


def test_pooling_of_a_batch_shows_padding_as_nothing():
    trace = tiny().trace_batch([SENTENCE, "dog"])[1]
    assert trace.n_real == 3
    assert trace.n_tokens == 12
    assert trace.pooled_attention(0, 0, 12)[:3, 3:].max() == 0
    assert trace.thumbnails(12)[..., 3:].max() == 0


def test_block_max_against_loops():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(3, 10, 7, generator=generator)
    for block in (1, 2, 3, 4, 7, 10):
        rows, columns = -(-10 // block), -(-7 // block)
        expected = torch.stack(
            [
                torch.stack(
                    [
                        torch.stack(
                            [
                                one[r * block : (r + 1) * block, c * block : (c + 1) * block].max()
                                for c in range(columns)
                            ]
                        )
                        for r in range(rows)
                    ]
                )
                for one in x
            ]
        )
        assert torch.equal(block_max(x, block), expected)


def test_the_block_of_a_pooled_map():
    assert [pooling_block(n, 256) for n in (1, 255, 256, 257, 512, 513, 8192)] == [1, 1, 1, 2, 2, 3, 32]
    for n in range(1, 300):
        for size in (1, 7, 64, 256):
            block = pooling_block(n, size)
            assert -(-n // block) <= size


@pytest.mark.parametrize(("layer", "head"), [(3, 0), (-4, 0), (0, 5), (0, -6), (999, 999)])
def test_a_layer_or_head_that_is_not_there(layer: int, head: int):
    trace = tiny().trace("cat")
    wrong, count, name = (layer, 3, "layer") if not 0 <= layer < 3 else (head, 5, "head")
    for ask in (trace.attention, trace.scores, trace.z, trace.pooled_attention):
        with pytest.raises(EncoderError, match=f"{name} {wrong} .* 0 to {count - 1}"):
            ask(layer, head)


def test_a_trace_is_a_value():
    """Frozen, its mappings are read-only, and looking at it changes nothing in it."""
    trace = tiny().trace(SENTENCE)
    before = {name: value.clone() for name, value in trace.values.items()}
    with pytest.raises(AttributeError):
        trace.tokens = ()
    for mapping in (trace.values, trace.residual, trace.norms):
        with pytest.raises(TypeError):
            mapping["output"] = None
    trace.thumbnails(4)
    trace.scores(0, 0).fill_(3.0)
    trace.attention(0, 0).fill_(3.0)
    trace.z(0, 0).fill_(3.0)
    for norm in trace.norms.values():
        norm.output.fill_(3.0)
        norm.mean.fill_(3.0)
    assert all(torch.equal(trace.values[name], value) for name, value in before.items())
    assert not any(value.requires_grad for value in trace.values.values())


def test_previous_and_next_token_heads_of_minilm(minilm: TextEncoder, prose: str):
    """Rows attend to columns. Known heads: L0 H2 looks at the token before, L1 H8 at the one after."""
    trace = minilm.trace(prose)
    inner = slice(1, trace.n_real - 1)  # [CLS] has nothing before it, [SEP] nothing after it
    before = torch.diagonal(trace.attention(0, 2), offset=-1)  # weight of i on i - 1
    after = torch.diagonal(trace.attention(1, 8), offset=1)  # weight of i on i + 1
    assert before[inner].mean() > 0.95
    assert after[inner].mean() > 0.6
    assert torch.diagonal(trace.attention(0, 2), offset=1).mean() < 0.05
    assert torch.diagonal(trace.attention(1, 8), offset=-1).mean() < 0.1
