"""SPLADE's words and answers on Predict, MaxSim on Texts, alignments on Heads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import encoder
from encoder import classify
from encoder.measure.head_alignment import read_pairs, score_heads
from pages.base.access import visitors
from pages.core.view.view import FIRST_SENTENCE
from pages.heads.params import EXAMPLE_PAIRS
from tests.load.conftest import checkpoint as checkpoint  # a fixture
from tests.load.conftest import quiet_transformers as quiet_transformers
from tests.load.reference import sentence
from tests.pages.apps import assert_well, charts, sentences, visit, words


def test_splade_words():
    model = encoder.load("twin-pre", device="cpu")
    found = classify.sparse_vector(model, model.trace(FIRST_SENTENCE))
    app = visit("predict", model="twin-pre", predict="sparse")
    assert_well(app)
    assert f"{len(found.ids):,} words have a weight" in words(app)
    assert float(charts(app)[0][0]["text"][0]) == pytest.approx(found.weights[0], rel=5e-3)  # three digits
    assert "masked-word head" in sentences(visit("predict", model="minilm", predict="sparse"))


def test_answers(checkpoint: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    pair = checkpoint("bert", "ForQuestionAnswering")
    question, passage = sentence(3), sentence(12, seed=1)
    best = classify.answers(pair.ours, pair.ours.trace(question, passage))[0]
    app = visit("predict", model="other", source=str(pair.folder), text=question, pair=passage)
    assert_well(app)
    assert float(charts(app)[0][0]["text"][0]) == pytest.approx(best.probability, abs=1e-3)
    alone = visit("predict", model="other", source=str(pair.folder), text=question, predict="answer")
    assert "passage" in sentences(alone)
    assert "question-answering head" in sentences(visit("predict", model="minilm", predict="answer"))


def test_an_alignment():
    model = encoder.load("minilm", device="cpu")
    trace = model.trace(FIRST_SENTENCE)
    scores = score_heads(trace, read_pairs(EXAMPLE_PAIRS.encode(), trace))
    layer, head = scores.best
    app = visit("heads", all_heads="align")
    assert_well(app)
    assert f"L{layer} H{head}" in words(app)
    other = visit("heads", all_heads="align", text="Other words")
    assert not other.exception
    assert "'it'" in sentences(other)
