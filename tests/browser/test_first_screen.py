"""The first screen: on a phone the picture of a page begins on it; on a laptop few controls are outside the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conftest import check_width, go

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

#: Never the same page twice in a row (`go` waits for another page).
PAGES = ["/heads", "/contribution", "/positions", "/norms", "/feed_forward", "/interventions", "/pre_post", "/predict"]
PAGES += ["/texts", "/diagnose"]
#: Pixels of a phone from the top of the screen to the picture; controls of the input above a page.
HIGHEST, MOST_CONTROLS = 320, 6
#: The upper edge of the first picture, or null before it is drawn. The picture of Texts is the ranking with its scores,
#: that of Diagnose begins with the stages of the pipeline.
PICTURE = """() => {
  const own = ".stMain :is(.st-key-texts-list, .st-key-diagnose-stages)";
  const pictures = `.stMain .enc-root.enc-drawn :is(svg.main-svg, canvas), ${own}`;
  const drawn = [...document.querySelectorAll(pictures)];
  const boxes = drawn.map(one => one.getBoundingClientRect()).filter(box => box.width > 100 && box.height > 40);
  return boxes.length ? Math.round(Math.min(...boxes.map(box => box.top))) : null;
}"""
#: Names of the controls of the input.
CONTROLS = """() => {
  const kinds = "[role=radiogroup], textarea, .stSelectbox, .stNumberInput, .stPopover button, .stPageLink";
  const found = [...document.querySelectorAll(`.st-key-input :is(${kinds})`)];
  return found.filter(one => one.getClientRects().length).map(one => one.ariaLabel || one.innerText);
}"""


def test_the_picture_of_a_page_begins_on_the_first_screen_of_a_phone(visit: Callable[..., Page]) -> None:
    page = visit(PAGES[0], width=390, height=844)
    low = {}
    for path in PAGES:
        if path != PAGES[0]:
            go(page, path)
        page.wait_for_function(f"() => ({PICTURE})() !== null")
        if (top := page.evaluate(PICTURE)) > HIGHEST:
            low[path] = top
        check_width(page)
    assert not low, low


def test_few_controls_are_above_a_page(visit: Callable[..., Page]) -> None:
    page = visit("/heads", width=1366, height=768)
    shown = page.evaluate(CONTROLS)
    assert len(shown) <= MOST_CONTROLS, shown
