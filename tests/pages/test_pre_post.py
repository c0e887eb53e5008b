"""“Pre/post-norm” under AppTest: its two parts, their numbers, and the ways to the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import encoder
from encoder import causal
from encoder.figures.numbers import three_digits
from encoder.figures.placements import PLACEMENT_COLOURS
from encoder.measure import residual_stream
from encoder.measure.map_comparison import Cell
from encoder.train import curves
from pages.core.words import formulas
from pages.pre_post import diagrams
from tests.pages.apps import assert_well, charts, visit, written
from tests.pages.test_model import picture

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

UNTRAINED = {"model": "scratch", "layers": "2", "heads": "2", "width": "16", "ffn": "24"}
TWINS = {"model": "twin-pre"}
#: MiniLM next to its weights with the norms moved; an old link says so.
MOVED = {"model": "minilm", "moved_norms": "1"}


@pytest.mark.parametrize("sides", ["heads", "stream"])
@pytest.mark.parametrize("model", [TWINS, UNTRAINED, MOVED, {}], ids=["twins", "untrained", "old", "moved"])
def test_each_part_opens(sides: str, model: dict[str, str]) -> None:
    app = visit("pre_post", sides=sides, text="the cat sat", **model)
    assert_well(app)
    untrained_norms = model in (MOVED, {})
    assert ("show-twins" in [button.key for button in app.button]) == untrained_norms
    curves = [chart for chart in charts(app) if chart[0]["type"] != "heatmap"]
    assert len(curves) == {"heads": 0, "stream": 4}[sides]


def most_different(pre: encoder.Trace, post: encoder.Trace, layer: int, head: int) -> Cell:
    """The largest difference of a head's two maps; first: its weight in pre-norm."""
    maps = [trace.attention(layer, head) for trace in (pre, post)]
    query, key = divmod(int((maps[0] - maps[1]).abs().argmax()), pre.n_tokens)
    return Cell(query, key, *(float(one[query, key]) for one in maps))


def test_the_numbers_of_the_twins() -> None:
    text, layer, head = "the cat sat on the mat", 1, 1
    traces = [encoder.load(f"twin-{placement}", device="cpu").trace(text) for placement in ("pre", "post")]
    most = most_different(*traces, layer, head)
    app = visit("pre_post", model="twin-pre", text=text, layer=str(layer), head=str(head))
    weights = three_digits(most.second), three_digits(most.first)
    assert "**{}** in post-norm and **{}** in pre-norm".format(*weights) in written(app)
    moved = [residual_stream.head_differences(*traces, each) for each in range(4)]
    most = max((values.max(), each, int(values.argmax())) for each, values in enumerate(moved))
    assert f"L{most[1]} H{most[2]}, **{most[0]:.0%}**" in written(app)
    app = visit("pre_post", model="twin-pre", text=text, sides="stream")
    for trace in traces:
        length = residual_stream.measure(trace).length
        assert three_digits(length[0]) in written(app)
        assert three_digits(length[-1]) in written(app)


def test_the_moved_weights_are_compared_by_their_output() -> None:
    model = encoder.load("minilm", device="cpu")
    post, pre = (each.trace("the cat") for each in (model, model.with_norm_placement("pre")))
    app = visit("pre_post", text="the cat", **MOVED)
    assert f"**{three_digits(residual_stream.output_agreement(pre, post))}**" in written(app)


def test_what_the_twins_differ_in_is_named() -> None:
    app = visit("pre_post", model="twin-pre", text="the cat")
    assert "final LayerNorm" in written(app)
    assert "one seed" in written(app)


def test_recorded_runs_are_compared_at_the_same_step() -> None:
    app = visit("pre_post", sides="curves", depth="deep")
    step, accuracy = curves.at_common_step(curves.recorded().query("n_layers == 12"))
    apart = (accuracy.pre - accuracy.post).abs().idxmax()
    assert f"{step:,} steps" in written(app)
    assert f"{accuracy.pre[apart]:.1%}" in written(app)
    assert app.dataframe[0].value.shape[0] == len(accuracy) == 2
    assert app.title[0].value == "Train"
    assert not app.text_area, "the runs are recorded, so no sentence changes them"


def test_any_text_opens() -> None:
    for text in ("x", "", "the the القطة جلست", "**b** $x$ `c`", "a b " * 200):
        assert_well(visit("pre_post", text=text, **UNTRAINED))


def test_the_placement_comes_back_after_the_page() -> None:
    app = visit(text="one two", norm="pre")
    app.switch_page("pages/pre_post/page.py").run()
    assert_well(app)
    assert app.title[0].value == "Pre/post-norm"
    assert not [control for control in app.segmented_control if control.key == "view:norm"]
    assert "instead of" not in written(app), "the placement chosen elsewhere does not count here"
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    assert app.segmented_control(key="view:norm").value == app.query_params["norm"] == "pre"
    assert app.query_params["text"] == "one two"


@pytest.mark.parametrize("model", [{}, UNTRAINED], ids=["trained", "untrained"])
def test_an_old_link_with_both_opens_the_page(model: dict[str, str]) -> None:
    app = visit(norm="both", **model)
    assert_well(app)
    assert app.title[0].value == "Pre/post-norm"
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    assert app.segmented_control(key="view:norm").value == ("post" if model else "trained")


