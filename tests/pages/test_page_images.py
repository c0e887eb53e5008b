"""A model of texts and pages: MaxSim over the page on Predict, and the page as the input of other pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.figures.numbers import three_digits
from encoder.inputs import example_page
from encoder.similarity import page_interaction
from tests.load.pages import model_of, write
from tests.pages.apps import assert_well, visit, written

QUERIES = ["w1 w17 w5", "w30 w31"]
PAGES = ("heads", "contribution", "positions", "norms", "feed_forward", "model", "interventions", "pre_post")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("offered")
    write(model_of("ColModernVBert"), root / "retriever")
    write(model_of("ModernVBert"), root / "plain")
    return root


def opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, page: str, source: str = "retriever", **query: Any
) -> AppTest:
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(folder))
    return visit(page, model="other", source=source, **query)


def test_scores_of_queries_and_their_places(folder: Path, monkeypatch: pytest.MonkeyPatch):
    model = encoder.load(folder / "retriever", device="cpu")
    found = [page_interaction(model, query, example_page.page()) for query in QUERIES]
    best = max(range(2), key=lambda at: found[at].score)
    app = opened(folder, monkeypatch, "predict", captions="\n".join(QUERIES))
    assert_well(app)
    assert f"**{QUERIES[best]}**: MaxSim {three_digits(found[best].score)}" in written(app)
    app = opened(folder, monkeypatch, "predict", captions="\n".join(QUERIES), caption="1", caption_word="1")
    assert_well(app)
    shown = written(app)
    assert f"**{QUERIES[1]}**: MaxSim {three_digits(found[1].score)}" in shown
    assert f"with the product {three_digits(float(found[1].parts[1]))}" in shown


def test_the_vectors_of_a_model_without_a_projection_are_compared(folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch, "predict", "plain", captions="w1 w2\nw5", predict="caption")
    assert_well(app)
    assert "(1st of 2)" in written(app)


@pytest.mark.sample(3, "another page")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_the_image_of_a_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch, page, tower="image", closed=True)
    assert not app.exception, [one.value for one in app.exception]
    assert not app.error, [box.value for box in app.error]
