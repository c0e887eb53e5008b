"""A mixture of experts: the router's choice, the neurons of experts that are not chosen, and edits of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from encoder import ConfigError, EncoderConfig, EncoderError, TextEncoder, causal, explain
from encoder.edits import Add, SetValue, Zero
from encoder.explain import arithmetic
from encoder.explain.cost import cost, layer_parts
from encoder.model.experts import Experts

TEXT = "The cat sat on the mat."
MIXED = {"experts": Experts(5, 2), "ffn_bias": False, "gated": True, "norm_placement": "pre"}


@pytest.fixture
def mixed(build: Callable[..., TextEncoder]) -> TextEncoder:
    return build(**MIXED)


def test_a_router_by_hand():
    logits = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))
    expected = [0.0, 0.4, 0.0, 0.3]
    assert Experts(4, 2, renormalised=False).weights(logits).tolist() == pytest.approx(expected)
    assert Experts(4, 2).weights(logits).tolist() == pytest.approx([0.0, 4 / 7, 0.0, 3 / 7])
    one_of_many = arithmetic.routes(logits.numpy()[None], 2, False)[0]
    assert one_of_many.tolist() == pytest.approx(expected)


def test_each_token_uses_its_experts_only(mixed: TextEncoder):
    trace = mixed.trace(TEXT)
    weights = explain.expert_weights(trace, 1)
    assert weights is not None
    assert ((weights > 0).sum(axis=1) == 2).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    hidden = explain.hidden_activations(trace, 1).hidden.reshape(trace.n_tokens, 5, 8)
    assert ((hidden != 0).any(axis=2) == (weights > 0)).all()
    recorded = mixed.trace(TEXT, request=("ffn.hidden",)).values["layers.1.ffn.hidden"]
    np.testing.assert_allclose(recorded.numpy().reshape(hidden.shape), hidden, atol=1e-6)
    step = explain.feed_forward(trace, explain.Place(layer=1, query=3, neuron=19, component=2))
    assert step.expert(19) == (2, pytest.approx(float(weights[3, 2])))
    assert "r_{i,e}" in step.formula.symbols
    assert explain.expert_weights(mixed.with_norm_placement("post").trace(TEXT), 0) is not None


def test_an_edit_reaches_an_expert_that_was_not_chosen(mixed: TextEncoder):
    trace = mixed.trace(TEXT)
    weights = explain.expert_weights(trace, 1)
    assert weights is not None
    asleep = int(np.flatnonzero(weights[3] == 0)[0]) * 8  # the first neuron of an expert
    edited = mixed.trace(TEXT, edits=[SetValue("ffn.hidden", value=2.0, layer=1, positions=(3,), components=(asleep,))])
    moved = edited.values["layers.1.after_ffn"] - trace.values["layers.1.after_ffn"]
    expected = 2.0 * mixed.encoder.block(1).ffn.w_out.weight[:, asleep]
    torch.testing.assert_close(moved[3], expected, atol=1e-5, rtol=1e-5)
    assert float(moved[[0, 1, 2, 4]].abs().max()) < 1e-5
    assert causal.leave_out_each_sublayer(mixed, TEXT).shape == (2, 2)


def test_experts_in_some_layers(build: Callable[..., TextEncoder]):
    """Layer 0 has 8 neurons, layer 1 five experts of 8, and biases around them."""
    model = build(experts=Experts(5, 2, renormalised=False, layers=(1,)))
    trace = model.trace(TEXT)
    assert [explain.hidden_activations(trace, layer).hidden.shape[1] for layer in range(2)] == [8, 40]
    assert explain.expert_weights(trace, 0) is None
    weights = explain.expert_weights(trace, 1)
    assert weights is not None
    assert (np.count_nonzero(weights, axis=1) == 2).all()
    assert explain.Place(layer=0, neuron=20).clamped(model.config, 3).neuron == 7
    with pytest.raises(EncoderError, match="neuron 20"):
        explain.feed_forward(trace, explain.Place(layer=0, neuron=20))
    assert len(explain.neuron_examples(model, [TEXT], 0).n_active) == 8
    parts = [sum(part.flops for part in layer_parts(model.config.of_layer(layer), 9)) for layer in range(2)]
    found = cost(model.config, 9, 0)
    assert parts[0] < parts[1] == found.layer_flops
    assert found.flops == sum(parts)
    with pytest.raises(ConfigError, match="alike"):
        model.config.replace(layer_groups=1)


def test_an_edit_fits_each_layer_that_it_changes(build: Callable[..., TextEncoder]):
    model = build(experts=Experts(5, 2, layers=(1,)))
    for edit, said in (
        (SetValue("ffn.hidden", value=1.0, components=(20,)), "0 to 7"),
        (Add("ffn.hidden", vector=(1.0,) * 40), "specify a layer"),
        (Add("ffn.hidden", layer=0, vector=(1.0,) * 40), "specify 8"),
    ):
        with pytest.raises(EncoderError, match=said):
            model.trace(TEXT, edits=[edit])
    for edit in (Zero("ffn.hidden"), Add("ffn.hidden", layer=1, vector=(1.0,) * 40)):
        assert model.trace(TEXT, edits=[edit]).output.isfinite().all()


def test_sizes_that_do_not_fit():
    sizes = {"vocab_size": 9, "d_model": 6, "n_layers": 1, "n_heads": 1}
    for changes in ({"d_ffn": 7}, {"d_ffn": 8, "ffn_bias": True}):
        with pytest.raises(ConfigError, match="xperts"):
            EncoderConfig(**sizes, **({"ffn_bias": False} | changes), experts=Experts(4, 2))
    with pytest.raises(ConfigError, match="chosen"):
        Experts(2, 3)
    assert EncoderConfig(**sizes, d_ffn=8, ffn_bias=False, experts=Experts(4, 2)).used_ffn == 4
