"""Cross-attention scored against an alignment: by maps written by hand, and by passes edited by hand."""

from __future__ import annotations

import numpy as np
import pytest

import encoder
from encoder import edits
from encoder.causal.cross import score_cross
from encoder.errors import EncoderError
from encoder.measure import dates
from encoder.measure.head_alignment import scores_of_rows

DATE, OUTPUT = "the twenty-first of March 1998", "1998-03-21"


@pytest.fixture(scope="module")
def model():
    return encoder.load("dates-post", device="cpu")


@pytest.fixture(scope="module")
def trace(model):
    return model.trace(DATE, target=OUTPUT)


def test_rows_written_by_hand_are_scored():
    right, wrong = [0.9, 0.1, 0.0], [0.1, 0.0, 0.9]
    rows = {4: np.array([[right, wrong]]), 7: np.array([[right, right]])}
    usable = np.array([[True, True, True], [True, True, False]])
    found = scores_of_rows([(4, 0), (7, 0), (7, 1)], rows.__getitem__, usable)
    assert found.precision.tolist() == [[1.0, 0.5]]
    assert found.recall.tolist() == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    assert found.chance == pytest.approx((1 / 3 + 1) / 2)


def test_precision_is_that_of_the_maps(model, trace):
    answer = dates.answer(trace.source)
    found = score_cross(model, trace, answer.pairs)
    true = {}
    for at, key in answer.pairs:
        true.setdefault(at, set()).add(key)
    for layer, head in np.ndindex(2, 4):
        weights = trace.cross_attention(layer, head)[:, 1:-1]  # without [CLS] and [SEP]
        hits = [int(weights[at].argmax()) + 1 in keys for at, keys in true.items()]
        assert found.attention.precision[layer, head] == pytest.approx(np.mean(hits))


def test_falls_are_those_of_edited_passes(model, trace):
    before = trace.decoder.log_probabilities
    one = model.decode(trace, OUTPUT, edits=(edits.AblateHead(1, 2, cross=True),)).decoder
    found = score_cross(model, trace, dates.answer(trace.source).pairs)
    lost = float((before - one.log_probabilities).sum())
    assert found.without_head[1, 2] == pytest.approx(lost, abs=1e-4)
    hidden = model.trace(DATE, edits=(edits.MaskKeys((6,)),))
    hidden = model.decode(hidden, OUTPUT, edits=(edits.MaskKeys((6,), cross=True),)).decoder
    assert found.when_hidden[:, 6] == pytest.approx((before - hidden.log_probabilities).numpy(), abs=1e-5)
    assert int(found.when_hidden[6].argmax()) == 6  # the month’s second digit, and the word of the month


@pytest.mark.parametrize("pairs", [[], [(40, 1)], [(0, 99)]])
def test_pairs_that_are_not_there_are_refused(model, trace, pairs):
    with pytest.raises(EncoderError, match="output token, 0 to 10"):
        score_cross(model, trace, pairs)


def test_a_trace_without_a_target_is_refused(model):
    with pytest.raises(EncoderError, match="target="):
        score_cross(model, model.trace(DATE), [(0, 0)])
