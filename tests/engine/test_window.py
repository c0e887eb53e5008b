"""A window of a head's map with special tokens treated as asked equals the same treatment of the whole map."""

from __future__ import annotations

import pytest
import torch

import encoder
from encoder import trace as trace_module
from encoder.measure import aggregate, ranking, window
from encoder.trace import Trace, block_max


@pytest.fixture(scope="module")
def trace() -> Trace:
    return encoder.load("minilm").trace("The cat sat on the mat because the mat was warm.")


@pytest.mark.parametrize("special", ["show", "zero", "renormalise"])
def test_rows_equal_the_whole(trace: Trace, special: str) -> None:
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    torch.testing.assert_close(window.attention_rows(trace, 2, 3, special), whole)
    torch.testing.assert_close(window.attention_rows(trace, 2, 3, special, slice(3, 7)), whole[3:7])
    torch.testing.assert_close(window.attention_column(trace, 2, 3, special, 5), whole[:, 5])


@pytest.mark.parametrize("special", ["show", "zero", "renormalise"])
@pytest.mark.parametrize("chunk", [1, 40, 10_000])
def test_pooled_windows_equal_the_whole(
    trace: Trace, special: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "CHUNK_NUMBERS", chunk)
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    pooled, block = window.pooled_window(trace, 2, 3, special, 4, slice(1, 12), slice(0, 9))
    assert block == 3
    torch.testing.assert_close(pooled, block_max(whole[None, 1:12, 0:9], block)[0])


@pytest.mark.parametrize("chunk", [1, 60, 10_000])
def test_strongest_pairs(trace: Trace, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "CHUNK_NUMBERS", chunk)
    whole = trace.attention(2, 3)
    found = window.strongest_pairs(trace, 2, 3, k=4)
    assert [weight for *_, weight in found] == pytest.approx(whole.flatten().sort(descending=True).values[:4].tolist())
    for query, key, weight in found:
        assert float(whole[query, key]) == pytest.approx(weight)


def test_padding_is_never_among_the_strongest() -> None:
    short = encoder.load("minilm").trace_batch(["a", "a much longer sentence than the other one"])[0]
    assert short.n_real < short.n_tokens
    found = window.strongest_pairs(short, 0, 2, k=50)
    assert all(query < short.n_real for query, _, _ in found)
    assert sum(weight for *_, weight in found) == pytest.approx(short.n_real, abs=1e-4)


def test_strongest_of_a_row_keeps_equals_in_order() -> None:
    assert [place for place, _ in ranking.strongest(torch.tensor([0.1, 0.4, 0.1, 0.4]), 3)] == [1, 3, 0]


def test_chunks_are_bounded() -> None:
    assert trace_module.CHUNK_NUMBERS <= 16_000_000
