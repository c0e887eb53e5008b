"""Fingers, the zoom in the address, and where the arrow keys start, in the app in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SENTENCE = "The cat sat on the mat."
TEXT = "text=" + SENTENCE.replace(" ", "%20")
N = 9  # tokens


def drawn(page: Page, n: int = N) -> Callable[[float, float], tuple[float, float]]:
    """Waits for the large map. Returns the place in the window of the cell of query i and key j."""
    page.locator(".st-key-map .heatmaplayer image").wait_for()
    area = page.locator(".st-key-map .nsewdrag")
    area.scroll_into_view_if_needed()

    def place(i: float, j: float) -> tuple[float, float]:
        box = area.bounding_box()
        assert box
        return box["x"] + box["width"] * (j + 0.5) / n, box["y"] + box["height"] * (i + 0.5) / n

    return place


def wait_query(page: Page, **values: str | None) -> None:
    """Wait until the address has these values; None: it has no such value."""
    page.wait_for_function(
        """values => {
          const query = new URLSearchParams(location.search);
          return Object.entries(values).every(([name, value]) => query.get(name) === value);
        }""",
        arg=values,
    )
    settle(page)


@pytest.mark.sample(2, "the same gestures on another screen")
@pytest.mark.parametrize(("width", "height", "phone"), [(390, 844, True), (1366, 768, False)])
def test_fingers_select_add_scroll_and_clear(visit: Callable[..., Page], width: int, height: int, phone: bool) -> None:
    page = visit(f"/?{TEXT}&layer=0", width=width, height=height, has_touch=True, is_mobile=phone)
    cell = drawn(page)
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in places]})

    page.touchscreen.tap(*cell(3, 5))
    wait_query(page, i="3", j="5")
    touch("touchStart", cell(6, 2))
    wait_query(page, i="3", j="5", hold="6", hold_keys="2")
    touch("touchEnd")
    settle(page)
    wait_query(page, i="3", j="5", hold="6", hold_keys="2")

    x, y = cell(7, 7)
    page.evaluate("() => { window.ended = new Promise((end) => addEventListener('scrollend', () => end(), true)); }")
    touch("touchStart", (x, y))
    for step in range(1, 8):
        touch("touchMove", (x, y - 9 * step))
    touch("touchEnd")
    page.evaluate("() => window.ended")  # until then the cells move
    page.touchscreen.tap(*cell(2, 4))  # the first tap after the scroll is the first event
    wait_query(page, i="2", j="4", hold=None, hold_keys=None)

    place = cell(5, 5)
    page.touchscreen.tap(*place)
    page.touchscreen.tap(*place)
    wait_query(page, i=None, j=None)


@pytest.mark.slow("a zoom by keys, and what a new text does to it")
def test_the_zoom_is_in_the_address_until_it_is_reset(visit: Callable[..., Page]) -> None:
    page = visit(f"/?{TEXT}&layer=1&zoom=1.5,4.5,2.5,6.5&i=5&j=3")
    drawn(page)
    labels = page.locator(".st-key-map .xtick text")
    expect(labels).to_have_count(3)
    wait_query(page, zoom="1.5,4.5,2.5,6.5")

    plot = page.locator('.st-key-map [aria-roledescription="heat map"]')
    plot.focus()
    page.keyboard.press("ArrowDown")  # the first key shows the cursor, on the selected cell
    expect(page.locator(".st-key-map .enc-aloud")).to_have_text(re.compile("the.* attends to .*sat"))
    page.keyboard.press("0")
    expect(labels).to_have_count(N)
    wait_query(page, zoom=None)

    page.keyboard.press("+")
    page.wait_for_function("() => new URLSearchParams(location.search).has('zoom')")
    settle(page)
    expect(labels).not_to_have_count(N)
    box = page.get_by_label("Sentence", exact=True)
    box.fill("A dog barked at the old tree.")
    box.press("Enter")
    wait_query(page, text="A dog barked at the old tree.", zoom=None)
    expect(labels).to_have_count(10)
    page.go_back()
    wait_query(page, text=SENTENCE)
    page.wait_for_function("() => new URLSearchParams(location.search).has('zoom')")
    expect(labels).not_to_have_count(N)
