"""A token in the residual stream: the numbers are the trace's own, in every kind of encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, Trace, explain
from encoder.documents import tables
from encoder.explain import Place, Recomputation


def near(shown: np.ndarray | float, captured: torch.Tensor | np.ndarray) -> bool:
    """Equal within 1e-4 of the largest number."""
    captured = np.asarray(captured)
    return np.abs(np.asarray(shown) - captured).max() <= 1e-4 * max(1e-12, np.abs(captured).max())


def test_a_token_in_the_residual_stream(traced: tuple[Trace, Recomputation]):
    trace, _ = traced
    config, token = trace.config, 2
    flow = explain.token_flow(trace, token)
    assert near(flow.start, trace.values["embedding"][token].norm())
    assert len(flow.stages) == 2 * config.n_layers + config.final_norm
    for stage in flow.stages[: 2 * config.n_layers]:
        after = trace.values[f"layers.{stage.layer}.after_{stage.part}"][token]
        step = explain.add_norm(trace, Place(stage.layer, 0, token, 0), stage.part)
        assert near(stage.after, after.norm())
        assert near(stage.before, np.linalg.norm(step.before))
        assert near(stage.total, np.linalg.norm(step.total))
        assert abs(stage.update - np.linalg.norm(step.update)) <= 1e-3 * np.linalg.norm(step.total)
    assert near(flow.stages[-1].after, trace.output[token].norm())
    table = tables.flow_frame(flow)
    assert table["update"].isna().sum() == config.final_norm
    assert near(table["after"].to_numpy(), np.array([stage.after for stage in flow.stages]))


def test_a_token_that_is_not_there_is_named(minilm: TextEncoder):
    trace = minilm.trace("one two")
    with pytest.raises(EncoderError, match=r"9\b.* 3\b"):
        explain.token_flow(trace, 9)
