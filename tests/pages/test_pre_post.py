"""“Pre-norm vs post-norm” under AppTest: its three parts, their numbers, and the ways to the page."""

from __future__ import annotations

import pytest

import encoder
from encoder.figures.numbers import three_digits
from encoder.measure import stream
from encoder.train import curves
from tests.pages.apps import assert_well, visit, written

UNTRAINED = {"model": "scratch", "layers": "2", "heads": "2", "width": "16", "ffn": "24"}


@pytest.mark.parametrize("sides", ["heads", "stream", "curves"])
@pytest.mark.parametrize(
    "model", [{"model": "twin-post"}, UNTRAINED, {"model": "minilm"}], ids=["twins", "untrained", "moved"]
)
def test_each_part_opens(sides: str, model: dict[str, str]) -> None:
    app = visit("pre_post", sides=sides, text="the cat sat", **model)
    assert_well(app)
    moved = [box for box in app.info if box.icon == ":material/science:"]
    untrained_norms = model == {"model": "minilm"} and sides != "curves"
    assert len(moved) == untrained_norms
    charts = {"heads": 0, "stream": 7, "curves": 1}[sides]
    assert len(app.get("plotly_chart")) == charts


def test_the_numbers_of_the_twins() -> None:
    text, layer, head = "the cat sat on the mat", 1, 1
    traces = [encoder.load(f"twin-{placement}", device="cpu").trace(text) for placement in ("pre", "post")]
    found = stream.map_difference(*traces, layer, head)
    row, column = found.largest
    app = visit("pre_post", model="twin-pre", text=text, layer=str(layer), head=str(head))
    assert f"{found.pre[row, column]:.3f} in pre-norm, {found.post[row, column]:.3f} in post-norm" in written(app)
    moved = [stream.head_differences(*traces, each) for each in range(4)]
    most = max((values.max(), each, int(values.argmax())) for each, values in enumerate(moved))
    assert f"L{most[1]} H{most[2]}, {most[0]:.0%}" in written(app)
    app = visit("pre_post", model="twin-pre", text=text, sides="stream")
    for trace in traces:
        length = stream.measure(trace).length
        assert three_digits(length[0]) in written(app)
        assert three_digits(length[-1]) in written(app)


def test_the_moved_weights_are_compared_by_their_output() -> None:
    model = encoder.load("minilm", device="cpu")
    post, pre = (each.trace("the cat") for each in (model, model.with_norm_placement("pre")))
    app = visit("pre_post", text="the cat")
    assert f"**{stream.output_agreement(pre, post):.3f}**" in app.info[0].value


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


def test_any_text_opens() -> None:
    for text in ("x", "", "the the القطة جلست", "**b** $x$ `c`", "a b " * 200):
        assert_well(visit("pre_post", text=text, **UNTRAINED))


def test_the_sidebar_leads_there_and_the_placement_comes_back() -> None:
    app = visit(text="one two", norm="pre")
    assert "pre_post" in [link.proto.page for link in app.sidebar.get("page_link")]
    app.switch_page("pages/pre_post/page.py").run()
    assert_well(app)
    assert app.title[0].value == "Pre-norm vs post-norm"
    assert app.query_params["norm"] == "both"
    app.switch_page("pages/qkv/page.py").run()
    assert_well(app)
    assert app.sidebar.segmented_control(key="view:norm").value == app.query_params["norm"] == "pre"
    app.switch_page("pages/pre_post/page.py").run()
    assert app.query_params["norm"] == "both"
    assert app.query_params["text"] == "one two"


@pytest.mark.parametrize("model", [{}, UNTRAINED], ids=["trained", "untrained"])
def test_an_old_link_with_both_opens_the_page(model: dict[str, str]) -> None:
    app = visit(norm="both", **model)
    assert_well(app)
    assert app.title[0].value == "Pre-norm vs post-norm"
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    assert app.sidebar.segmented_control(key="view:norm").value == ("post" if model else "trained")
