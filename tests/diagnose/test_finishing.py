"""What a program does to finished vectors is named by a run: whole numbers, a mean, moved components."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sentence_transformers import quantize_embeddings

import encoder
from encoder import diagnose
from tests.diagnose.pipelines import TEXTS

OTHERS = ("an apple fell down", "who wrote this book?", "rain and snow", "3 of 4", "A long day ends at last, said he.")


@pytest.fixture(scope="module")
def twin() -> encoder.TextEncoder:
    return encoder.load("twin-pre")


@pytest.fixture(scope="module")
def right(twin: encoder.TextEncoder) -> np.ndarray:
    return twin.embed(TEXTS).numpy()


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def without_top(vectors: np.ndarray, number: int) -> np.ndarray:
    """All-but-the-top, by numpy's own eigenvectors."""
    centred = vectors - vectors.mean(axis=0)
    top = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :number]
    return centred - centred @ top @ top.T


def moved(vectors: np.ndarray) -> np.ndarray:
    return vectors[:, np.random.default_rng(1).permutation(vectors.shape[1])]


Made = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: (right vectors, those of other texts) -> what the program stores; the fault, and some of its parameters.
WAYS: dict[str, tuple[Made, str, dict]] = {
    **{
        form: (
            lambda of, _, form=form: quantize_embeddings(of, form),
            "quantised-vectors",
            {"form": form, "of": "these texts" if "int8" in form else ""},
        )
        for form in ("int8", "uint8", "binary", "ubinary")
    },
    "int8 by calibration": (
        lambda of, others: quantize_embeddings(of, "int8", calibration_embeddings=np.concatenate([of[:2], others])),
        "quantised-vectors",
        {"form": "int8", "of": "other texts"},
    ),
    "int8 of an older release": (
        lambda of, _: ((of - of.min(0)) / ((of.max(0) - of.min(0)) / 255) - 128).astype(np.int8),
        "quantised-vectors",
        {"form": "int8 cut towards 0", "of": "these texts"},
    ),
    "times 127": (lambda of, _: np.rint(unit(of) * 127), "quantised-vectors", {"form": "int8 of 127"}),
    "signs": (lambda of, _: np.where(of > 0, 1, -1), "quantised-vectors", {"form": "signs"}),
    "centred": (
        lambda of, _: of - of.mean(axis=0),
        "mean-removed",
        {"of": "these texts", "directions": 0, "scales": False},
    ),
    "centred, then unit": (lambda of, _: unit(of - of.mean(axis=0)), "mean-removed", {"directions": 0, "scales": True}),
    "centred by others": (lambda of, others: of - others.mean(axis=0), "mean-removed", {"of": "other texts"}),
    "centred by others, then unit": (
        lambda of, others: unit(of - others.mean(axis=0)),
        "mean-removed",
        {"of": "other texts", "scales": True},
    ),
    "all but the top": (lambda of, _: without_top(of, 2), "mean-removed", {"of": "these texts", "directions": 2}),
    "two components": (
        lambda of, _: of[:, [1, 0, *range(2, of.shape[1])]],
        "dimension-order",
        {},
    ),
    "all components": (lambda of, _: moved(of), "dimension-order", {}),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_done_to_finished_vectors_is_named(way: str, twin: encoder.TextEncoder, right: np.ndarray):
    make, name, parameters = WAYS[way]
    theirs = np.asarray(make(right, twin.embed(OTHERS).numpy()), dtype=np.float32)
    found = diagnose.find(twin, TEXTS, theirs, together=1)
    assert [one.name for one in found.faults] == [name], found.said
    assert found.faults[0].parameters.items() >= parameters.items()
    assert not found.alternatives
    assert found.difference < 1e-4 < found.difference_without


def test_ranges_and_means_are_not_fitted_to_chance(twin: encoder.TextEncoder):
    """Numbers of the same form that have nothing to do with the texts stay unknown, with few texts, too."""
    random = np.random.default_rng(0)
    for n_texts in (2, 3, 5):
        for theirs in (
            random.integers(-128, 128, (n_texts, twin.config.d_model)),
            random.normal(size=(n_texts, twin.config.d_model)),
        ):
            found = diagnose.find(twin, TEXTS[:n_texts], theirs.astype(np.float32), together=1)
            assert found.verdict == "unknown", (n_texts, found.said)
