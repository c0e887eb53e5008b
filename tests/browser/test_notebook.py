"""The widget of `encoder.show` in Chromium, with a model that speaks anywidget's protocol, and saved files."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

import encoder
from encoder import export
from encoder.export import notebook
from encoder.figures.numbers import three_digits
from tests.conftest import PATIENCE, collect_complaints

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

TEXT = "The animal didn't cross the street because it was too tired."
#: A front end as anywidget makes one: `render` gets a model with the traits, bytes as a DataView.
HOST = """async ({ script, style, traits, block }) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const state = { ...traits, block: bytes(block) };
  const heard = new Map();
  window.widgetModel = {
    get: (name) => state[name],
    send: (message) => window.tellKernel(message),
    on: (name, action) => heard.set(name, action),
    off: (name) => heard.delete(name),
  };
  window.setBlock = (text) => { state.block = bytes(text); heard.get("change:block")(); };
  const el = document.body.appendChild(document.createElement("div"));
  window.endWidget = widget.render({ model: window.widgetModel, el });
}"""


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page without a server. The test fails if it complains or asks for anything."""
    page, complaints = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.set_default_timeout(PATIENCE)
    collect_complaints(page, "file:", complaints)
    yield page
    page.close()
    assert not complaints, "\n".join(complaints)


def mounted(tab: Page, widget: Any) -> Callable[[], None]:
    """The widget in the page, its messages handled as a kernel does; the function sends the newest bytes."""
    told: list[object] = []
    tab.goto("about:blank")
    tab.set_content("<!DOCTYPE html><title>notebook</title>")
    tab.expose_function("tellKernel", lambda message: told.append(message))
    sent = base64.b64encode(widget.block).decode()
    traits = {"kind": widget.kind, "height": widget.height}
    tab.evaluate(HOST, {"script": notebook.script(), "style": widget._css, "traits": traits, "block": sent})
    tab.locator(".enc-drawn").wait_for()

    def answer() -> None:
        tab.wait_for_timeout(50)
        while told:
            widget._handle_custom_msg(told.pop(0), [])
        tab.evaluate("(text) => window.setBlock(text)", base64.b64encode(widget.block).decode())

    return answer


def test_clicks_in_a_notebook_open_what_the_kernel_computes(tab: Page) -> None:
    trace = encoder.load("minilm", device="cpu").trace(TEXT)
    widget = encoder.show(trace, layer=3, head=1)
    answer = mounted(tab, widget)
    tab.locator(".enc-model-slice").nth(5).click()
    answer()
    assert (widget.layer, widget.head) == (5, 1)
    expect(tab.locator(".enc-model-legend")).to_contain_text("L5 H1")
    tab.locator(".enc-model-heads button").nth(7).click()
    answer()
    assert (widget.layer, widget.head) == (5, 7)
    tab.locator(".enc-model-names text", has_text="tired").click()
    answer()
    assert widget.query == trace.labels.index("tired")
    assert widget.key is None
    tab.locator(".enc-model-chips button[data-key=softmax]").click()
    answer()
    weights = trace.attention(5, 7)[widget.query]
    assert widget.key == int(weights.argmax())
    expect(tab.locator(".enc-model-opened h2")).to_contain_text(three_digits(float(weights[widget.key])))
    tab.get_by_role("button", name="Check this number").click()
    answer()
    expect(tab.locator(".enc-model-opened table")).to_contain_text("equal")
    widget.layer = 0  # from Python
    answer()
    expect(tab.locator(".enc-model-legend")).to_contain_text("L0 H7")
    tab.evaluate("() => window.endWidget()")
    expect(tab.locator(".enc-root")).to_have_count(0)


@pytest.mark.slow("another part of the same notebook")
def test_an_update_between_press_and_release_loses_no_click(tab: Page) -> None:
    trace = encoder.load("minilm", device="cpu").trace(TEXT)
    widget = encoder.show(trace, layer=3, head=1)
    answer = mounted(tab, widget)
    for head in (7, 4):
        tab.locator(".enc-model-heads button").nth(head).hover()
        tab.mouse.down()
        answer()  # makes all buttons again
        tab.mouse.up()
        answer()
        assert widget.head == head
        expect(tab.locator(".enc-model-legend")).to_contain_text(f"L3 H{head}")
    tab.locator(".enc-model-heads button").nth(9).hover()
    tab.mouse.down()
    widget.head = 2  # from Python
    answer()
    expect(tab.locator(".enc-model-legend")).to_contain_text("L3 H4")
    tab.mouse.move(1, 1)  # a drag has begun: it shows what came
    expect(tab.locator(".enc-model-legend")).to_contain_text("L3 H2")
    tab.mouse.up()


