"""Ranks and largest weights of a row, and where the colours of a map end."""

from __future__ import annotations

import math

import numpy as np
import torch

from encoder import TextEncoder, export
from encoder.measure.ranking import (
    falls_most,
    largest_between_words,
    largest_cell,
    rank,
    strongest,
    token_blocks,
    uniform,
)


def test_equal_weights_share_a_rank_and_missing_ones_have_none() -> None:
    row = torch.tensor([0.2, 0.5, 0.2, math.nan, 0.1])
    assert [rank(row, place) for place in (1, 0, 2, 4)] == [(1, 4), (2, 4), (2, 4), (4, 4)]
    assert [place for place, _ in strongest(row, 5)] == [1, 0, 2, 4]
    assert strongest(torch.full((3,), math.nan)) == []


def test_the_largest_cell_is_found_among_numbers_that_do_not_exist() -> None:
    assert largest_cell(np.array([[np.nan, -3.0, -2.0], [-5.0, np.nan, -4.0]])) == (0, 2)
    assert largest_cell(np.arange(6.0).reshape(3, 2)) == (2, 1)


def test_special_tokens_and_padding_do_not_end_the_colours(minilm: TextEncoder) -> None:
    trace = minilm.trace("one two three", pad_to=9)
    weights = np.full((9, 9), 0.9, np.float32)
    weights[1:4, 1:4] = [[0.1, 0.2, 0.3], [0.4, math.nan, 0.1], [0.1, 0.1, 0.1]]
    single = [range(k, k + 1) for k in range(9)]
    assert largest_between_words(weights, trace, single, single) == np.float32(0.4)
    weights[1:4, 1:4] = 0
    assert largest_between_words(weights, trace, single, single) == 1
    weights[1:4, 1:4] = 1e-6
    assert largest_between_words(weights, trace, single, single, uniform(trace)) == 1 / 5, "noise has no colour"
    pairs = token_blocks(0, 5, 2, 9)
    assert [(block.start, block.stop) for block in pairs] == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    blocks = np.full((5, 5), 0.9, np.float32)
    blocks[1, 1] = 0.25
    assert largest_between_words(blocks, trace, pairs, pairs) == np.float32(0.25), "block 0 has [CLS], block 2 [SEP]"


def test_a_map_says_that_its_colours_end_below_its_largest_weight(minilm: TextEncoder) -> None:
    trace = minilm.trace("The animal didn't cross the street because it was too tired.")
    attention = trace.attention(4, 4)
    view = export.map(trace, 4, 4, options=export.Options(scale_to_words=True))
    heatmap = view.figure().data[0]
    content = [place for place, one in enumerate(trace.source.special) if not one]
    end = float(attention[content][:, content].max())
    assert heatmap.colorbar.tickvals[-1] == end < heatmap.zmax < float(attention.max())
    assert heatmap.colorscale[-1][1] != heatmap.colorscale[-3][1], "what is beyond the end has a colour of its own"
    assert heatmap.colorbar.ticktext[-1].startswith(">")
    assert export.map(trace, 4, 4).figure().data[0].zmax == 1
    assert export.map(trace, 4, 4).figure().data[0].colorbar.ticktext is None


def test_the_place_that_falls_most_is_found_and_a_missing_weight_is_left_out():
    before, after = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.4, 0.0, 0.6])
    assert falls_most(before, after) == 1
    assert falls_most(torch.tensor([0.5, float("nan"), 0.2]), after) == 0
