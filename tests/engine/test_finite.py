"""`finite` looks at what is drawn: NaN in q or k reaches the maps, and not the output. A trace says its precision."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

import encoder


@pytest.fixture(scope="module")
def twin() -> encoder.TextEncoder:
    return encoder.load("twin-pre", device="cpu")


def broken(model: encoder.TextEncoder, name: str, value: float, *, whole: bool = True) -> encoder.TextEncoder:
    """The model with a weight set to `value`: all of it, or one number."""
    made = dataclasses.replace(model, encoder=copy.deepcopy(model.encoder))
    weight = made.encoder.get_parameter(name).data
    if whole:
        weight.fill_(value)
    else:
        weight.view(-1)[0] = value
    return made


@pytest.mark.parametrize("name", ["w_q.weight", "w_k.weight", "w_v.weight", "w_q.bias", "w_k.bias"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_broken_weights_are_seen(name: str, value: float, twin: encoder.TextEncoder):
    for whole in (True, False):
        trace = broken(twin, f"layers.1.attention.{name}", value, whole=whole).trace("the cat sat")
        maps = torch.stack([trace.layer_attention(layer) for layer in range(trace.config.n_layers)])
        assert trace.finite == (bool(maps.isfinite().all()) and bool(trace.output.isfinite().all()))
        assert not trace.finite


def test_scores_that_overflow_are_seen(twin: encoder.TextEncoder):
    made = broken(broken(twin, "layers.0.attention.w_q.bias", 1e25), "layers.0.attention.w_k.bias", 1e25)
    trace = made.trace("the cat sat")
    assert trace.layer_qkv(0)[0].isfinite().all()
    assert not trace.finite


def test_ordinary_weights_are_finite(twin: encoder.TextEncoder):
    assert twin.trace("the cat sat").finite
    assert broken(twin, "layers.0.attention.w_q.bias", 1e6).trace("the cat").finite


def test_a_trace_says_its_precision(twin: encoder.TextEncoder):
    assert twin.trace("the cat").precision == "float32"
    assert "float32" not in repr(twin.trace("the cat"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trace = twin.trace("the cat")
        inside = trace.attention(0, 0)
    assert trace.precision == "bfloat16"
    assert "in bfloat16" in repr(trace)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, trace.attention(0, 0)), "the same map inside autocast and outside"
