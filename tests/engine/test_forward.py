"""The forward pass against an encoder written a second time in float64 (reference.py), for every architecture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from encoder import Encoder, EncoderConfig, TextEncoder
from encoder.edits import MaskKeys
from encoder.model import attend
from encoder.model.embed import sinusoidal
from encoder.model.layers import layer_norm
from encoder.trace.capture import record
from tests.engine import reference
from tests.engine.conftest import SIZES, VARIANTS, tiny

pytestmark = pytest.mark.sample(3, "another architecture")

SENTENCE = "the cat sat on the unhappy mat ."
SHORT = "big dog"
SUBLAYERS = ("attention_out", "ffn.hidden", "ffn_out")
EVERYTHING = ("scores", "z", *SUBLAYERS)


def close(ours: torch.Tensor, theirs: np.ndarray, atol: float = 2e-5) -> None:
    assert tuple(ours.shape) == theirs.shape
    np.testing.assert_allclose(ours.double().numpy(), theirs, atol=atol, rtol=2e-5)


def compare(trace, expected: dict[str, np.ndarray]) -> None:
    """Everything the trace shows: captured, derived, and captured on request."""
    config = trace.config
    close(trace.output, expected["output"])
    assert next(iter(trace.residual)) == "embedding"
    for name, value in trace.residual.items():
        close(value, expected[name])
    for name, norm in trace.norms.items():
        if name not in ("embedding_norm", "final_norm"):
            close(norm.input, expected[f"{name}.input"])
    if "embedding.position" in expected:
        close(trace.position, expected["embedding.position"])
    else:
        assert trace.position is None
    for layer in range(config.n_layers):
        for part in "qkv":
            close(getattr(trace, part)[layer], expected[f"layers.{layer}.{part}"])
        for part in SUBLAYERS:
            close(trace.values[f"layers.{layer}.{part}"], expected[f"layers.{layer}.{part}"])
        close(trace.layer_attention(layer), expected[f"layers.{layer}.attention"])
        for head in range(config.n_heads):
            seen = expected[f"layers.{layer}.scores"][head] > reference.MASKED
            scores = trace.scores(layer, head)
            assert torch.equal(scores > torch.finfo(scores.dtype).min, torch.from_numpy(seen))
            close(scores[torch.from_numpy(seen)], expected[f"layers.{layer}.scores"][head][seen])
            close(trace.attention(layer, head), expected[f"layers.{layer}.attention"][head])
            close(trace.z(layer, head), expected[f"layers.{layer}.z"][head])


@pytest.mark.parametrize("request_", [SUBLAYERS, EVERYTHING], ids=["fused kernel", "written-out path"])
def test_every_number_of_every_architecture(variant: TextEncoder, request_: tuple[str, ...]):
    trace = variant.trace(SENTENCE, request=request_)
    expected = reference.run(variant.encoder, list(trace.ids), list(trace.source.segments), [True] * trace.n_tokens)
    compare(trace, expected)
    if "scores" in request_:
        for layer in range(variant.config.n_layers):
            close(trace.values[f"layers.{layer}.z"], expected[f"layers.{layer}.z"])


@pytest.mark.parametrize("request_", [SUBLAYERS, EVERYTHING], ids=["fused kernel", "written-out path"])
def test_padding(variant: TextEncoder, request_: tuple[str, ...]):
    """Real tokens have the numbers that they have only; padding's rows are those of the reference, and sum to 1."""
    for trace in variant.trace_batch([SENTENCE, SHORT, "the"], request=request_):
        real, n = trace.mask.tolist(), trace.n_real
        segments = [*trace.source.segments] + [0] * (len(real) - n)
        expected = reference.run(variant.encoder, list(trace.ids), segments, real)
        alone = variant.trace(trace.source.text)
        close(trace.output[:n], expected["output"][:n])
        torch.testing.assert_close(trace.output[:n], alone.output, atol=2e-5, rtol=2e-5)
        for layer in range(variant.config.n_layers):
            pattern = trace.layer_attention(layer)
            if not variant.config.attention_sinks:
                torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:2]), atol=1e-6, rtol=0)
            close(pattern, expected[f"layers.{layer}.attention"])
            assert pattern[:, :n, n:].abs().sum() == 0
            torch.testing.assert_close(pattern[:, :n, :n], alone.layer_attention(layer), atol=2e-6, rtol=1e-5)
        assert torch.isfinite(trace.output).all()


def test_a_pair_fills_both_segments(make_tiny):
    model = make_tiny(n_segments=2)
    trace = model.trace(SHORT, "the red bus", request=EVERYTHING)
    assert set(trace.source.segments) == {0, 1}
    compare(trace, reference.run(model.encoder, list(trace.ids), list(trace.source.segments), [True] * trace.n_tokens))


