"""Norm-weighted attention: the head's value-output map, its norms, and the shares of [CLS]."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import TextEncoder
from encoder.edits import AblateHead
from encoder.errors import EncoderError
from encoder.maps import aggregate
from encoder.measure import norm_weighting as nw
from encoder.model.overview import block_max
from encoder.trace import trace as trace_module
from tests.engine.conftest import VARIANTS, tiny

TEXT = "the cat sat on the mat and the dog ran ."


@pytest.fixture(params=list(VARIANTS))
def variant(request: pytest.FixtureRequest) -> TextEncoder:
    return tiny(**VARIANTS[request.param])


def in_float64(trace, layer: int, head: int) -> torch.Tensor:
    """f(x_j) [T, D] from the layer's input and the weights only."""
    config, block = trace.config, trace.encoder.block(layer)
    x = trace.values["embedding"] if layer == 0 else trace.values[f"layers.{layer - 1}.{config.after_layer}"]
    if config.norm_placement == "pre" and block.attention_norm is not None:
        x = trace.norms[f"layers.{layer}.attention_norm"].output
    own = slice(head * config.d_head, (head + 1) * config.d_head)
    attention = block.attention
    v = x.double() @ attention.w_v.weight.double()[own].T
    if attention.w_v.bias is not None:
        v = v + attention.w_v.bias.double()[own]
    return (v @ attention.w_o.weight.double()[:, own].T).detach()


def test_f_is_the_value_output_map_with_the_bias_of_values_inside(variant: TextEncoder):
    trace = variant.trace(TEXT)
    for layer, head in ((0, 0), (2, 4)):
        torch.testing.assert_close(
            nw.value_output(trace, layer, head).double(), in_float64(trace, layer, head), atol=1e-5, rtol=1e-4
        )


def test_contributions_add_up_to_what_the_layer_writes(variant: TextEncoder):
    """sum_j alpha_ij f(x_j) is the head's contribution z W_O; all heads and the bias of W_O are the layer's update."""
    trace = variant.trace_batch([TEXT, TEXT + " a big red bus"], request=("z",))[0]
    config = trace.config
    for layer in range(config.n_layers):
        attention = trace.encoder.block(layer).attention
        together = torch.zeros(trace.n_tokens, config.d_model, dtype=torch.float64)
        for head in range(config.n_heads):
            own = slice(head * config.d_head, (head + 1) * config.d_head)
            weights = trace.attention(layer, head).double()
            summed = trace.gated(weights @ nw.value_output(trace, layer, head).double(), layer, head)
            z = trace.values[f"layers.{layer}.z"][head].double()
            real = slice(0, trace.n_real)
            torch.testing.assert_close(
                summed[real], (z @ attention.w_o.weight.double()[:, own].T)[real].detach(), atol=1e-5, rtol=1e-4
            )
            together += summed
        z = trace.values[f"layers.{layer}.z"].transpose(0, 1).flatten(1)
        torch.testing.assert_close(
            (together + (0 if attention.w_o.bias is None else attention.w_o.bias.double()))[: trace.n_real].detach(),
            attention.w_o(z).double()[: trace.n_real].detach(),
            atol=2e-5,
            rtol=1e-4,
        )


def test_lengths_and_shares(minilm: TextEncoder):
    trace = minilm.trace(TEXT)
    weights, lengths = trace.attention(3, 4), nw.value_output(trace, 3, 4).norm(dim=-1)
    weighted = nw.norm_weighted(trace, 3, 4)
    for i, j in ((0, 0), (3, 7), (11, 2)):
        assert float(weighted[i, j]) == pytest.approx(float(weights[i, j]) * float(lengths[j]))
    torch.testing.assert_close(nw.norm_weighted(trace, 3, 4, slice(2, 5)), weighted[2:5])
    shares = nw.norm_weighted_shares(trace, 3, 4)
    torch.testing.assert_close(shares.sum(-1), torch.ones(trace.n_tokens))
    torch.testing.assert_close(shares * weighted.sum(-1, keepdim=True), weighted)
    torch.testing.assert_close(nw.value_norms(trace, 3)[4], lengths)
    assert not aggregate.rows_to_one(torch.zeros(2, 3)).any()


