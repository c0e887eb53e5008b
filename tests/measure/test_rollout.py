"""Attention rollout, on attention written by hand and against a second computation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import TextEncoder
from encoder.errors import EncoderError
from encoder.measure import attention_rollout as module
from encoder.measure.attention_rollout import kept, rollout, rollouts, with_residual
from encoder.trace import trace as trace_module
from tests.engine import by_hand

N = 9


def expected(trace) -> np.ndarray:
    """[L, T, T] in float64, by the paper's formula."""
    eye = np.eye(trace.n_tokens)
    made = []
    for layer in range(trace.config.n_layers):
        mean = np.mean([trace.attention(layer, head).double().numpy() for head in range(trace.config.n_heads)], axis=0)
        mixed = 0.5 * mean + 0.5 * eye
        mixed /= mixed.sum(axis=1, keepdims=True)
        made.append(mixed @ (made[-1] if made else eye))
    return np.stack(made)


def test_attention_written_by_hand():
    maps = np.stack([[by_hand.identity(N)], [by_hand.uniform(N)], [by_hand.one_hot(N, 4)]])
    trace = by_hand.written(maps)
    np.testing.assert_allclose(rollout(trace, 0), np.eye(N), atol=1e-7)
    half = 0.5 * np.eye(N) + 0.5 / N
    np.testing.assert_allclose(rollout(trace, 1), half, atol=1e-6)
    np.testing.assert_allclose(rollout(trace, 2), 0.5 * half + 0.5 * half[4], atol=1e-6)


def test_a_chain_of_previous_tokens_reaches_back():
    """Three layers that each look one token back: binomial shares of 0, 1, 2, 3 tokens back."""
    trace = by_hand.written(np.stack([[by_hand.to_previous(N)]] * 3))
    row = rollout(trace, 2, slice(6, 7))[0].numpy()
    np.testing.assert_allclose(row, [0, 0, 0, 1 / 8, 3 / 8, 3 / 8, 1 / 8, 0, 0], atol=1e-6)


@pytest.mark.parametrize("numbers", [40, 1_000_000])
def test_against_float64(minilm: TextEncoder, numbers: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", numbers)
    monkeypatch.setattr(trace_module, "MIN_ROWS", 1)
    trace = minilm.trace("The keys to the old wooden cabinet are on the table.")
    reference = expected(trace)
    whole = rollouts(trace)
    np.testing.assert_allclose(whole, reference, atol=1e-5)
    assert torch.allclose(whole.sum(-1), torch.ones(6, trace.n_tokens), atol=1e-5)
    for layer in (0, 3, 5):
        np.testing.assert_allclose(rollout(trace, layer), reference[layer], atol=1e-5)
        np.testing.assert_allclose(rollout(trace, layer, slice(4, 6)), reference[layer][4:6], atol=1e-5)
    assert kept(whole) == pytest.approx(reference.diagonal(axis1=1, axis2=2).mean(1), abs=1e-5)


def test_rows_sum_to_one_with_padding_too(minilm: TextEncoder):
    trace = minilm.trace_batch(["one two", "one two three four five"])[0]
    rows = rollouts(trace)
    assert torch.allclose(rows.sum(-1), torch.ones(6, trace.n_tokens), atol=1e-5)
    assert not rows[:, : trace.n_real, trace.n_real :].any()


def test_the_residual_is_half_of_each_row():
    mixed = with_residual(torch.tensor([[0.0, 1.0], [0.5, 0.5]]))
    assert torch.equal(mixed, torch.tensor([[0.5, 0.5], [0.25, 0.75]]))
    assert torch.equal(with_residual(torch.tensor([[0.5, 0.5]]), first=1), torch.tensor([[0.25, 0.75]]))


def test_long_texts_and_layers_that_are_not_there(minilm: TextEncoder, prose: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LONGEST_WHOLE", 20)
    trace = minilm.trace(prose)
    with pytest.raises(EncoderError, match="up to 20"):
        rollouts(trace)
    with pytest.raises(EncoderError, match="20 at most"):
        rollout(trace, 2)
    assert rollout(trace, 2, slice(0, 20)).shape == (20, trace.n_tokens)
    with pytest.raises(EncoderError, match="No layer 6"):
        rollout(trace, 6, slice(0, 1))