def test_the_written_out_path_is_the_fused_kernel(variant: TextEncoder):
    """An edit that changes nothing takes the explicit path: the same output as torch's kernel."""
    nothing = MaskKeys(keys=())
    for fused, explicit in zip(
        variant.trace_batch([SENTENCE, SHORT]), variant.trace_batch([SENTENCE, SHORT], edits=[nothing]), strict=True
    ):
        torch.testing.assert_close(fused.output, explicit.output, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.1])
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_layer_norm_written_out(eps: float, offset: float):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(7, 13, generator=generator, dtype=torch.float64) * 4 + offset
    gain, bias = torch.randn(13, generator=generator).double(), torch.randn(13, generator=generator).double()
    torch.testing.assert_close(layer_norm(x, gain, bias, eps), F.layer_norm(x, (13,), gain, bias, eps))
    torch.testing.assert_close(layer_norm(x, gain, None, eps), F.layer_norm(x, (13,), gain, None, eps))
    y, g, b = x.float(), gain.float(), bias.float()
    torch.testing.assert_close(layer_norm(y, g, b, eps), F.layer_norm(y, (13,), g, b, eps), atol=1e-5, rtol=1e-4)


def test_layer_norm_is_neither_of_the_two_wrong_ones():
    """The sample variance, or eps outside of the root, would be seen here."""
    x, one = torch.tensor([[1.0, 2.0, 4.0]]), torch.ones(3)
    ours = layer_norm(x, one, None, 0.5)
    assert not torch.allclose(ours, (x - x.mean()) / (x.std() + 0.5), atol=1e-3)
    assert not torch.allclose(ours, (x - x.mean()) / (x.var() + 0.5).sqrt(), atol=1e-3)
    torch.testing.assert_close(ours, (x - 7 / 3) / (14 / 9 + 0.5) ** 0.5)


def test_norms_of_a_trace_are_what_the_forward_pass_took(variant: TextEncoder):
    """Each NormTrace's output is what follows it in the stream, and its statistics are numpy's."""
    trace = variant.trace(SENTENCE)
    for norm in trace.norms.values():
        vectors = norm.input.double().numpy()
        close(norm.mean, vectors.mean(-1))
        close(norm.std, vectors.std(-1))
        plain = (vectors - vectors.mean(-1, keepdims=True)) / np.sqrt(vectors.var(-1, keepdims=True) + norm.eps)
        close(norm.normalised, plain)
        bias = 0.0 if norm.bias is None else norm.bias.double().numpy()
        close(norm.output, plain * norm.gain.double().numpy() + bias)
    last = variant.config.sublayers[-1]
    if variant.config.norm_placement == "post":
        torch.testing.assert_close(trace.norms[f"layers.2.{last}_norm"].output, trace.output, atol=1e-6, rtol=1e-5)
        after = trace.residual["layers.1.after_attention"]
        torch.testing.assert_close(trace.norms["layers.1.attention_norm"].output, after, atol=1e-6, rtol=1e-5)
    else:
        closing = trace.norms["final_norm" if variant.config.final_norm else "layers.2.end_norm"]
        torch.testing.assert_close(closing.output, trace.output, atol=1e-6, rtol=1e-5)
        if variant.config.final_norm:
            assert torch.equal(closing.input, trace.residual[f"layers.2.after_{last}"])
    assert ("layers.0.attention_norm" in trace.norms) == variant.config.first_norm


def test_sinusoidal_encoding():
    """Vaswani et al. 2017, D = 512: squared norm 256; dot products by distance only, to two digits."""
    table = sinusoidal(torch.arange(200), 512)
    close(table, reference.sine_table(200, 512), atol=1e-7)
    assert table.dtype == torch.float32
    np.testing.assert_allclose((table.double() ** 2).sum(-1).numpy(), 256.0, atol=1e-4)
    for distance, product in ((1, 249.10), (2, 231.73), (10, 173.79), (100, 111.95)):
        between = (table[:-distance].double() * table[distance:].double()).sum(-1)
        np.testing.assert_allclose(between.numpy(), product, atol=0.005)


def test_the_same_seed_gives_the_same_weights_in_both_placements():
    config = EncoderConfig(vocab_size=31, n_segments=2, **SIZES)
    post = Encoder(config, seed=5).state_dict()
    pre = Encoder(config.replace(norm_placement="pre", final_norm=None), seed=5).state_dict()
    assert set(post) < set(pre)
    assert {name.split(".")[0] for name in set(pre) - set(post)} == {"final_norm"}
    assert all(torch.equal(post[name], pre[name]) for name in post)
    other = Encoder(config, seed=6).state_dict()
    assert not torch.equal(post["layers.0.attention.w_q.weight"], other["layers.0.attention.w_q.weight"])


