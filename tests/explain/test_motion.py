"""The numbers of the animations: they are the trace's own, in every kind of encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, Trace, explain
from encoder.explain import Place, Recomputation
from encoder.explain.motion import drawn_keys
from encoder.export import tables


def near(shown: np.ndarray | float, captured: torch.Tensor | np.ndarray) -> bool:
    """Equal within 1e-4 of the largest number."""
    captured = np.asarray(captured)
    return np.abs(np.asarray(shown) - captured).max() <= 1e-4 * max(1e-12, np.abs(captured).max())


@pytest.mark.parametrize("most", [4, 100])
def test_a_row_from_the_dot_products_to_z(traced: tuple[Trace, Recomputation], most: int):
    trace, _ = traced
    place = Place(layer=trace.config.n_layers - 1, head=1, query=3, key=2, component=1)
    row = explain.attention_row(trace, place, most)
    keys = torch.tensor(row.keys)
    assert len(keys) == min(most, trace.n_tokens)
    assert place.key in row.keys
    assert (np.diff(row.keys) > 0).all()
    attention = trace.attention(place.layer, place.head)[place.query]
    assert near(row.weights, attention[keys])
    assert near(row.weights.sum() + row.rest_weight, np.ones(1))
    scores = trace.scores(place.layer, place.head)[place.query]
    assert near(row.scores[row.allowed], scores[keys][torch.tensor(row.allowed)])
    assert near(row.products.sum(axis=1), row.dots)
    bias = 0.0 if row.bias is None else row.bias
    assert near(row.dots * row.scale + bias, row.scores)
    assert near(np.where(row.allowed, np.exp(np.where(row.allowed, row.scores, 0.0) - row.top), 0.0), row.exponentials)
    assert near(row.exponentials / row.total, row.weights)
    assert near(row.z, trace.z(place.layer, place.head)[place.query])
    assert near(row.sums[-1] + row.rest, row.z)


def test_the_selected_key_is_drawn_beside_the_strongest():
    weights = np.array([0.1, 0.4, 0.0, 0.3, 0.2])
    assert drawn_keys(weights, 2, 3).tolist() == [1, 2, 3]
    assert drawn_keys(weights, 1, 3).tolist() == [1, 3, 4]
    assert drawn_keys(weights, 0, 9).tolist() == [0, 1, 2, 3, 4]


def test_a_token_in_the_residual_stream(traced: tuple[Trace, Recomputation]):
    trace, _ = traced
    config, token = trace.config, 2
    flow = explain.token_flow(trace, token)
    norms = {name: float(value[token].norm()) for name, value in trace.residual.items()}
    assert near(flow.start, np.array(norms["embedding"]))
    assert len(flow.stages) == 2 * config.n_layers + config.final_norm
    for stage in flow.stages[: 2 * config.n_layers]:
        after = trace.values[f"layers.{stage.layer}.after_{stage.part}"][token]
        step = explain.add_norm(trace, Place(stage.layer, 0, token, 0), stage.part)
        assert near(stage.after, after.norm())
        assert near(stage.before, np.linalg.norm(step.before))
        assert near(stage.total, np.linalg.norm(step.total))
        assert abs(stage.update - np.linalg.norm(step.update)) <= 1e-3 * np.linalg.norm(step.total)
        assert stage.normed == (config.norm_placement == "post" and step.norm is not None)
        if stage.part == "attention":
            mean = trace.layer_attention(stage.layer)[:, token].mean(0)
            at, weight = stage.attended[0]
            assert weight == pytest.approx(float(mean.max()), abs=1e-6)
            assert float(mean[at]) == pytest.approx(weight, abs=1e-6)
    assert near(flow.stages[-1].after, trace.output[token].norm())
    assert flow.largest >= max(norms.values()) * (1 - 1e-6)
    table = tables.flow_frame(flow)
    assert table["update"].isna().sum() == config.final_norm
    assert near(table["after"].to_numpy(), np.array([stage.after for stage in flow.stages]))


def test_a_token_that_is_not_there_is_named(minilm: TextEncoder):
    trace = minilm.trace("one two")
    for call in (lambda: explain.token_flow(trace, 9), lambda: explain.attention_row(trace, Place(query=9))):
        with pytest.raises(EncoderError, match=r"9\b.* 3\b"):
            call()
