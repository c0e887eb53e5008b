"""“Pre-norm vs post-norm” under AppTest: its three parts, their numbers, and the ways to the page."""

from __future__ import annotations

import pytest

import encoder
from encoder.measure import stream
from tests.pages.apps import assert_well, sentences, visit, written

UNTRAINED = {"model": "scratch", "layers": "2", "heads": "2", "width": "16", "ffn": "24"}


@pytest.mark.parametrize("sides", ["heads", "stream", "curves"])
@pytest.mark.parametrize("model", [{"model": "twin-post"}, UNTRAINED, {"model": "minilm"}], ids=["twin", "new", "own"])
def test_side_by_side_opens(sides: str, model: dict[str, str]) -> None:
    app = visit("pre_post", sides=sides, text="the cat sat", **model)
    assert_well(app)
    assert ("Not trained so" in sentences(app)) == (model == {"model": "minilm"})
    assert ("the placements differ most with **12 layers" in written(app)) == (sides == "curves")


def test_the_numbers_of_the_twins() -> None:
    text, layer, head = "the cat sat on the mat", 1, 1
    traces = [encoder.load(f"twin-{placement}", device="cpu").trace(text) for placement in ("pre", "post")]
    found = stream.map_difference(*traces, layer, head)
    row, column = found.largest
    app = visit("pre_post", model="twin-pre", text=text, layer=str(layer), head=str(head))
    assert f"{found.pre[row, column]:.3f} in pre-norm, {found.post[row, column]:.3f} in post-norm" in written(app)
    apart = [stream.head_differences(*traces, each) for each in range(4)]
    worst = max((values.max(), each, int(values.argmax())) for each, values in enumerate(apart))
    assert f"Most of all heads L{worst[1]} H{worst[2]}: {worst[0]:.0%}" in written(app)
    lengths = [stream.measure(trace).length for trace in traces]
    app = visit("pre_post", model="twin-pre", text=text, sides="stream")
    assert f"{lengths[0][0]:.3g} after the embeddings, {lengths[0][-1]:.3g} after the last layer" in written(app)
    assert f"{lengths[1][0]:.3g} becomes {lengths[1][-1]:.3g}" in written(app)


def test_any_text_side_by_side() -> None:
    for text in ("x", "", "the the القطة جلست", "**b** $x$ `c`", "a b " * 200):
        assert_well(visit("pre_post", text=text, **UNTRAINED))


def test_the_sidebar_leads_there_and_the_placement_comes_back() -> None:
    app = visit(text="one two", norm="pre")
    app.sidebar.button(key="compare both placements").click().run()
    assert_well(app)
    assert app.header[0].value == "Pre-norm vs post-norm"
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
    assert app.header[0].value == "Pre-norm vs post-norm"
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    assert app.sidebar.segmented_control(key="view:norm").value == ("post" if model else "trained")
