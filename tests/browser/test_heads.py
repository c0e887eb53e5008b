"""The page “Heads” in Chromium: three views with one selection, the keyboard, pins, layout, the next head."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import encoder
from tests.conftest import LATER, check_width, settle, wait_for_query, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

CAT = "The cat sat on the mat"  # [CLS] the cat sat on the mat [SEP]: "the" stands twice
GRID = 'canvas[aria-roledescription="grid of attention maps"]'
MAP = '.st-key-heads-head [aria-roledescription="heat map"]'
LINES = '[aria-roledescription="attention as lines"]'
TEXT = '[aria-roledescription="text shaded by attention"]'
DRAWN = {"map": f"{MAP} .heatmaplayer image", "lines": f"{LINES} .enc-lines-token", "text": ".enc-text-unit"}


def show(page: Page, view: str) -> None:
    page.locator(".st-key-heads-head").get_by_role("radio", name=view.title()).click()
    wait_for_query(page, view=None if view == "map" else view)
    page.locator(DRAWN[view]).first.wait_for()


def wait_selected(page: Page, units: list[int]) -> None:
    """Wait until these units are selected in the text, and no others."""
    page.wait_for_function(
        """units => [...document.querySelectorAll('.enc-text-unit.enc-selected')].map(unit => unit.dataset.unit).join()
             === units.join()""",
        arg=units,
    )


def test_three_views_have_one_selection(visit: Callable[..., Page]) -> None:
    page = visit(f"/?{urlencode({'text': CAT, 'layer': 1, 'head': 8, 'view': 'lines'})}")
    page.locator(".enc-lines-from .enc-lines-token").nth(2).click()
    wait_for_query(page, i="2")
    page.locator(".enc-lines-from .enc-lines-token").nth(5).click(modifiers=["Shift"])
    wait_for_query(page, i="2", hold="5")
    page.locator(".enc-lines-from .enc-selected").nth(1).wait_for()

    show(page, "text")
    wait_selected(page, [2, 5])  # the second "the", and not the first
    page.locator(".enc-text-unit").nth(3).click(modifiers=["Shift"])
    wait_for_query(page, i="2", hold="3,5")

    show(page, "map")
    page.locator(f"{MAP} .annotation", has_text="sat").wait_for()  # the selected rows' labels
    area = page.locator(f"{MAP} .nsewdrag")
    box = area.bounding_box()
    assert box is not None
    side = 8
    area.click(position={"x": box["width"] * 1.5 / side, "y": box["height"] * 6.5 / side}, modifiers=["Shift"])
    wait_for_query(page, i="2", hold="3,5,6", j="1")
    page.locator(f"{MAP} .annotation").nth(4).wait_for()  # a fourth row and a column are drawn
    area.click(position={"x": box["width"] * 3.5 / side, "y": box["height"] * 4.5 / side})
    wait_for_query(page, i="4", hold=None, j="3")
    page.locator(MAP).focus()
    page.keyboard.press("Escape")
    wait_for_query(page, i=None, j=None)


def test_the_keyboard_alone_opens_a_head_pins_it_and_selects_words(visit: Callable[..., Page]) -> None:
    page = visit(f"/?{urlencode({'text': CAT, 'view': 'text', 'layer': 0})}")
    page.locator(".enc-text-unit").first.wait_for()
    page.locator(GRID).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):  # the first key shows where the focus is
        page.keyboard.press(key)
    wait_for_query(page, layer="1", head="3")
    page.get_by_role("heading", name="L1 H3").wait_for()
    page.locator(GRID).focus()
    page.keyboard.press("p")
    wait_for_query(page, pins="1.3")
    page.locator(".st-key-heads-pins-1").wait_for()
    page.locator(".st-key-heads-below .heatmaplayer image").wait_for()
    page.locator(TEXT).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_query(page, i="2")
    wait_selected(page, [2])
    page.keyboard.press("Escape")
    wait_for_query(page, i=None)


@pytest.mark.slow("counts what is sent for several heads")
def test_another_head_sends_neither_the_small_maps_nor_the_rest_of_the_page(visit: Callable[..., Page]) -> None:
    page = visit(f"/heads?{urlencode({'text': 'word'})}")
    came: list[bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: came.append(frame)))
    page.goto(f"{page.url.split('?')[0]}?{urlencode({'text': sentence(64), 'layer': 0})}")
    settle(page)
    page.locator(DRAWN["map"]).wait_for()
    small_maps = 6 * 12 * 64 * 64
    assert sum(map(len, came)) > small_maps
    assert "text_area" in drawn_by(came)
    came.clear()
    page.locator(GRID).focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_query(page, head="3")
    page.get_by_role("heading", name="L0 H3").wait_for()
    settle(page)
    assert 64 * 64 * 4 < sum(map(len, came)) < small_maps / 3  # the large map, and not the small ones
    assert "bidi_component" in drawn_by(came)
    assert "text_area" not in drawn_by(came)

    # The arrow keys start from the head that was chosen above the page.
    page.get_by_role("spinbutton", name="Layer").press("ArrowUp")
    wait_for_query(page, layer="1", head="3")
    page.locator(GRID).focus()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_query(page, layer="1", head="4")


def drawn_by(messages: list[bytes]) -> set[str | None]:
    """The kinds of elements that these messages draw."""
    return {ForwardMsg.FromString(one).delta.new_element.WhichOneof("type") for one in messages}


def sentence(n_tokens: int) -> str:
    """Words of one token each, repeated; with [CLS] and [SEP] it has `n_tokens` tokens."""
    words = "the cat sat on the mat while an old man in a boat looks at the river and thinks of his money".split()
    return " ".join((words * n_tokens)[: n_tokens - 2])


#: The parts that the window does not show as a whole without scrolling.
CUT_OFF = """parts => parts.filter(part => {
  const box = document.querySelector(part).getBoundingClientRect();
  return box.top < 0 || box.bottom > innerHeight;
})"""
#: Parts of the page that overlap, or that are wider than the window.
OVERLAPS = """() => {
  const main = document.querySelector('.stMain').getBoundingClientRect();
  const parts = [...document.querySelectorAll(
    '.st-key-heads-grid > *, .st-key-heads-head > *, .st-key-heads-words > *, .st-key-heads-below > *')]
    .map(element => [element, element.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && box.height > 1);
  const name = element => (element.textContent || element.className).trim().slice(0, 40);
  const found = [];
  parts.forEach(([one, a], k) => {
    if (a.left < main.left - 1 || a.right > main.right + 1) found.push(`outside: ${name(one)}`);
    parts.slice(k + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 2) found.push(`${name(one)} / ${name(other)}`);
    });
  });
  return found;
}"""


#: Whether the large map shows fewer columns than it has.
ZOOMED = """n => {
  const [low, high] = document.querySelector('.enc-plot .js-plotly-plot').layout.xaxis.range;
  return high - low < n;
}"""
#: Labels and titles of the large map that are cut off, or cover each other; and a margin that is too wide.
BADLY_PLACED = """() => {
  const all = (parts) =>
    [...document.querySelectorAll(`.enc-plot ${parts}`)].map(part => part.getBoundingClientRect());
  const [[picture], [cells], [under], [beside], across, down] =
    ['.main-svg', '.nsewdrag', '.xtitle', '.ytitle', '.xtick text', '.ytick text'].map(all);
  const wrong = {
    'cut off': [...across, ...down, under, beside].some(box => box.left < picture.left || box.bottom > picture.bottom),
    'over cells': down.some(box => box.right > cells.left) || across.some(box => box.top < cells.bottom - 1),
    'under a title': down.some(box => box.left < beside.right) || across.some(box => box.bottom > under.top),
    'too much room': cells.left - picture.left > Math.max(...down.map(box => box.width)) + 45,
  };
  return Object.keys(wrong).filter(name => wrong[name]);
}"""


@pytest.mark.slow("another view of the same page")
@pytest.mark.parametrize(
    ("n_tokens", "width", "height", "dark"),
    [(3, 1280, 720, False), (8, 390, 844, True), (64, 1280, 720, True), (128, 1400, 900, False)],
    ids=["3", "8 on a phone", "64 on a projector", "128"],
)
def test_every_view_has_its_room(
    visit: Callable[..., Page], n_tokens: int, width: int, height: int, dark: bool
) -> None:
    page = visit(f"/?{urlencode({'text': sentence(n_tokens), 'i': 1})}", width=width, height=height, dark=dark)
    page.locator(DRAWN["map"]).wait_for()
    page.wait_for_function(FILLED)
    if width > 1000:
        wait_until_none(page, CUT_OFF, [GRID, MAP])  # both are seen without scrolling
    else:  # the open head, the small maps, then words, one below the other
        parts = ("head", "grid > :last-child", "words")
        tops = [page.locator(f".st-key-heads-{part}").bounding_box()["y"] for part in parts]
        assert tops == sorted(tops)
    wait_until_none(page, OVERLAPS)
    wait_until_none(page, BADLY_PLACED)
    page.locator(MAP).press("+")
    page.wait_for_function(ZOOMED, arg=n_tokens)
    wait_until_none(page, BADLY_PLACED)
    page.evaluate(LATER, 300)  # the page sends a zoom 150 ms later, on its own clock; not in one message with the click
    for view in ("lines", "text"):
        show(page, view)
        wait_until_none(page, OVERLAPS)
        check_width(page)
    expect(page.locator(".enc-text-unit")).to_have_count(n_tokens)
    with page.expect_download() as waiting:
        page.locator(".enc-text").get_by_role("button", name="PNG").click()
    assert waiting.value.suggested_filename == "text.png"
    assert waiting.value.path().read_bytes().startswith(b"\x89PNG")
    assert page.locator(".enc-text-body").text_content().split() == ["[CLS]", *sentence(n_tokens).split(), "[SEP]"]


#: The map's cells reach the right edge of their column, except for the figure's margin.
FILLED = """() => {
  const [column, cells] = ['.st-key-heads-head', '.st-key-heads-head .nsewdrag']
    .map(part => document.querySelector(part)?.getBoundingClientRect());
  return cells && column.right - cells.right < 24 && cells.height > 150;
}"""


@pytest.mark.slow("every order and colour of the grid")
def test_the_grid_is_coloured_sorted_and_saved(visit: Callable[..., Page]) -> None:
    page = visit(f"/?{urlencode({'text': CAT, 'measure': 'previous', 'sort': 'falling', 'layer': 0})}")
    page.locator(GRID).wait_for()
    page.get_by_text("On the previous token", exact=True).first.wait_for()
    button = page.locator(".st-key-heads-grid").get_by_role("button", name="PNG")
    assert button.evaluate("button => getComputedStyle(button).opacity") == "1"  # seen without pointing at the grid
    with page.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename == "grid.png"
    page.locator(GRID).focus()
    page.keyboard.press("ArrowRight")  # the first key goes to the selected head
    page.keyboard.press("Home")
    said = page.locator(".st-key-heads-grid .enc-aloud").text_content()
    # The strongest comes first.
    assert re.search(r"layer 0 head 2\b.*\bprevious\b.* (1|0\.9\d*), Previous-token head", said)


@pytest.mark.slow("a text with padding, shown and hidden")
def test_a_padded_text(visit: Callable[..., Page]) -> None:
    page = visit(f"/?{urlencode({'text': CAT, 'view': 'lines', 'layer': 0})}")
    tokens = page.locator(".enc-lines-from .enc-lines-token")
    page.get_by_text("Options", exact=True).click()
    length = page.get_by_role("spinbutton", name="Pad to length")
    length.fill("14")
    length.press("Enter")
    wait_for_query(page, pad="14")
    expect(tokens).to_have_count(8)  # padding is hidden
    switch = page.locator(".st-key-view-padding label").first
    switch.click()
    wait_for_query(page, pad="14", padding="1")
    expect(tokens).to_have_count(14)
    tokens.nth(12).click()
    wait_for_query(page, i="12", padding="1")
    answer = page.locator(".st-key-answer")
    expect(answer).to_contain_text("[PAD] (12)")
    switch.click()
    wait_for_query(page, i="12", padding=None)
    expect(tokens).to_have_count(8)
    expect(answer).not_to_contain_text("[PAD] (12)")  # still selected, and hidden
    expect(page.get_by_role("button", name="Clear selection")).to_be_visible()


#: Runs before the page's scripts: while `holding`, it delays the messages of the server.
HOLD = """
window.held = { holding: false, waiting: [] };
const own = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
const wrapped = (listener) => function (event) {
  const tell = () => listener.call(this, event);
  if (held.holding) held.waiting.push({ tell, bytes: new Uint8Array(event.data) }); else tell();
};
Object.defineProperty(WebSocket.prototype, "onmessage", {
  ...own, set(listener) { own.set.call(this, listener && wrapped(listener)); },
});
const listen = WebSocket.prototype.addEventListener;
WebSocket.prototype.addEventListener = function (kind, listener, ...rest) {
  return listen.call(this, kind, kind === "message" ? wrapped(listener) : listener, ...rest);
};
"""


def wait_answered(page: Page, known: int = 0) -> int:
    """Wait until the server has answered a click, after `known` delayed messages. Returns how many there are now."""
    while True:
        short = page.evaluate(
            "known => held.waiting.slice(known).filter(m => m.bytes.length < 500).map(m => [...m.bytes])", known
        )
        said = [ForwardMsg.FromString(bytes(message)) for message in short]
        ends = (m.script_finished for m in said if m.WhichOneof("type") == "script_finished")
        if any(end != ForwardMsg.FINISHED_EARLY_FOR_RERUN for end in ends):
            return page.evaluate("held.waiting.length")
        page.wait_for_timeout(50)


DRAWN_WEIGHTS = f"() => Array.from(document.querySelector('{MAP}').data[0].z, row => Array.from(row))"


def is_opened(place: Locator, name: str) -> None:
    """The heading names this head, whose map is there before the page's answer; the answer to the last head is gone."""
    expect(place).to_have_attribute("data-opened", "")
    expect(place).to_have_attribute("style", re.compile(name))
    expect(place.locator(".st-key-answer")).to_be_hidden()


