"""The app's main job in a real Chromium: type a sentence, open a head, select a cell, send the link to someone."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import Server, collect_complaints, open_page, query, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

#: What is chosen in each row of choices.
CHOSEN = '.stMain button[role="radio"][aria-checked="true"]'
GRID = 'canvas[aria-roledescription="grid of attention maps"]'
#: The labels that are shown at the pointer.
LABELS = "() => [...document.querySelectorAll('.enc-tip:popover-open')].map(label => label.textContent)"
MAP = '[aria-roledescription="heat map"]'
#: A socket that keeps what the server says, while `holds`, until `letGo`.
HOLDS = """(() => {
  const held = [];
  window.letGo = () => {
    window.holds = false;
    for (const [socket, data] of held.splice(0)) socket.dispatchEvent(new MessageEvent("message", { data }));
  };
  window.WebSocket = class extends WebSocket {
    constructor(url, protocols) {
      super(url, protocols);
      this.addEventListener("message", (event) => {
        if (!window.holds || !event.isTrusted) return;
        event.stopImmediatePropagation();
        held.push([this, event.data]);
      });
    }
  };
})()"""
#: What a field says by its styles alone.
HINT = "element => [...element.querySelectorAll('*')].map(one => getComputedStyle(one, '::after').content).join()"


def type_sentence(page: Page, text: str) -> None:
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    wait_for_query(page, text=text)


def shown(page: Page) -> dict[str, str]:
    """What a person sees of the view: the sentence, the head, the words about the selected token."""
    return {
        "sentence": page.get_by_role("textbox", name="Sentence", exact=True).input_value(),
        "head": page.get_by_role("heading", name=re.compile(r"^L\d+ H\d+$")).inner_text(),
        "layer": page.get_by_role("spinbutton", name="Layer").input_value(),
        "words": page.locator(".st-key-answer p").first.inner_text(),
        "map": page.locator(MAP).first.get_attribute("aria-label") or "",
    }


def point_at(page: Page, row: int, column: int, side: int, says: str) -> None:
    """Move the pointer to a cell of a map of side x side cells, until its label says what it is: then it is drawn.

    Nothing but cells is inside the axes.
    """
    plot = page.locator(f"{MAP} .nsewdrag").first
    for attempt in range(600):
        box = plot.bounding_box()
        if box is not None:
            x, y = (column + 0.5) * box["width"] / side, (row + 0.5) * box["height"] / side
            page.mouse.move(box["x"] + x + attempt % 2, box["y"] + y)
            page.wait_for_timeout(100)
            if any(says in label for label in page.evaluate(LABELS)):
                return
    raise AssertionError(f"no cell ever said {says!r}")


def test_type_open_a_head_select_a_cell_and_send_the_link(visit: Callable[..., Page]) -> None:
    page = visit("/heads")
    type_sentence(page, "The cat sat on the mat")

    page.locator(GRID).click(position={"x": 26 + 15, "y": 18 + 100})
    page.wait_for_function("() => new URL(location).searchParams.has('layer')")
    settle(page)
    opened = query(page)
    expect(page.get_by_role("heading", name=f"L{opened['layer']} H{opened.get('head', '2')}")).to_be_visible()

    side = len(["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"])
    point_at(page, 2, 6, side, "cat attends to mat:")
    page.mouse.down()
    page.mouse.up()
    wait_for_query(page, j="6")
    assert query(page)["i"] == "2"
    here = shown(page)
    assert re.search(r"cat.* attends to mat.* \d\.\d+", here["words"])

    elsewhere = visit(page.url[page.url.index("/", 8) :])
    assert shown(elsewhere) == here


def test_the_keyboard_alone_opens_a_head_and_selects_a_cell(visit: Callable[..., Page]) -> None:
    page = visit("/?text=one+two+three&layer=0")
    page.locator(GRID).focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):  # the first key shows where the focus is
        page.keyboard.press(key)
    wait_for_query(page, layer="1")
    page.locator(f'{MAP}[aria-label*="layer 1, head 2:"]').first.wait_for()
    page.locator(MAP).first.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.has('i')")
    settle(page)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !new URL(location).searchParams.has('i')")


@pytest.mark.slow("another way through the same pages")
def test_the_view_is_kept_from_page_to_page_and_on_the_way_back(visit: Callable[..., Page]) -> None:
    page = visit("/?layer=3&head=4&i=2&special=zero")
    open_page(page, "Norms")
    page.wait_for_url(re.compile("/norms"))
    settle(page)
    assert query(page) == {"layer": "3", "head": "4", "i": "2", "special": "zero"}
    open_page(page, "Heads")
    page.wait_for_function("() => location.pathname === '/heads'")
    settle(page)
    assert query(page) == {"layer": "3", "head": "4", "i": "2", "special": "zero"}
    page.go_back()  # a page that was chosen is one step
    page.wait_for_function("() => location.pathname === '/norms' && location.search")
    settle(page)
    page.go_back()
    page.wait_for_function("() => location.pathname === '/heads'")
    settle(page)
    assert query(page) == {"layer": "3", "head": "4", "i": "2", "special": "zero"}


@pytest.mark.slow("edits at three widths")
def test_the_sentence_is_edited_in_place_below_the_title(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two+three", width=390, height=720)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    for number, width in enumerate((390, 800, 1280)):
        page.set_viewport_size({"width": width, "height": 720})
        settle(page)
        expect(field).to_be_in_viewport()
        assert field.bounding_box()["y"] > page.get_by_role("heading", level=1).bounding_box()["y"]
        field.fill(f"four five {number}")
        field.press("Shift+Enter")
        assert "Enter runs" in page.locator(".st-key-input-itself").evaluate(HINT)
        field.press("Enter")
        wait_for_query(page, text=f"four five {number}\n")


def test_back_goes_to_the_view_before(visit: Callable[..., Page]) -> None:
    page = visit("/heads")
    type_sentence(page, "first words")
    type_sentence(page, "second words")
    page.go_back()
    wait_for_query(page, text="first words")
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value("first words")


def test_back_to_an_address_without_values_brings_the_first_view(visit: Callable[..., Page]) -> None:
    page = visit("/heads")
    field, map_ = page.get_by_role("textbox", name="Sentence", exact=True), page.locator(MAP).first
    sentence, before = field.input_value(), map_.get_attribute("aria-label")
    type_sentence(page, "first words")
    assert map_.get_attribute("aria-label") != before
    page.go_back()
    wait_for_query(page, text=None)
    expect(field).to_have_value(sentence)
    expect(map_).to_have_attribute("aria-label", before)
    assert not query(page), "the entry keeps its address, so the next Back leaves the app"
    page.go_forward()
    wait_for_query(page, text="first words")
    expect(field).to_have_value("first words")


@pytest.mark.parametrize("moves", [(-1,), (-1, 1), (-2, 1)], ids=str)
def test_a_late_answer_is_not_written_over_the_entry_that_one_has_moved_to(
    visit: Callable[..., Page], moves: tuple[int, ...]
) -> None:
    """`tests/pages/test_moves.py` tries many orders, of a model of Streamlit's client; here is the client itself."""
    page = visit("/heads", script=HOLDS)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    usual, texts = field.input_value(), [None, "first words", "second words"]
    for text in texts[1:]:
        type_sentence(page, text)
        settle(page)
    page.evaluate("window.holds = true")
    field.fill("third words")
    field.press("Enter")
    page.wait_for_timeout(300)  # the answer is on its way
    place = 2
    for move in moves:
        place += move
        page.evaluate("by => history.go(by)", move)
        page.wait_for_timeout(100)
    page.evaluate("window.letGo()")
    for move in (0, -place, 1, 1):  # the entry that is open, then each
        place += move
        if move:
            page.evaluate("by => history.go(by)", move)
        wait_for_query(page, text=texts[place])
        settle(page)
        assert query(page) == ({"text": texts[place]} if place else {})
        expect(field).to_have_value(texts[place] or usual)


