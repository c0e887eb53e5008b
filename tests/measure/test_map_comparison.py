"""Two maps compared over the steps of an alignment, against arithmetic written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder.measure import align, map_comparison
from encoder.measure.map_comparison import TracedHead

RIVER, MONEY = "We sat on the bank of the river.", "We took the money to the bank."


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="module")
def pair(minilm: encoder.TextEncoder) -> tuple[encoder.Trace, encoder.Trace]:
    return minilm.trace(RIVER), minilm.trace(MONEY)


def by_hand(first: TracedHead, second: TracedHead, steps: align.Alignment) -> tuple[np.ndarray, np.ndarray]:
    """Both maps over the steps, cell by cell, float64; NaN where there is none."""
    maps = []
    for side, tokens in ((first, steps.first), (second, steps.second)):
        weights = side.trace.attention(side.layer, side.head).double().numpy()
        maps.append(np.array([[np.nan if i is None or j is None else weights[i, j] for j in tokens] for i in tokens]))
    return maps[0], maps[1]


@pytest.mark.parametrize(("layer", "head"), [(0, 2), (1, 8), (5, 6)])
def test_a_comparison_is_what_its_cells_are(pair: tuple[encoder.Trace, encoder.Trace], layer: int, head: int):
    first, second = (TracedHead(trace, layer, head) for trace in pair)
    steps = align.align_traces(*pair)
    ours, theirs = by_hand(first, second, steps)
    found = map_comparison.compare(first, second, steps)
    assert found.block == 1
    assert found.first.numpy() == pytest.approx(ours, abs=1e-6, nan_ok=True)
    assert found.second.numpy() == pytest.approx(theirs, abs=1e-6, nan_ok=True)
    assert found.difference.numpy() == pytest.approx(theirs - ours, abs=1e-6, nan_ok=True)
    distance = np.abs(np.nan_to_num(theirs) - np.nan_to_num(ours)).sum(axis=1) / 2
    both = [kind in ("same", "replaced") for kind in steps.kinds]
    assert found.distance.numpy()[both] == pytest.approx(distance[both], abs=1e-6)
    assert torch.isnan(found.distance[[not one for one in both]]).all()
    assert found.mean_distance == pytest.approx(distance[both].mean(), abs=1e-6)
    order = np.sort(np.abs((theirs - ours)[~np.isnan(theirs - ours)]))[::-1]
    assert [abs(cell.difference) for cell in found.largest] == pytest.approx(order[: len(found.largest)], abs=1e-6)
    cell = found.largest[0]
    assert (cell.first, cell.second) == pytest.approx((ours[cell.query, cell.key], theirs[cell.query, cell.key]))


def test_equal_maps_do_not_differ(pair: tuple[encoder.Trace, encoder.Trace]):
    side = TracedHead(pair[0], 2, 3)
    found = map_comparison.compare(side, side, align.align_traces(pair[0], pair[0]))
    assert found.mean_distance == 0
    assert found.largest == ()
    assert float(found.difference.abs().max()) == 0


def test_shares_that_are_known():
    one, other = torch.tensor([1.0, 0, 0]), torch.tensor([0, 1.0, 0])
    assert float(map_comparison.total_variation(one, one)) == 0
    assert float(map_comparison.total_variation(one, other)) == 1, "nothing in common"
    assert float(map_comparison.total_variation(one, torch.tensor([0.5, 0.25, 0.25]))) == 0.5
    gaps = torch.tensor([0.4, 0.6, torch.nan]), torch.tensor([0.4, torch.nan, 0.6])
    assert float(map_comparison.total_variation(*gaps)) == pytest.approx(0.6), "weight on missing keys counts in full"


@pytest.mark.parametrize("size", [256, 16, 7, 5])
def test_a_pooled_comparison_keeps_the_farthest_of_each_block(
    pair: tuple[encoder.Trace, encoder.Trace], size: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(map_comparison, "CHUNK_NUMBERS", 40)  # a few rows at a time, as in a long text
    first, second = TracedHead(pair[0], 1, 8), TracedHead(pair[1], 4, 2)
    steps = align.align_traces(*pair)
    whole, pooled = (map_comparison.compare(first, second, steps, size=s) for s in (len(steps), size))
    block = -(-len(steps) // size)
    assert pooled.block == block
    assert pooled.difference.shape[0] == -(-len(steps) // block)
    for row in range(pooled.difference.shape[0]):
        for column in range(pooled.difference.shape[1]):
            cut = slice(row * block, (row + 1) * block), slice(column * block, (column + 1) * block)
            cells = whole.difference[cut].flatten()
            cells = cells[~cells.isnan()]
            value = float(pooled.difference[row, column])
            if not len(cells):
                assert np.isnan(value)
                continue
            assert value == pytest.approx(float(cells[cells.abs().argmax()]), abs=1e-6)
            weights = whole.first[cut].flatten()
            if not weights.isnan().all():
                assert float(pooled.first[row, column]) == pytest.approx(float(weights.nan_to_num(-1).max()), abs=1e-6)
    assert pooled.distance.numpy() == pytest.approx(whole.distance.numpy(), nan_ok=True)
    assert [(cell.query, cell.key) for cell in pooled.largest] == [(cell.query, cell.key) for cell in whole.largest]


def test_one_query_against_every_key(pair: tuple[encoder.Trace, encoder.Trace]):
    first, second = TracedHead(pair[0], 1, 8), TracedHead(pair[1], 1, 8)
    steps = align.align_traces(*pair)
    ours, theirs = by_hand(first, second, steps)
    query = steps.step_of(pair[0].labels.index("bank"))
    rows = map_comparison.query_rows(first, second, steps, query)
    for row, expected in zip(rows, (ours, theirs), strict=True):
        assert row.numpy() == pytest.approx(expected[query], abs=1e-6, nan_ok=True)


def test_every_head_by_what_moves(minilm: encoder.TextEncoder, pair: tuple[encoder.Trace, encoder.Trace]):
    steps = align.align_traces(*pair)
    found = map_comparison.distance_by_head(*pair, steps)
    assert found.shape == (6, 12)
    for layer, head in ((0, 2), (3, 7), (5, 11)):
        one = map_comparison.compare(TracedHead(pair[0], layer, head), TracedHead(pair[1], layer, head), steps)
        assert found[layer, head] == pytest.approx(one.mean_distance, abs=1e-6)
    same = align.align_traces(pair[0], pair[0])
    against = map_comparison.distance_by_head(pair[0], pair[0], same, head=(0, 2))
    assert against[0, 2] == 0
    other = map_comparison.compare(TracedHead(pair[0], 0, 2), TracedHead(pair[0], 4, 1), same)
    assert against[4, 1] == pytest.approx(other.mean_distance, abs=1e-6)


def test_models_of_other_sizes_share_what_both_have(minilm: encoder.TextEncoder):
    config = encoder.EncoderConfig(vocab_size=30_522, d_model=20, n_layers=2, n_heads=5, d_ffn=16)
    small = encoder.build(config, minilm.tokenizer)
    first, second = minilm.trace("a b"), small.trace("a b")
    steps = align.align_traces(first, second)
    assert map_comparison.distance_by_head(first, second, steps).shape == (2, 5)
    assert map_comparison.output_cosine(first, second, steps) is None
    assert map_comparison.least_alike(first, second, steps) is None


def test_the_output_vectors_of_a_word_in_two_sentences(pair: tuple[encoder.Trace, encoder.Trace]):
    steps = align.align_traces(*pair)
    cosine = map_comparison.output_cosine(*pair, steps)
    bank = pair[0].labels.index("bank"), pair[1].labels.index("bank")
    ours, theirs = (trace.output[token].double() for trace, token in zip(pair, bank, strict=True))
    expected = float(ours @ theirs / ours.norm() / theirs.norm())
    assert float(cosine[steps.step_of(bank[0])]) == pytest.approx(expected, abs=1e-5)
    step, least = map_comparison.least_alike(*pair, steps)
    marks = {"[CLS]", ".", "[SEP]"}
    words = [k for k, kind in enumerate(steps.kinds) if kind == "same" and pair[0].labels[steps.first[k]] not in marks]
    assert step in words
    assert least == pytest.approx(min(float(cosine[k]) for k in words))


def test_special_tokens_can_be_left_out_of_a_comparison(pair: tuple[encoder.Trace, encoder.Trace]):
    steps = align.align_traces(*pair)
    found = map_comparison.compare(TracedHead(pair[0], 3, 3), TracedHead(pair[1], 3, 3), steps, special="renormalise")
    assert float(found.first[0].nan_to_num(0).sum()) == 0
    assert float(found.first[1].nan_to_num(0).sum()) == pytest.approx(1)