@pytest.mark.slow("the same clicks in another view")
def test_views_of_a_head_are_widgets_too(tab: Page) -> None:
    trace = encoder.load("minilm", device="cpu").trace("The cat sat on the mat.")
    widget = encoder.show(export.lines(trace, [(0, 2), (1, 8)]))
    answer = mounted(tab, widget)
    tab.locator(".enc-lines-side, [role=application]").first.wait_for()
    tab.get_by_text("cat", exact=True).first.click()
    answer()
    assert widget.query == 2


@pytest.mark.slow("the same clicks in another view")
def test_the_grid_of_heads_is_a_widget(tab: Page) -> None:
    trace = encoder.load("minilm", device="cpu").trace("The cat sat on the mat.")
    widget = encoder.show(export.grid(trace, 1, 2))
    answer = mounted(tab, widget)
    canvas = tab.locator('[aria-roledescription="grid of attention maps"]')
    canvas.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    answer()
    assert (widget.layer, widget.head) == (2, 2)


@pytest.mark.slow("the same clicks in another view")
def test_a_map_is_a_widget(tab: Page) -> None:
    trace = encoder.load("minilm", device="cpu").trace("The cat sat on the mat.")
    widget = encoder.show(export.map(trace, 0, 2))
    answer = mounted(tab, widget)
    tab.locator(".heatmaplayer image").wait_for()
    box = tab.locator(".nsewdrag").bounding_box()
    assert box
    n = trace.n_tokens
    tab.mouse.move(box["x"] + box["width"] * 2.5 / n, box["y"] + box["height"] * 4.5 / n)
    tab.mouse.click(box["x"] + box["width"] * 2.5 / n, box["y"] + box["height"] * 4.5 / n)
    answer()
    assert (widget.query, widget.key) == (4, 2)


@pytest.mark.slow("another part of the same notebook")
def test_a_saved_file_opens_other_layers_offline(tab: Page, tmp_path: Path) -> None:
    trace = encoder.load("minilm", device="cpu").trace(TEXT)
    file = trace.save_html(tmp_path / "model.html", 3, 1, query=10, model="all-MiniLM-L6-v2")
    tab.goto(file.as_uri())
    tab.locator(".enc-drawn").wait_for()
    tab.locator(".enc-model-chips button[data-key=mixing]").click()
    expect(tab.locator(".enc-model-opened math").first).to_be_visible()
    tab.keyboard.press("Escape")
    tab.locator(".enc-model-names text", has_text="tired").click()
    tab.locator(".enc-model-slice").nth(0).click()
    expect(tab.locator(".enc-model-legend")).to_contain_text("L0 H1")
    tab.mouse.move(1, 1)
    expect(tab.locator(".enc-model-names text.enc-on")).to_have_text(re.compile("tired"))


@pytest.mark.slow("another part of the same notebook")
def test_a_still_of_the_model_has_its_words_and_colours(tab: Page, tmp_path: Path) -> None:
    trace = encoder.load("minilm", device="cpu").trace(TEXT)
    tab.goto(trace.save_html(tmp_path / "model.html", 3, 1, query=10).as_uri())
    tab.locator(".enc-drawn").wait_for()
    for kind in ("svg", "png"):
        with tab.expect_download() as download:
            tab.get_by_title(f"Download the picture as {kind.upper()}").click()
        download.value.save_as(tmp_path / f"still.{kind}")
    drawn = ElementTree.parse(tmp_path / "still.svg")
    words = {"".join(one.itertext()) for one in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Weights", "K", "384 numbers"} <= words
    assert all(f"{label}" in " ".join(words) for label in trace.labels)
    with Image.open(tmp_path / "still.png") as still:
        assert still.width > 1500
        assert len(still.convert("RGB").getcolors(still.width * still.height) or []) > 50