@pytest.mark.sample(3, "another control")
@pytest.mark.parametrize(
    ("address", "control", "value"),
    [
        ("/heads", "Lines", {"view": "lines"}),
        ("/heads", "Pre-norm", {"norm": "pre"}),
        ("/heads", "Q K V", {"view": "vectors"}),
        ("/", "Pre-norm", {"norm": "pre"}),
        ("/contribution", "Rollout", {"beyond": "rollout"}),
        ("/positions", "Encoding", {"positions_part": "encoding"}),
        ("/feed_forward", "All neurons", {}),
        ("/interventions", "Patching", {"intervention": "patching"}),
        ("/training", "Gradients at initialisation", {"train_part": "gradients"}),
        ("/predict", "animal", {}),
    ],
)
def test_one_back_undoes_one_control_from_a_bare_address(
    visit: Callable[..., Page], address: str, control: str, value: dict[str, str]
) -> None:
    page = visit(address)
    chosen = page.locator('.stMain button:is([role="radio"], [aria-pressed])').filter(has_text=control).first
    for _ in range(2):
        before = page.locator(CHOSEN).all_inner_texts()
        chosen.click()
        page.wait_for_function("() => location.search")
        wait_for_query(page, **value)
        after = page.locator(CHOSEN).all_inner_texts()
        page.go_back()
        page.wait_for_function("() => location.search === ''")
        expect(page.locator(CHOSEN)).to_have_text(before)
        page.go_forward()
        wait_for_query(page, **value)
        expect(page.locator(CHOSEN)).to_have_text(after)
        page.go_back()
        page.wait_for_function("() => location.search === ''")
        expect(page.locator(CHOSEN)).to_have_text(before)


