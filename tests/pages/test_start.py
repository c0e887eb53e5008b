"""The front page: the picture of the visitor's sentence, old links, and every observation that the page promises."""

from __future__ import annotations

import re

import numpy as np
import pytest

import encoder
from encoder.measure import norm_weighted, positions, stream
from encoder.trace.trace import Trace
from encoder.train import gradients
from pages.gradients.params import Params as GradientParams
from pages.start import ways
from tests.pages.apps import assert_well, registered, visit, words, written

WAYS = [*ways.NEW.values(), *(lesson.way for lesson in ways.LESSONS.values()), *ways.RESEARCH]


def attention(trace: Trace, values: dict[str, str]) -> np.ndarray:
    """The map of the head that a view opens."""
    return trace.attention(int(values["layer"]), int(values["head"])).numpy()


def answer(text: str) -> tuple[str, ...]:
    """Layer, head, query, key and weight of the picture's line."""
    found = re.search(r"In L(\d+) H(\d+) \(.*?\), \*\*(.+?)\*\*.* attends to \*\*(.+?)\*\*.*?: (\d\S*)\. ", text)
    assert found is not None, text
    return found.groups()


def test_the_front_page_answers_about_the_sentence() -> None:
    app = visit("start")
    assert_well(app)
    assert not app.query_params
    app.text_area(key="view:text").set_value(ways.BANKS).run()
    assert_well(app)
    layer, head, query, key, weight = answer(written(app))
    trace = encoder.load("minilm", device="cpu").trace(ways.BANKS)
    row = trace.attention(int(layer), int(head))[trace.labels.index(query)]
    assert any(abs(float(row[j]) - float(weight)) < 1e-3 for j, label in enumerate(trace.labels) if label == key)
    assert app.query_params == {"text": ways.BANKS, "start": "1"}


def test_its_sentence_goes_along_to_every_page() -> None:
    app = visit("start")
    app.text_area(key="view:text").set_value("one two three").run()
    app.switch_page("pages/qkv/page.py").run()
    assert app.text_area(key="view:text").value == "one two three"


@pytest.mark.parametrize("text", ["", "x", "the the", "القطة", "**b** $x$", "one two " * 300], ids=range(6))
def test_any_sentence_opens(text: str) -> None:
    app = visit("start")
    app.text_area(key="view:text").set_value(text).run()
    assert_well(app)


def test_an_old_link_to_the_first_page_opens_attention_heads() -> None:
    app = visit(text="one two three", layer="3")  # at "/"
    assert_well(app)
    assert app.title[0].value == "Attention heads"
    assert app.number_input(key="view:layer").value == 3


def test_its_own_link_opens_it() -> None:
    app = visit(text="one two three", start="1", at_front=True)
    assert_well(app)
    assert app.text_area(key="view:text").value == "one two three"
    assert not app.warning


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.label)
def test_every_way_opens_its_view(way: ways.Way) -> None:
    params = registered()
    for name, value in way.values.items():
        assert params[name].format(params[name].parse(value)) == value
    app = visit(way.folder, **way.values)
    if way.values.get("model") != "other":
        assert_well(app)
    assert not app.error
    assert not app.warning


# --- What the ways promise --------------------------------------------------------------------------------------------


def test_it_attends_to_animal(minilm: encoder.TextEncoder) -> None:
    values = ways.NEW["attend"].values
    trace = minilm.trace(values["text"])
    i, j = int(values["i"]), int(values["j"])
    assert (trace.labels[i], trace.labels[j]) == ("it", "animal")
    row = attention(trace, values)[i]
    assert row.argmax() == j
    assert row[j] > 0.5


def test_weights_sum_to_one(minilm: encoder.TextEncoder) -> None:
    values = ways.NEW["weight"].values
    trace = minilm.trace(values["text"])
    scores = trace.scores(int(values["layer"]), int(values["head"]))[int(values["i"])]
    row = attention(trace, values)[int(values["i"])]
    assert row.sum() == pytest.approx(1, abs=1e-5)
    assert np.allclose(scores.softmax(-1), row, atol=1e-5)


def test_the_reversed_sentence_has_other_vectors(minilm: encoder.TextEncoder) -> None:
    found = positions.order_effect(minilm.trace(ways.NEW["order"].values["text"]))
    assert found.moved.any()
    assert found.cosine[found.moved].max() < 0.95


def test_the_residual_stream_grows_in_pre_norm_alone() -> None:
    values = ways.NEW["norm"].values
    norms = {
        placement: stream.measure(encoder.load(f"twin-{placement}", device="cpu").trace(values["text"])).length
        for placement in ("pre", "post")
    }
    assert (np.diff(norms["pre"]) > 0).all()
    assert norms["pre"][-1] > 3 * norms["pre"][0]
    assert norms["post"].max() < 1.2 * norms["post"].min()


def test_both_banks_attend_to_river(minilm: encoder.TextEncoder) -> None:
    values = ways.LESSONS["bank"].way.values
    trace = minilm.trace(values["text"])
    labels = list(trace.labels)
    first, second = (place for place, label in enumerate(labels) if label == "bank")
    river = labels.index("river")
    assert (first, river) == (int(values["i"]), int(values["j"]))
    weights = attention(trace, values)
    assert weights[first].argmax() == weights[second].argmax() == river
    assert weights[first, river] > 0.5


@pytest.mark.parametrize("text", [ways.BANKS, "I like green tea.", "Any other sentence has this diagonal, too!"])
def test_a_head_attends_to_the_token_before(minilm: encoder.TextEncoder, text: str) -> None:
    weights = attention(minilm.trace(text), ways.LESSONS["previous"].way.values)
    assert np.diagonal(weights, -1).min() > 0.99


def test_a_large_weight_is_no_large_contribution(minilm: encoder.TextEncoder) -> None:
    values = ways.LESSONS["contribution"].way.values
    trace = minilm.trace(values["text"])
    shares = norm_weighted.norm_weighted_shares(trace, int(values["layer"]), int(values["head"]))
    assert attention(trace, values)[:, 0].mean() > 0.8
    assert float(shares[:, 0].mean()) < 0.2


def test_only_pre_norms_last_gradient_falls_with_depth() -> None:
    usual = GradientParams()
    setting = gradients.Setting(d_model=int(usual.width))
    table = gradients.to_frame(gradients.measure_all(usual.depths, range(usual.seeds), setting))
    last = table[table.layer == table.depth - 1].groupby(["placement", "depth"]).gradient_norm.mean()
    assert (np.diff(last["pre"]) < 0).all()
    assert (abs(last["post"] / last["post"].iloc[0] - 1) < 0.25).all()


def test_the_python_lines_run() -> None:
    names: dict = {}
    exec(ways.PYTHON, names)
    assert names["trace"].n_tokens


def test_every_lesson_is_on_the_page() -> None:
    said = words(visit("start"))
    assert all(lesson.observation in said and lesson.answer in said for lesson in ways.LESSONS.values())


def test_a_link_to_a_layer_that_the_model_lacks_opens_its_last_one() -> None:
    app = visit("start", start="1", model="twin-pre", layer="9", head="20", i="1")
    assert not app.error
    assert answer(written(app))[:2] == ("3", "3")


def test_a_drawing_has_the_picture_too() -> None:
    app = visit("start", start="1", model="digits-pre")
    assert_well(app)
    assert not [field for field in app.text_area if field.key == "view:text"]
