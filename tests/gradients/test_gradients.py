"""Gradients against finite differences, Captum, the exact grid of patching, and sums that must be whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, causal, edits, gradients
from encoder.similarity.paths import reference_before
from tests.engine.conftest import VARIANTS, tiny

POINTS = ("q", "k", "v", "z", "attention_out", "after_attention", "ffn_out", "after_ffn")


@pytest.fixture(scope="module")
def model() -> encoder.TextEncoder:
    return encoder.load("twin-pre", device="cpu")


@pytest.fixture(scope="module")
def trace(model: encoder.TextEncoder) -> encoder.Trace:
    return model.trace("The [MASK] sat on the mat.")


WORD = causal.MaskedWord("man")


@pytest.mark.parametrize("point", [*POINTS, "embedding"])
def test_a_small_step_changes_the_outcome_by_the_gradient(model: encoder.TextEncoder, trace: encoder.Trace, point: str):
    found = trace.gradients(WORD)
    layer = None if point == "embedding" else 1
    gradient = found.of[point if layer is None else f"layers.{layer}.{point}"]
    step = torch.randn(gradient.shape, generator=torch.Generator().manual_seed(0)) * gradient.norm() / 100
    step = 2e-3 * step / step.norm() * trace.values["layers.1.after_ffn"].norm()

    def moved(sign: float) -> encoder.Trace:
        return model.trace(trace.source.text, edits=[edits.Call(point, lambda x: x + sign * step, layer=layer)])

    before, after = causal.outcomes_of(model, trace, [moved(-1), moved(1)], WORD)[1:]
    expected = float((gradient * step).sum())
    assert (after - before) / 2 == pytest.approx(expected, abs=3e-3, rel=0.02)
    assert abs(expected) > 0


def test_shapes_and_products(trace: encoder.Trace):
    found, config, n = trace.gradients(WORD), trace.config, len(trace)
    assert found.q.shape == found.k.shape == found.v.shape == trace.q.shape
    assert found.attentions.shape == (config.n_layers, config.n_heads, n, n)
    torch.testing.assert_close(found.attention_x_gradient, trace.attentions * found.attentions)
    assert list(found.residual) == list(trace.residual)
    assert found.outcome == pytest.approx(causal.outcomes_of(trace.model, trace, [], WORD)[0], abs=1e-4)
    # z = A v, so what flows through the weights is what flows through z.
    through_z = (trace.z(2, 1) * found.stack("z")[2, 1]).sum()
    torch.testing.assert_close(found.attention_x_gradient[2, 1].sum(), through_z, atol=1e-5, rtol=1e-4)


def test_an_edited_run_has_its_own_gradients(model: encoder.TextEncoder, trace: encoder.Trace):
    off = model.trace(trace.source.text, edits=[edits.AblateHead(1, 2)]).gradients(WORD)
    assert off.outcome != pytest.approx(trace.gradients(WORD).outcome, abs=1e-6)


def test_what_has_no_gradient_is_said(model: encoder.TextEncoder, trace: encoder.Trace, tmp_path: Any):
    with pytest.raises(EncoderError, match="every gradient is 0"):
        trace.gradients("sentence")
    alone = encoder.open_trace(trace.save(tmp_path / "a.safetensors"))
    with pytest.raises(EncoderError, match="open_trace"):
        alone.gradients(WORD)


def test_captum_gives_the_same(model: encoder.TextEncoder, trace: encoder.Trace):
    captum = pytest.importorskip("captum.attr")
    measure, network = WORD.on(model, trace), model.encoder
    x = trace.values["embedding"].unsqueeze(0)

    def forward(vectors: torch.Tensor) -> torch.Tensor:
        return measure(network.before_layer(model.config.n_layers, vectors))

    theirs = captum.InputXGradient(forward).attribute(x.clone().requires_grad_())[0].sum(-1)
    torch.testing.assert_close(trace.gradients(WORD).input_x_gradient, theirs.detach(), atol=1e-4, rtol=0)
    ours = gradients.integrated_gradients(model, trace, WORD)
    start = reference_before(model, trace.source, 0, "pad")
    theirs = captum.IntegratedGradients(forward).attribute(x, start, n_steps=ours.steps, method="gausslegendre")
    np.testing.assert_allclose(ours.values, theirs[0].sum(-1).detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("outcome", [WORD, causal.Similarity("A dog ran.")])
def test_integrated_gradients_add_up(model: encoder.TextEncoder, trace: encoder.Trace, outcome: causal.Outcome):
    found = gradients.integrated_gradients(model, trace, outcome)
    assert found.values.sum() == pytest.approx(found.change, abs=max(0.01, 0.01 * abs(found.change)))
    assert found.outcome == pytest.approx(causal.outcomes_of(model, trace, [], outcome)[0], abs=1e-4)


@pytest.mark.parametrize("where", ["residual", "attention_out", "ffn_out", "head"])
def test_patching_from_two_passes(model: encoder.TextEncoder, where: Any):
    """It is an estimate; for a small change of the input it is the exact grid up to the square of the change."""
    clean, corrupted = "The [MASK] sat on the mat.", "The [MASK] sat on the bed."
    found = gradients.compare_patching(model, clean, corrupted, WORD, where)
    assert found.estimate.shape == found.exact.shape
    assert found.correlation > 0.5
    near = model.trace(clean, edits=[edits.Noise("embedding", 0.02, seed=1)])
    grids = (
        [
            gradients.attribution_patching(model, near, clean, WORD, where),
            causal.patch(model, near, clean, WORD, where),
        ]
        if where == "residual"
        else []
    )
    if grids:
        torch.testing.assert_close(grids[0], grids[1], atol=0.05 * float(grids[1].abs().max()), rtol=0.05)


@pytest.mark.parametrize("name", VARIANTS)
def test_direct_effects_add_up_in_every_architecture(name: str):
    small = tiny(**VARIANTS[name])
    trace = small.trace("the cat sat")
    for towards, position in (
        (torch.randn(small.config.d_model), 1),
        (torch.randn(len(trace), small.config.d_model), None),
        (causal.Similarity("the dog"), None),
    ):
        found = gradients.direct_effect(trace, towards, position)
        assert found.sum == pytest.approx(found.total, abs=1e-4, rel=1e-5)
    whole = gradients.output_parts(trace, 1)
    assert whole.sum == pytest.approx(1, abs=1e-4)
    # one token by itself is the same as a direction of every token that is 0 at the others
    rows = torch.zeros(trace.output.shape).index_fill(0, torch.tensor(1), 1.0)
    one, same = gradients.direct_effect(trace, rows[1], 1), gradients.direct_effect(trace, rows)
    torch.testing.assert_close(one.heads, same.heads)
    torch.testing.assert_close(one.ffn, same.ffn)
    # a direction is linear: twice the direction, twice every part
    one, two = (gradients.direct_effect(trace, n * torch.ones(small.config.d_model), 1) for n in (1, 2))
    torch.testing.assert_close(two.heads, 2 * one.heads)


@torch.no_grad()
def test_a_head_of_the_last_layer_has_its_direct_effect_only(model: encoder.TextEncoder, trace: encoder.Trace):
    """Without a later layer, and with the norm frozen, turning the head off takes its direct effect away."""
    layer, direction = model.config.n_layers - 1, torch.randn(model.config.d_model)
    norm = model.encoder.final_norm
    found = gradients.direct_effect(trace, direction, 1)
    z = torch.cat([trace.z(layer, head) for head in range(4)], -1)
    w_o = model.encoder.block(layer).attention.w_o.weight
    head = (z[:, 32:64] @ w_o[:, 32:64].T)[1].double()
    x = trace.values["final_norm.input"][1].double()
    scaled = (head - head.mean()) / (x.var(correction=0) + norm.eps).sqrt() * norm.weight.double()
    assert float(found.heads[layer, 1]) == pytest.approx(float((scaled * direction.double()).sum()), abs=1e-5)
    output = trace.output[1].double()
    [share] = [one.share for one in gradients.output_parts(trace, 1).parts if (one.layer, one.head) == (layer, 1)]
    assert share == pytest.approx(float(scaled @ output / output.norm() ** 2), abs=1e-6)
    with pytest.raises(EncoderError, match="does not fit"):
        gradients.direct_effect(trace, torch.zeros(3))
    with pytest.raises(EncoderError, match="without edits"):
        gradients.direct_effect(model.trace("a", edits=[edits.AblateHead(0, 0)]), direction)