@pytest.mark.parametrize("scheme", ["xavier", "bert"])
def test_the_scale_of_the_random_weights(scheme: str):
    config = EncoderConfig(vocab_size=400, d_model=96, n_layers=1, n_heads=4, d_ffn=160)
    weights = Encoder(config, seed=0, scheme=scheme).state_dict()
    for name, std in (("w_in", (2 / 256) ** 0.5), ("w_out", (2 / 256) ** 0.5)):
        measured = weights[f"layers.0.ffn.{name}.weight"].std().item()
        assert measured == pytest.approx(0.02 if scheme == "bert" else std, rel=0.05)
    assert weights["embedding.tokens.weight"].std().item() == pytest.approx(0.02 if scheme == "bert" else 1, rel=0.05)


def test_random_weights_depend_on_the_seed_alone():
    config = EncoderConfig(vocab_size=31, **SIZES)
    torch.manual_seed(1)
    first = Encoder(config, seed=5).state_dict()
    torch.manual_seed(2)
    second = Encoder(config, seed=5).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", ["post", "pre"])
def test_moving_the_norms_twice_gives_the_same_numbers(name: str):
    model = tiny(**VARIANTS[name])
    other = "pre" if model.config.norm_placement == "post" else "post"
    moved = model.with_norm_placement(other)
    back = moved.with_norm_placement(model.config.norm_placement)
    assert torch.equal(back.trace(SENTENCE).output, model.trace(SENTENCE).output)
    assert not torch.allclose(moved.trace(SENTENCE).output, model.trace(SENTENCE).output, atol=1e-2)
    assert f"trained with {model.config.norm_placement}-norm" in moved.moved_norms
    assert not model.moved_norms
    assert not back.moved_norms
    trace = moved.trace(SENTENCE, request=SUBLAYERS)
    compare(trace, reference.run(moved.encoder, list(trace.ids), list(trace.source.segments), [True] * trace.n_tokens))


def test_dropout_acts_in_training_only_and_attention_is_never_stored_after_it():
    model = tiny(dropout=0.3, attention_dropout=0.5)
    plain = dataclasses.replace(model, encoder=tiny().encoder)
    trace = model.trace(SENTENCE)
    assert torch.equal(trace.output, plain.trace(SENTENCE).output)
    ids = torch.tensor([trace.ids])
    model.encoder.train()
    try:
        torch.manual_seed(0)
        first, second = model.encoder(ids), model.encoder(ids)
        assert not torch.allclose(first, second)
    finally:
        model.encoder.eval()
    assert torch.equal(model.encoder(ids)[0].detach(), trace.output)
    pattern = trace.layer_attention(1)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:2]))
    assert (pattern > 0).all()  # dropout of 0.5 would leave zeros


@pytest.mark.parametrize("explicit", [False, True])
def test_attention_dropout_scales_what_it_keeps(explicit: bool):
    """Both paths drop weights and scale the rest by 1 / (1 - p): many passes average to the pass without dropout."""
    model = tiny(n_layers=1, attention_dropout=0.25)
    trace = model.trace(SENTENCE, request=("z",))
    ids = torch.tensor([trace.ids]).expand(2000, -1)
    model.encoder.train()
    torch.manual_seed(1)
    try:
        with record(request=("scores", "z") if explicit else ("z",)) as recorder, torch.no_grad():
            model.encoder(ids)
    finally:
        model.encoder.eval()
    z = recorder.values["layers.0.z"]  # [2000, H, T, K]
    torch.testing.assert_close(z.mean(0), trace.values["layers.0.z"], atol=0.15, rtol=0)
    assert z.std(0).max() > 0.3


@pytest.mark.parametrize("rows", [1, 3, 5, 12])
def test_masks_made_a_few_queries_at_a_time(monkeypatch: pytest.MonkeyPatch, variant: TextEncoder, rows: int):
    """Long texts never have a mask of all pairs; short ones take the same way here."""
    expected = variant.trace_batch([SENTENCE, SHORT]), [variant.trace(SENTENCE)]
    monkeypatch.setattr(attend, "WHOLE_MASK", 0)
    monkeypatch.setattr(attend, "MASK_ROWS", rows)
    for together, found in zip(
        expected, (variant.trace_batch([SENTENCE, SHORT]), [variant.trace(SENTENCE)]), strict=True
    ):
        for ours, theirs in zip(found, together, strict=True):
            for name, value in theirs.values.items():
                torch.testing.assert_close(ours.values[name], value, atol=2e-5, rtol=2e-5)