def click_head(page: Page, layer: int, head: int) -> None:
    """Click a head in the grid."""
    place = page.locator(GRID)
    box = place.bounding_box()
    assert box is not None
    step_x, step_y = (box["width"] - 26 - 3) / 12, (box["height"] - 18 - 4) / 6
    place.click(position={"x": 26 + (head + 0.4) * step_x, "y": 18 + (layer + 0.4) * step_y})


@pytest.mark.slow("another view of the same page")
def test_a_head_of_a_short_text_is_drawn_before_the_server_answers(visit: Callable[..., Page]) -> None:
    trace = encoder.load("minilm").trace(CAT)

    def drawn_is(layer: int, head: int) -> None:
        np.testing.assert_allclose(page.evaluate(DRAWN_WEIGHTS), trace.attention(layer, head).numpy(), rtol=1e-5)

    page = visit(f"/?{urlencode({'text': CAT, 'layer': 1, 'head': 8})}", script=HOLD)
    page.locator(DRAWN["map"]).wait_for()
    settle(page)
    opened, heading = page.locator(".st-key-heads-head"), page.locator(".st-key-heads-head :is(h2, h3)").first
    expect(opened).not_to_have_attribute("data-opened", "")
    drawn_is(1, 8)

    page.evaluate("held.holding = true")
    click_head(page, 3, 4)
    is_opened(opened, "L3 H4")
    drawn_is(3, 4)
    expect(heading).to_have_text("L1 H8")
    first = wait_answered(page)
    click_head(page, 5, 0)
    is_opened(opened, "L5 H0")
    drawn_is(5, 0)
    wait_answered(page, first)

    page.evaluate(
        "n => held.waiting.splice(0, n).forEach(m => m.tell())", first
    )  # the answer to the first click does not undo the second
    expect(heading).to_have_text("L3 H4")
    is_opened(opened, "L5 H0")
    drawn_is(5, 0)
    page.evaluate("held.holding = false; held.waiting.splice(0).forEach(m => m.tell())")
    expect(heading).to_have_text("L5 H0")
    expect(opened).not_to_have_attribute("data-opened", "")
    drawn_is(5, 0)
    settle(page)

    page.evaluate("held.holding = true")  # the fields above the page do the same
    layer = page.locator(".st-key-view-layer input")
    layer.focus()
    page.keyboard.press("ArrowDown")
    is_opened(opened, "L4 H0")
    drawn_is(4, 0)
    expect(heading).to_have_text("L5 H0")
    page.evaluate("held.holding = false; held.waiting.splice(0).forEach(m => m.tell())")
    expect(heading).to_have_text("L4 H0")
    expect(opened).not_to_have_attribute("data-opened", "")
    settle(page)


