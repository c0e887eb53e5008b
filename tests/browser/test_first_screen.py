"""The first screen: on a phone the picture of a page begins on it; on a laptop few controls are outside the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conftest import check_width, go, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

#: Never the same page twice in a row (`go` waits for another page).
PAGES = ["/heads", "/contribution", "/positions", "/norms", "/feed_forward", "/interventions", "/pre_post", "/predict"]
PAGES += ["/texts", "/diagnose", "/", "/training", "/probes", "/lessons", "/by_hand"]
PAGES += ["/positions?positions_part=without", "/contribution?beyond=rollout", "/heads?view=lines"]
#: Pixels of a phone from the top of the screen to the picture; controls outside it on a laptop.
HIGHEST, MOST_CONTROLS = 320, 6
#: The upper edge of the first picture, or null before it is drawn. The picture of Texts is the ranking with its scores,
#: that of Diagnose begins with the stages of the pipeline, that of Lessons with the first lesson.
PICTURE = """() => {
  const own = ".stMain :is(.st-key-texts-list, .st-key-diagnose-stages, .enc-hand-maps, "
    + ".stVerticalBlock:has(> [class*=st-key-lessons-start]))";
  const drawings = ":is(svg.main-svg, canvas, .enc-model-drawing > svg)";
  const pictures = `.stMain .enc-root.enc-drawn ${drawings}, ${own}`;
  const drawn = [...document.querySelectorAll(pictures)];
  const boxes = drawn.map(one => one.getBoundingClientRect()).filter(box => box.width > 100 && box.height > 40);
  return boxes.length ? Math.round(Math.min(...boxes.map(box => box.top))) : null;
}"""
#: Every page, and the parts of pages that have controls of their own; never the same page twice in a row.
EVERY = ["/heads", "/contribution", "/positions", "/contribution?beyond=rollout", "/feed_forward"]
EVERY += ["/contribution?beyond=plane", "/interventions", "/pre_post", "/norms", "/pre_post?sides=stream", "/training"]
EVERY += [
    "/contribution?beyond=moves",
    "/norms?norm_part=one",
    "/predict",
    "/texts",
    "/diagnose",
    "/texts?search_for=words",
    "/probes",
    "/lessons",
]
EVERY += ["/classroom", "/by_hand", "/glossary", "/"]
#: What is on a picture: the line of its answer, the grid and the open head, both grids, the map of the norms with its
#: parts, what a click on the map of effects does, the head of the curves, the ranking and its explanation, the words of
#: a sentence, a diagnosis, the lessons.
PICTURES = ".st-key-answer-area, .st-key-heads-grid, .st-key-heads-head, .st-key-heads-words, .st-key-both-grids"
PICTURES += ", .st-key-norms-picture, .st-key-training-head, .st-key-texts-list, .st-key-texts-why, .st-key-texts-words"
PICTURES += ", .st-key-atlas-lines, .st-key-controls-recipe, .st-key-diagnose-found, [class*=st-key-lessons-start]"
#: Whether every picture has its size.
DRAWN = """() => document.querySelector(".stMain h1, .stMain .enc-model")
  && [...document.querySelectorAll(".stMain .enc-root")].every(one => one.classList.contains("enc-drawn"))"""
#: Names of the controls on the first screen outside the picture. A control is a widget that changes what the page shows
#: or opens such widgets; a group of choices is one. Links, and closed texts below a picture, are none.
CONTROLS = """(pictures) => {
  const kinds = [".stButtonGroup", ".stTextArea", ".stTextInput", ".stSelectbox", ".stMultiSelect", ".stNumberInput"];
  kinds.push(".stPopover", ".stButton", ".stFileUploader", ".stSlider", ".stCheckbox", ".stRadio", ".stToggle");
  const isShown = (one) => {
    const box = one.getBoundingClientRect();
    return box.width > 3 && box.height > 3 && box.top < innerHeight && box.bottom > 0;
  };
  const found = [...document.querySelectorAll(`.stMain :is(${kinds.join()})`)].filter(isShown);
  return found.filter(one => !one.closest(`.st-key-present, ${pictures}`))  // the bar
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
        settle(page)
        page.wait_for_function(DRAWN)  # the picture that is drawn first may be a lower one
        if (top := page.evaluate(PICTURE)) > HIGHEST:
            low[path] = top
        check_width(page)
    assert not low, low


def test_few_controls_are_outside_a_picture(visit: Callable[..., Page]) -> None:
    page = visit(EVERY[0], width=1366, height=768)
    many = {}
    for path in EVERY:
        if path != EVERY[0]:
            go(page, path)
        settle(page)
        page.wait_for_function(DRAWN)
        shown = page.evaluate(CONTROLS, PICTURES)
        assert shown, f"{path}: no control was found"
        if len(shown) > MOST_CONTROLS:
            many[path] = shown
    assert not many, many
