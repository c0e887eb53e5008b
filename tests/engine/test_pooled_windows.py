"""Pooled attention of a window: what a zoom into a long text shows."""

from __future__ import annotations

import pytest
import torch

import encoder
from encoder.maps.long_map import layer_overview
from encoder.model.overview import pooling_block
from encoder.trace import trace as trace_module
from encoder.trace.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    tokenizer = encoder.load("minilm").tokenizer
    config = encoder.EncoderConfig(
        vocab_size=tokenizer.vocab_size, d_model=12, n_layers=2, n_heads=3, d_ffn=20, position="rotary"
    )
    return encoder.build(config, tokenizer, seed=3).trace("a b c d e f g h i j k l m n o p q r s t u")


@pytest.mark.parametrize("window", [(0, 23, 0, 23), (3, 20, 5, 9), (7, 8, 0, 23), (0, 5, 18, 23)])
@pytest.mark.parametrize("size", [1, 4, 5, 64])
def test_each_cell_is_the_largest_of_its_block(trace: Trace, window: tuple[int, ...], size: int) -> None:
    top, bottom, left, right = window
    whole = trace.attention(1, 2)
    pooled = trace.pooled_attention(1, 2, size, slice(top, bottom), slice(left, right))
    block = pooling_block(max(bottom - top, right - left), size)
    assert max(pooled.shape) <= size
    assert pooled.shape == (-(-(bottom - top) // block), -(-(right - left) // block))
    for row in range(pooled.shape[0]):
        for column in range(pooled.shape[1]):
            i, j = top + row * block, left + column * block
            expected = whole[i : min(i + block, bottom), j : min(j + block, right)].max()
            torch.testing.assert_close(pooled[row, column], expected)


@pytest.mark.parametrize("size", [0, -3])
def test_a_map_of_no_cells_is_refused(trace: Trace, size: int) -> None:
    with pytest.raises(encoder.EncoderError, match=f"size={size}"):
        trace.thumbnails(size)
    with pytest.raises(encoder.EncoderError, match="0 x 23 tokens"):
        trace.pooled_attention(0, 0, 8, queries=slice(4, 4))
    with pytest.raises(encoder.EncoderError, match=r"size=2\.5"):
        trace.thumbnails(2.5)


@pytest.mark.parametrize("heads_at_once", [1, 2])
def test_all_heads_in_groups_give_the_same_maps(
    trace: Trace, heads_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps, overview = trace.thumbnails(8), layer_overview(trace, 1, 8)
    monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", heads_at_once * trace_module.FEW_ROWS * trace.n_tokens)
    assert [group.stop - group.start for group in trace.head_groups()] == ([1] * 3 if heads_at_once == 1 else [2, 1])
    torch.testing.assert_close(trace.thumbnails(8), maps)
    grouped = layer_overview(trace, 1, 8)
    torch.testing.assert_close(grouped.pooled, overview.pooled)
    torch.testing.assert_close(grouped.received, overview.received)