def test_the_page_never_opens_another_model_than_the_readers() -> None:
    app = visit(text="one two three", layer="5", head="11", i="2", j="3")
    app.switch_page("pages/pre_post/page.py").run()
    assert_well(app)
    place = {"layer": "5", "head": "11", "i": "2", "j": "3"}
    assert {name: app.query_params.get(name) for name in place} == place
    assert app.selectbox(key="view:model").value == "minilm"
    assert "all-MiniLM-L6-v2" in written(app)
    app.button(key="show-twins").click().run()
    assert_well(app)
    assert app.query_params["model"] == "twin-pre"
    assert "twin-post" in written(app)


def test_the_maps_say_both_weights_of_the_selected_pair() -> None:
    text, layer, head = "the cat sat on the mat", 0, 1
    place = {"text": text, "layer": str(layer), "head": str(head), "i": "2", "j": "3"}
    app = visit("pre_post", maps="pre", model="twin-pre", **place)
    assert_well(app)
    for placement in ("pre", "post"):
        trace = encoder.load(f"twin-{placement}", device="cpu").trace(text)
        weight = three_digits(float(trace.attention(layer, head)[2, 3]))
        assert re.search(rf"\*\*{re.escape(weight)}\*\* \([^)]*\) in {placement}-norm", written(app))
    app.button(key="open-most").click().run()
    assert (app.query_params.get("layer", "0"), app.query_params.get("head", "2")) != (str(layer), str(head))
    assert not [button for button in app.button if button.key == "open-most"]


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm"])
@pytest.mark.parametrize("placement", diagrams.ORDER)
def test_a_diagram_is_a_drawing_with_every_part(placement: str, name: str) -> None:
    drawn = ElementTree.fromstring(diagrams.svg(placement, 4, name, "#000", "#fff"))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    norms = texts.count(name)
    assert {"Attention", "FFN", "one of 4 layers"} <= set(texts)
    assert (norms, "final" in texts) == ((3, True) if placement == "pre" else (2, False))
    shade = PLACEMENT_COLOURS[placement]
    assert sum(len(group) for group in drawn if group.get("stroke") == shade) == norms


def test_a_page_says_below_its_answer_what_moving_the_norms_changed() -> None:
    text, layer, head = "the cat sat on the mat", 2, 5
    query = {"text": text, "layer": str(layer), "head": str(head)}
    model = encoder.load("minilm", device="cpu")
    post, pre = (each.trace(text) for each in (model, model.with_norm_placement("pre")))
    most = most_different(pre, post, layer, head)
    weights = most.second, most.first
    cosine = causal.outcomes_of(model, post, [pre], causal.SentenceVector())
    for page, expected in {
        "heads": weights,
        "contribution": cosine,
        "norms": cosine,
        "feed_forward": cosine,
        "positions": cosine,
    }.items():
        app = visit(page, norm="pre", **query)
        assert f"{formulas.change(*expected)}." in written(app), page
        keys = [getattr(node.proto, "id", "") for node in app.main]
        (line,) = (at for at, key in enumerate(keys) if key.endswith("-norm-change"))
        answers = [at for at, key in enumerate(keys) if key.endswith("-answer")]
        assert all(at < line for at in answers), page
        assert answers or page == "positions", "its answer has no line of this kind, so the sentence is at its end"
    said = "Pre-norm instead of post-norm"
    for norm in ("trained", "post"):
        assert said not in written(visit("heads", norm=norm, **query))
    assert said in written(visit("heads", norm="pre", **UNTRAINED | {"text": text}))
    assert said not in written(visit("heads", norm="post", **UNTRAINED | {"text": text}))


def test_model_and_this_page_show_the_same_two_numbers_for_moved_norms() -> None:
    text = "The animal didn't cross the street because it was too tired."
    model = encoder.load("minilm", device="cpu")
    moved = model.with_norm_placement("pre")
    one, other = model.trace(text), moved.trace(text)
    tokens = residual_stream.output_agreement(one, other)
    _, vector = causal.outcomes_of(model, one, [other], causal.SentenceVector())
    said = written(visit("pre_post", text=text))
    assert f"**{three_digits(tokens)}** (mean over tokens)" in said
    assert f"**{three_digits(vector)}** (sentence" in said
    effect = picture(visit("model", norm="pre", text=text))["effect"]
    assert three_digits(tokens) in effect
    assert three_digits(vector) in effect


def test_norms_are_a_part_of_the_page_and_a_page_of_their_own() -> None:
    app = visit("pre_post", model="twin-pre", text="the cat sat")
    parts = app.segmented_control(key="norm-parts")
    assert parts.value == "heads"
    parts.set_value("norms").run()
    assert_well(app)
    assert app.title[0].value == "Norms"
    app.segmented_control(key="norm-parts").set_value("stream").run()
    assert_well(app)
    assert app.title[0].value == "Residual stream"
    assert app.segmented_control(key="norm-parts").value == "stream"
