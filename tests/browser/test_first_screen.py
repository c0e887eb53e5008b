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
#: Pixels of a phone from the top of the screen to the picture; controls above it on a laptop.
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
#: Pages with few controls outside their picture.
FEW_CONTROLS = ["/heads", "/positions", "/feed_forward", "/pre_post", "/predict", "/diagnose", "/"]
#: Names of the controls above the first picture, a group of choices as one. What is on a picture is not counted: the
#: line of its answer, and the columns of the grid and of the open head.
CONTROLS = """() => {
  const kinds = [".stButtonGroup", ".stTextArea", ".stTextInput", ".stSelectbox", ".stNumberInput", ".stPopover"];
  kinds.push(".stButton", ".stPageLink", ".stFileUploader", ".stSlider", ".stCheckbox");
  const shown = (one) => one.getClientRects().length && one.getBoundingClientRect().width > 3;
  const tops = [...document.querySelectorAll(".stMain .enc-root.enc-drawn")].filter(shown);
  const top = (one) => one.getBoundingClientRect().top;
  const upper = Math.min(innerHeight, ...tops.map(top));
  const title = Math.min(...[...document.querySelectorAll(".st-key-input, .stMain h1")].map(top));
  const found = [...document.querySelectorAll(`.stMain :is(${kinds.join()})`)].filter(shown);
  return found.filter(one => top(one) > title - 10 && top(one) < upper)  // not the bar
    .filter(one => !one.closest(".st-key-answer-area, .st-key-heads-grid, .st-key-heads-head, .st-key-heads-words"))
    .filter(one => !one.parentElement.closest(".stPopover"))
    .map(one => `${one.className.split(" ")[0]}: ${(one.ariaLabel || one.innerText || "").slice(0, 40)}`);
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


def test_few_controls_are_above_a_picture(visit: Callable[..., Page]) -> None:
    page = visit(FEW_CONTROLS[0], width=1366, height=768)
    many = {}
    for path in FEW_CONTROLS:
        if path != FEW_CONTROLS[0]:
            go(page, path)
        page.wait_for_function('() => document.querySelector(".stMain .enc-root.enc-drawn")')
        if len(shown := page.evaluate(CONTROLS)) > MOST_CONTROLS:
            many[path] = shown
    assert not many, many