@pytest.mark.slow("another way through the same pages")
def test_a_click_is_one_step_of_the_history(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two+three&layer=1&head=4&i=2&j=1")
    before = page.evaluate("history.length")
    page.get_by_role("button", name="How this weight is made").click()
    page.wait_for_function("() => location.pathname !== '/heads' && location.search.includes('text=')")
    settle(page)
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    page.wait_for_function("() => location.pathname === '/heads' && location.search.includes('head=4')")


@pytest.mark.slow("starts a server and waits for it to drop a session")
def test_a_new_server_hears_a_link_to_a_former_page_and_drops_a_session_whose_sentence_survives(
    serve: Callable[..., AbstractContextManager[Server]], browser: Browser
) -> None:
    """`tests/pages/test_frame.py` knows all former addresses; here one is the first that the server hears."""
    with serve(STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL="1") as server:
        page = browser.new_page()
        complaints: list[str] = []
        collect_complaints(page, server.url, complaints)
        page.goto(f"{server.url}/layernorm?layer=1")
        settle(page)
        page.get_by_role("heading", name="Norms", exact=True).wait_for()
        expect(page.get_by_text("does not seem to exist")).to_have_count(0)
        assert query(page) == {"layer": "1"}
        assert not complaints
        assert "Traceback" not in server.log()

        sockets = []

        def between(socket) -> None:
            sockets.append((socket, socket.connect_to_server()))

        page.route_web_socket(re.compile("_stcore/stream"), between)
        page.goto(f"{server.url}/heads")
        settle(page)
        type_sentence(page, "a sentence of my own")
        [own, servers] = sockets.pop()
        servers.close()
        own.close()
        page.wait_for_timeout(3000)  # longer than the server keeps a session
        page.wait_for_selector('[data-test-connection-state="CONNECTED"]')
        open_page(page, "Positions")
        page.get_by_role("heading", name="Positions", level=1).wait_for()
        wait_for_query(page, text="a sentence of my own")
        expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value("a sentence of my own")
        page.context.close()
