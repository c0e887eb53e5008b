"""Gestures: each has a right answer that it grades as right, a wrong one, and refuses anything else."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, QuestionError, gestures, read_answer, read_question
from pages.teaching.questions.gestures import GestureQuestion

#: Of each gesture an answer that is wrong.
WRONG: dict[str, Any] = {
    "aim-a-query": [-1, -1],
    "sort-by-weight": ["street", "cross", "[CLS]", "tired", "animal"],
    "fill-a-softmax": [0.25, 0.25, 0.25, 0.25],
    "paint-attention": np.eye(9).tolist(),
    "draw-a-mask": np.tril(np.ones((4, 4)), -1).tolist(),
    "cut-a-word": [1],
}


@pytest.fixture(scope="module")
def look() -> Look:
    return look_of({})


def asked(name: str) -> GestureQuestion:
    question = read_question({"kind": "gesture", "gesture": name})
    assert isinstance(question, GestureQuestion)
    return question


@pytest.mark.parametrize("name", gestures.table())
def test_a_gesture_knows_right_and_wrong(name: str, look: Look) -> None:
    question = asked(name)
    assert question.ask
    assert question.why
    truth = question.truth(look).value
    right = question.grade(read_answer(question, json.dumps(truth), look), look)
    assert right.right
    assert right.score == pytest.approx(1, abs=1e-3)
    wrong = question.grade(read_answer(question, json.dumps(WRONG[name]), look), look)
    assert not wrong.right
    assert 0 <= wrong.score < 0.95
    task = question.task(look)
    json.dumps(task.header)
    assert task.said.endswith(".")
    if task.header["does"] == "sort":
        assert not question.grade(task.header["labels"], look).right, "the order that nobody moved"
    for answer in (None, "x", [], [[]], {"a": 1}, [math.inf], [9999] * 4, [["a"]], 3):
        if (name, answer) != ("cut-a-word", []):  # a word that is not cut
            with pytest.raises(QuestionError):
                question.read(answer, look)


def test_the_plane_has_the_formula_of_attention(look: Look) -> None:
    task = asked("aim-a-query").task(look)
    keys, query = np.array(task.header["keys"]), np.array([1.3, -0.4])
    scores = keys @ query / math.sqrt(2)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert task.score(query) == pytest.approx(min(1, weights[task.header["target"]] / task.header["goal"]))


def test_what_is_painted_is_compared_with_the_models_map(look: Look) -> None:
    given = gestures.table()["paint-attention"]["given"]
    at = look.about(given["text"]).at(given["layer"], given["head"])
    tokens = at.trace.n_tokens
    previous = np.eye(tokens, k=-1)
    previous[0, 0] = 1
    overlap = np.mean([np.minimum(previous[i], at.row(i)).sum() for i in range(tokens)])
    assert asked("paint-attention").task(look).score(previous) == pytest.approx(overlap)
    assert asked("paint-attention").grade(previous.tolist(), look).right, "what `why` says of this head"


def test_an_unknown_gesture_is_a_sentence() -> None:
    with pytest.raises(QuestionError, match="aim-a-query"):
        read_question({"kind": "gesture", "gesture": "dance"})
