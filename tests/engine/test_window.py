"""A window of a head's map with special tokens treated as asked equals the same treatment of the whole map."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import encoder
from encoder.maps import aggregate, long_map
from encoder.maps.long_map import LongMap
from encoder.measure import ranking
from encoder.model.overview import block_max
from encoder.trace import trace as trace_module
from encoder.trace.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return encoder.load("minilm").trace("The cat sat on the mat because the mat was warm.")


@pytest.mark.parametrize("special", ["show", "zero", "renormalise"])
def test_rows_equal_the_whole(trace: Trace, special: str) -> None:
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    torch.testing.assert_close(LongMap(trace, 2, 3, special).rows(), whole)
    torch.testing.assert_close(LongMap(trace, 2, 3, special).rows(slice(3, 7)), whole[3:7])
    torch.testing.assert_close(LongMap(trace, 2, 3, special).column(5), whole[:, 5])


@pytest.mark.parametrize("special", ["show", "zero", "renormalise"])
@pytest.mark.parametrize("chunk", [1, 40, 10_000])
def test_pooled_windows_equal_the_whole(
    trace: Trace, special: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_map, "CHUNK_NUMBERS", chunk)
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    pooled, block = LongMap(trace, 2, 3, special).window(4, slice(1, 12), slice(0, 9))
    assert block == 3
    torch.testing.assert_close(pooled, block_max(whole[None, 1:12, 0:9], block)[0])


@pytest.mark.parametrize("chunk", [1, 60, 10_000])
def test_strongest_pairs(trace: Trace, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_map, "CHUNK_NUMBERS", chunk)
    whole = trace.attention(2, 3)
    found = LongMap(trace, 2, 3).strongest(4)
    assert [weight for *_, weight in found] == pytest.approx(whole.flatten().sort(descending=True).values[:4].tolist())
    for query, key, weight in found:
        assert float(whole[query, key]) == pytest.approx(weight)


def slices(end: int) -> st.SearchStrategy[slice]:
    ends = st.tuples(st.integers(0, end - 1), st.integers(1, end))
    return ends.map(lambda cut: slice(cut[0], max(cut[0] + 1, cut[1])))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 8), slices(12), slices(12), st.sampled_from(["show", "zero", "renormalise"]))
def test_any_window_equals_that_part_of_the_whole(
    trace: Trace, chunk: int, size: int, queries: slice, keys: slice, special: str
) -> None:
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_map, "CHUNK_NUMBERS", chunk * trace.n_tokens)
        pooled, block = LongMap(trace, 2, 3, special).window(size, queries, keys)
    assert max(pooled.shape) <= size
    torch.testing.assert_close(pooled, block_max(whole[None, queries, keys], block)[0])


def test_padding_is_never_among_the_strongest() -> None:
    short = encoder.load("minilm").trace_batch(["a", "a much longer sentence than the other one"])[0]
    assert short.n_real < short.n_tokens
    found = LongMap(short, 0, 2).strongest(50)
    assert all(query < short.n_real for query, _, _ in found)
    assert sum(weight for *_, weight in found) == pytest.approx(short.n_real, abs=1e-4)


def test_strongest_of_a_row_keeps_equals_in_order() -> None:
    assert [place for place, _ in ranking.strongest(torch.tensor([0.1, 0.4, 0.1, 0.4]), 3)] == [1, 3, 0]


def test_chunks_are_bounded() -> None:
    assert trace_module.CHUNK_NUMBERS <= 16_000_000


@pytest.mark.parametrize("special", ["show", "zero", "renormalise"])
def test_one_walk_finds_the_pooled_map_and_what_each_key_receives(trace: Trace, special: str) -> None:
    whole = aggregate.special_tokens(trace.attention(2, 3), trace, special)
    seen = LongMap(trace, 2, 3, special).in_blocks(4)
    assert seen.block == 4
    torch.testing.assert_close(seen.pooled, block_max(whole[None], 4)[0])
    torch.testing.assert_close(seen.received, whole.mean(0))
    values = [weight for *_, weight in LongMap(trace, 2, 3, special, lambda: seen).strongest(7)]
    assert values == pytest.approx(whole.flatten().sort(descending=True).values[:7].tolist())


def test_the_walk_through_a_layer_finds_what_each_of_its_heads_does(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", 12 * trace.n_tokens * 4)  # four rows at a time
    every = long_map.layer_overview(trace, 2, size=7)
    for head in (0, 3, 11):
        alone = LongMap(trace, 2, head).in_blocks(7)
        torch.testing.assert_close(every.of(head).pooled, alone.pooled)
        torch.testing.assert_close(every.of(head).received, alone.received)
    assert every.coarser(4).shape == (12, 4, 4)
    torch.testing.assert_close(every.coarser(4)[5], block_max(trace.attention(2, 5)[None], 4)[0])


def test_padding_gives_and_receives_nothing_in_an_overview() -> None:
    short = encoder.load("minilm").trace_batch(["a", "a much longer sentence than the other one"])[0]
    expected = short.attention(1, 4)[: short.n_real].mean(0)
    torch.testing.assert_close(LongMap(short, 1, 4).in_blocks(4).received, expected)
    torch.testing.assert_close(long_map.layer_overview(short, 1, size=4).of(4).received, expected)