@pytest.mark.slow("texts of 100 and 400 tokens")
@pytest.mark.parametrize("n_tokens", [100, 400])
def test_a_head_of_a_longer_text_is_drawn_before_the_page_answers(visit: Callable[..., Page], n_tokens: int) -> None:
    text = sentence(n_tokens)
    page = visit(f"/?{urlencode({'text': text, 'layer': 1, 'head': 8, 'i': 2})}", script=HOLD)
    page.locator(DRAWN["map"]).wait_for()
    settle(page)
    opened, heading = page.locator(".st-key-heads-head"), page.locator(".st-key-heads-head :is(h2, h3)").first
    page.evaluate("held.holding = true")
    click_head(page, 3, 4)
    is_opened(opened, "L3 H4")
    early = page.evaluate(DRAWN_WEIGHTS)
    if n_tokens <= 256:  # a longer text's cells are blocks
        exact = encoder.load("minilm").trace(text).attention(3, 4).numpy()
        np.testing.assert_allclose(early, exact, rtol=1e-4, atol=1e-6)
    expect(heading).to_have_text("L1 H8")
    wait_answered(page)
    page.evaluate(f"document.querySelector('{MAP} .heatmaplayer image').early = true")
    page.evaluate("held.holding = false; held.waiting.splice(0).forEach(m => m.tell())")
    expect(heading).to_have_text("L3 H4")
    expect(opened).not_to_have_attribute("data-opened", "")
    settle(page)
    assert page.evaluate(DRAWN_WEIGHTS) == early
    assert page.evaluate(f"document.querySelector('{MAP} .heatmaplayer image').early")  # it was not drawn again


