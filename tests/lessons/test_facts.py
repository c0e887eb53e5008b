"""What lessons say about numbers, computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from encoder.explain.arithmetic import cosine
from encoder.run import ModelSpec
from pages.core.frame.frame import import_params
from pages.core.stores import model_store
from pages.teaching.lessons import library
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import gestures
from pages.teaching.questions.quantities import read_quantity


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    import_params()


def test_bank_differs_more_after_the_fourth_layer_and_less_again_after_the_fifth() -> None:
    model = model_store.model(ModelSpec())
    texts = "She sat on the bank of the river.", "She put her money in the bank."
    one, two = map(model.trace, texts)
    at = [list(trace.labels).index("bank") for trace in (one, two)]
    found = [
        cosine(*(trace.streams[layer + 1][place].double().numpy() for trace, place in zip((one, two), at, strict=True)))
        for layer in range(6)
    ]
    assert found[0] > found[3]
    assert found[2] < found[3] < found[4]


def test_all_gains_of_the_norm_of_lesson_7_are_below_1() -> None:
    model = model_store.model(ModelSpec())
    gains = model.trace("The cat sat on the mat.").encoder.block(1).ffn_norm.weight
    assert float(gains.detach().max()) < 1


def test_each_token_but_the_first_attends_to_the_one_before_it_where_a_lesson_says_so() -> None:
    given: dict[str, Any] = gestures.table()["paint-attention"]["given"]
    look = look_of({}).about(given["text"]).at(given["layer"], given["head"])
    rows = np.stack([look.row(place) for place in range(look.trace.n_tokens)])
    assert np.diag(rows, -1).min() > 0.99
    assert rows[0, 0] > 0.99


def test_two_heads_share_the_first_place_of_the_pronoun() -> None:
    step = library.find("04-heads").step(4)  # type: ignore[union-attr]
    truth = step.question.truth(look_of(step.view))  # type: ignore[union-attr]
    assert len(truth.answers) == 2
    assert list(truth.numbers.values())[2] < 0.5 * list(truth.numbers.values())[1]


def test_a_vector_is_as_wide_as_all_heads_of_a_layer_together() -> None:
    look = look_of({})
    d_model, d_head = (read_quantity({"config": {"field": name}}).value(look) for name in ("d_model", "d_head"))
    assert d_model == 12 * d_head
