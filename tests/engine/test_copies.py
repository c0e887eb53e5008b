"""What a user keeps, a result or a model, goes through a pickle and a copy, and its repr is short."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import encoder
from encoder import causal, classify, edits, export, probe, search, similarity
from encoder.inputs import digits
from encoder.measure.head_measures import head_measures

pytestmark = pytest.mark.sample(3, "another architecture")

TEXT, OTHER = "The cat sat on the mat.", "The dog sat on the mat."


def twin() -> Any:
    return encoder.load("twin-pre")


def generation() -> Any:
    return encoder.load("dates-pre").generate("21/3/98", beams=2)


def prediction() -> Any:
    model = encoder.load("digits-pre")
    return classify.predict(model, model.trace(digits.decode(digits.examples()["3"])))


#: How each is made, and numbers of it that a copy keeps.
RESULTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "text encoder": (twin, lambda model: model.embed(TEXT)),
    "joint encoder": (lambda: encoder.load("digit-words"), lambda model: model.text.embed("three")),
    "trace": (lambda: twin().trace(TEXT, edits=[edits.AblateHead(0, 1)]), lambda trace: trace.attention(3, 2)),
    "generation": (generation, lambda found: [step.log_probability for step in found.steps]),
    "trace of a decoder": (lambda: generation().trace.decoder, lambda trace: trace.attention(1, 0)),
    "measures": (lambda: head_measures(twin().trace(TEXT)), lambda found: found["entropy"]),
    "effects": (lambda: causal.ablate_each_head(twin(), TEXT, causal.Similarity(OTHER)), lambda found: found),
    "prediction": (prediction, lambda found: found.logits),
    "collection": (lambda: search.embed(twin(), [TEXT, OTHER]), lambda found: found.vectors),
    "attribution": (lambda: similarity.attribute(twin(), TEXT, OTHER, layer=4), lambda found: found.matrix),
    "task": (lambda: probe.bundled("pos"), lambda task: [len(text) for text in task.texts]),
    "options": (lambda: export.Options(special="zero"), lambda options: options.pairs == "all"),
    "map": (lambda: export.map(twin().trace(TEXT), 0, 2), lambda view: view.frame().iloc[:, -1]),
}
REPR = 800  # characters; all numbers of a result would be thousands


def numbers(value: Any) -> np.ndarray:
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


@pytest.mark.parametrize("name", RESULTS)
def test_a_copy_has_the_same_numbers_and_a_short_name(name: str) -> None:
    made, kept = RESULTS[name]
    one = made()
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert type(other) is type(one)
        np.testing.assert_array_equal(numbers(kept(other)), numbers(kept(one)))
    assert len(repr(one)) < REPR