#: Notes each frame in which the heading or the answer is that of another head than the maps of Q K V.
WATCH = """() => {
  window.apart = [];
  const head = document.querySelector(".st-key-heads-head");
  const drawn = (name) => JSON.stringify(head.querySelector(`.st-key-vectors-${name} .js-plotly-plot`).data[0].z[1][1]);
  const words = () => [head.querySelector("h2"), head.querySelector(".st-key-answer p")].map((node) => node.innerText);
  const seen = () => getComputedStyle(head.querySelector("h2")).visibility === "visible";
  const [maps, said] = [["q", "k", "v"].map(drawn), words()];
  const look = () => {
    const changed = [...["q", "k", "v"].map(drawn).map((one, k) => one !== maps[k])];
    if (seen()) changed.push(...words().map((one, k) => one !== said[k]));
    if (seen() && new Set(changed).size > 1) window.apart.push(changed.join());
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.mark.slow("watches every frame while heads change")
def test_heading_answer_and_maps_change_together(visit: Callable[..., Page]) -> None:
    page = visit(f"/heads?{urlencode({'text': CAT, 'layer': 1, 'head': 8, 'view': 'vectors', 'i': 2, 'j': 3})}")
    page.locator(".st-key-vectors-v .heatmaplayer image").wait_for()
    settle(page)
    page.evaluate(WATCH)
    page.locator(GRID).focus()
    click_head(page, 3, 4)
    expect(page.locator(".st-key-heads-head h2").first).to_have_text("L3 H4")
    expect(page.locator(".st-key-heads-head h2").first).to_be_visible()
    settle(page)
    assert page.evaluate("() => window.apart") == []
