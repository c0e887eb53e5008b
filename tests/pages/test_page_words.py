"""Words with boxes in the app: typed, uploaded, drawn, an example; the attention of a word; other models."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder.figures.numbers import three_digits
from encoder.inputs import boxes as texts_of_boxes
from encoder.inputs import example_page
from encoder.inputs.boxes import write_short
from encoder.measure.page_words import directions, page_words
from pages.components.draw_boxes import parts_in
from pages.core.inputs.places_input import WITH_IMAGE, WITHOUT_IMAGE
from tests.pages import on_page
from tests.pages.apps import assert_well, sentences, written
from tests.pages.on_page import PAGES, linked

PAGE = on_page.BOXES
OF_PAGE = on_page.OF_PAGE["layout"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return on_page.write(tmp_path_factory.mktemp("offered"))


opened = partial(on_page.opened, source="layout")


def test_a_word_is_read_on_its_page(folder: Path, monkeypatch: pytest.MonkeyPatch):
    trace = encoder.load(folder / "layout", device="cpu").trace(PAGE.text, boxes=PAGE.boxes)
    words, token = page_words(trace), page_words(trace).tokens[PAGE.words.index("Total")][0]
    app = opened(folder, monkeypatch, layer="1", head="2", i=str(token), **OF_PAGE)
    assert_well(app)
    maps, unit = trace.attention(1, 2), words.unit(token)
    weights = np.array([sum(float(maps[list(unit), key].mean()) for key in keys) for keys in words.tokens])
    assert len(unit) > 1
    assert f"**Total** attends most to “{words.words[weights.argmax()]}”" in written(app)
    assert f"{three_digits(weights.max())}" in written(app)
    shares = next(one.value for one in app.dataframe if "L1 H2" in one.value.to_numpy()).iloc[:, 1:]
    found = directions(trace)
    np.testing.assert_allclose(shares.to_numpy(float), [found.heads[1, 2], found.uniform], atol=1e-6)
    layer, head = found.most("left")
    app.button(key="page-most-left").click().run()
    assert (linked(app, "layer") or "0", linked(app, "head") or "2") == (str(layer), str(head))


def test_boxes_are_typed_and_removed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch)
    assert "No word has a box" in sentences(app)
    app.button(key="boxes-first").click().run()
    assert_well(app)
    assert linked(app, "boxes") == OF_PAGE["boxes"]
    lines = app.text_area(key="boxes-lines")
    assert lines.value == PAGE.lines
    lines.set_value("Total 1 2 3").run()
    assert "Line 1" in sentences(app)
    assert linked(app, "boxes") == OF_PAGE["boxes"]
    app.text_area(key="boxes-lines").set_value("Total 10 20 30 40\n90.00 50 20 80 40").run()
    assert_well(app)
    assert (linked(app, "text"), linked(app, "boxes")) == ("Total 90.00", "10.20.30.40_50.20.80.40")
    app.button(key="boxes-remove").click().run()
    assert linked(app, "boxes") is None


def test_drawn_boxes_are_the_typed_ones(folder: Path, monkeypatch: pytest.MonkeyPatch):
    sent = {"boxes": [{"words": "Total sum", "box": [1, 2, 3, 4]}, {"words": "90", "box": [5, 2, 9, 4]}], "id": 1}
    parts = parts_in(sent)
    words = texts_of_boxes.of_parts(parts)
    assert words.lines == "Total 1 2 3 4\nsum 1 2 3 4\n90 5 2 9 4"
    assert texts_of_boxes.parts_of(words) == parts
    box = sent["boxes"][0]
    for wrong in ({"box": [1, 2, 3]}, {"box": [1, 2, 3, 1001]}, {"box": [3, 2, 1, 4]}, {"words": " "}, {"words": 3}):
        assert parts_in({"boxes": [{**box, **wrong}]}) is None
    assert parts_in({"boxes": [box] * 5_001}) is None
    assert parts_in({"boxes": [{}]}) is parts_in([box]) is None
    app = opened(folder, monkeypatch, text=words.text, boxes=write_short(words.boxes), draw="1", page_image="file-none")
    assert_well(app)
    assert any("image of this link is not here" in one.value for one in app.caption)
    app.button(key="boxes-close").click().run()
    assert linked(app, "draw") is None


def test_another_sentence_has_no_boxes(folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch, **OF_PAGE)
    sentence = next(one for one in app.text_area if one.label == "Sentence")
    sentence.set_value(PAGE.text.replace("Total", "Thank")).run()
    assert_well(app)
    assert linked(app, "boxes") == OF_PAGE["boxes"]
    next(one for one in app.text_area if one.label == "Sentence").set_value("Thank you").run()
    assert_well(app)
    assert linked(app, "boxes") is None


def test_a_link_whose_boxes_do_not_fit(folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch, text="two words", boxes="1.2.3.4")
    assert "specify one box for each" in sentences(app)
    app = opened(folder, monkeypatch, text="two words", boxes="1.2.3")
    assert "is not a box" in sentences(app)


@pytest.mark.parametrize("compared", ["heads", "sentences", "models"])
def test_a_page_next_to_what_has_none(compared: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch, view="beside", compare=compared, model_b="minilm", **OF_PAGE)
    assert_well(app)


def test_a_model_without_places_leaves_the_boxes_out(folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert_well(opened(folder, monkeypatch, model="minilm", source="", **OF_PAGE))


@pytest.mark.sample(3, "another page")
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("source", ["layout", "markup", "image"])
def test_a_page_opens_with_places(page: str, source: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    more = {"source": "layout", **OF_PAGE, "page_image": "invoice"} if source == "image" else on_page.OF_PAGE[source]
    app = on_page.opened(folder, monkeypatch, page=page, closed=True, **{"source": source, **more})
    assert not app.exception, [one.value for one in app.exception]
    assert not app.error, [box.value for box in app.error]


def test_a_page_with_its_image(folder: Path, monkeypatch: pytest.MonkeyPatch):
    model = encoder.load(folder / "layout", device="cpu")
    trace = model.trace(PAGE.text, boxes=PAGE.boxes, page=example_page.invoice())
    words, token = page_words(trace), page_words(trace).tokens[-16:][5][0]
    app = opened(folder, monkeypatch, layer="1", head="2", i=str(token), page_image="invoice", **OF_PAGE)
    assert_well(app)
    assert WITH_IMAGE in [one.value for one in app.caption]
    weights = words.to_words(trace.attention(1, 2), token)
    assert f"**r1 c1** attends most to “{words.words[weights.argmax()]}”" in written(app)
    shares = next(one.value for one in app.dataframe if "L1 H2" in one.value.to_numpy()).iloc[:, 1:]
    found = directions(trace)
    np.testing.assert_allclose(shares.to_numpy(float), [found.heads[1, 2], found.uniform], atol=1e-6)
    plain = opened(folder, monkeypatch, **OF_PAGE)
    assert WITHOUT_IMAGE in [one.value for one in plain.caption]
    other = opened(folder, monkeypatch, model="minilm", source="", page_image="invoice", **OF_PAGE)
    assert_well(other)