@pytest.mark.parametrize("shares", [False, True])
def test_pooled_and_in_windows(minilm: TextEncoder, prose: str, shares: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", 300)
    monkeypatch.setattr(trace_module, "MIN_ROWS", 1)
    trace = minilm.trace(prose)
    whole = (nw.norm_weighted_shares if shares else nw.norm_weighted)(trace, 2, 1)
    pooled = nw.pooled_norm_weighted(trace, 2, 1, shares=shares, size=16)
    torch.testing.assert_close(pooled, block_max(whole.unsqueeze(0), -(-trace.n_tokens // 16))[0])
    window = nw.pooled_norm_weighted(trace, 2, 1, shares=shares, size=16, queries=slice(3, 20), keys=slice(10, 40))
    torch.testing.assert_close(window, block_max(whole[3:20, 10:40].unsqueeze(0), 2)[0])
    exact = nw.pooled_norm_weighted(trace, 2, 1, shares=shares, size=256)
    torch.testing.assert_close(exact, whole)


def test_an_ablated_head_moves_nothing(minilm: TextEncoder):
    trace = minilm.trace(TEXT, edits=(AblateHead(2, 3),))
    assert not nw.norm_weighted(trace, 2, 3).any()
    assert nw.norm_weighted(trace, 2, 4).all()


def test_a_head_that_is_not_there(minilm: TextEncoder):
    trace = minilm.trace("a")
    with pytest.raises(EncoderError, match="No head 12"):
        nw.value_output(trace, 0, 12)
    with pytest.raises(EncoderError, match="No layer 6"):
        nw.norm_weighted(trace, 6, 0)


def test_shares_of_a_layer(minilm: TextEncoder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", 500)
    trace = minilm.trace_batch([TEXT, TEXT + " and a big red bus ran to the river"])[0]
    found = nw.layer_shares(trace, 2)
    n = trace.n_real
    assert n < trace.n_tokens
    attention = trace.layer_attention(2)[:, :n].double().mean(1).numpy()
    np.testing.assert_allclose(found.attention, attention, atol=1e-6)
    weighted = np.stack([nw.norm_weighted(trace, 2, head)[:n].double().mean(0).numpy() for head in range(12)])
    np.testing.assert_allclose(found.norm_weighted, weighted, atol=1e-6)
    assert found.attention_share.sum() == pytest.approx(1)
    assert found.norm_weighted_share.sum() == pytest.approx(1)
    assert not found.norm_weighted[:, n:].any()
    assert found.opening == 0
    assert found.words == tuple(range(1, n - 1))
    words = weighted.sum(0) / weighted.sum()
    assert found.on_average_word()[1] == pytest.approx(words[1 : n - 1].mean())
    assert found.on_opening() == pytest.approx((attention[:, 0].mean(), words[0]), rel=1e-5)


ORDINARY = "The animal didn't cross the street because it was too tired."


def test_minilms_opening_token_has_much_attention_and_little_norm_weighted_attention(minilm: TextEncoder):
    """In the middle layers [CLS] has half of the attention, and less norm-weighted attention than an average word."""
    trace = minilm.trace(ORDINARY)
    for layer in range(1, 5):
        shares = nw.layer_shares(trace, layer)
        attention, weighted = shares.on_opening()
        assert 0.45 < attention < 0.65
        assert weighted < shares.on_average_word()[1]


def test_nothing_typed_has_no_average_word(minilm: TextEncoder):
    shares = nw.layer_shares(minilm.trace(""), 0)
    assert shares.on_average_word() is None
    assert shares.on_opening() is not None
