"""A click on a cell is answered in the window, on every page with a map and on any screen; asking for a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import expect

from tests.conftest import go, settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

BANK = "She sat on the bank of the river and thought about her money in the bank."
SCREENS = [(1366, 768), (390, 844)]
MAP = '.st-key-answer-area [aria-roledescription="heat map"] .nsewdrag'
ALIGNED = BANK.replace("river", "lake")
RANKED = re.compile(r"\([\d,]+(st|nd|rd|th)( largest)? of [\d,]+( in size)?\)")

#: Remembers where the last click was, and how far the page was scrolled then.
REMEMBER = """() => addEventListener("click", event => {
  window.clicked = [event.clientX, event.clientY, document.querySelector(".stMain").scrollTop];
}, true)"""
#: What is wrong with the answer: it must be in the window next to the clicked cell, uncovered and without scrolling.
HIDDEN = """() => {
  const found = [], line = document.querySelector(".st-key-answer p");
  if (!line) return ["no answer"];
  const box = line.closest(".st-key-answer").getBoundingClientRect();
  const [x, y, scrolled] = window.clicked;
  if (box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth + 1) {
    found.push(`answer at ${box.top} to ${box.bottom} of ${innerHeight}, ${box.left} to ${box.right} of ${innerWidth}`);
  }
  if (y < 0 || y > innerHeight || (y > box.top && y < box.bottom)) found.push(`cell at ${x}, ${y}`);
  const moved = document.querySelector(".stMain").scrollTop - scrolled;
  if (Math.abs(moved) > 1) found.push(`scrolled by ${moved}`);
  const text = line.getBoundingClientRect();
  const seen = document.elementFromPoint(text.left + 5, (text.top + text.bottom) / 2);
  if (!seen?.closest(".st-key-answer")) found.push(`covered by ${seen?.className}`);
  return found;
}"""


@pytest.mark.slow("clicks on nine pages, on two screens")
@pytest.mark.parametrize(
    "paths",
    [
        ["heads", "contribution", f"interventions?intervention=patching&patch_with={quote(ALIGNED)}"],
        ["heads?view=beside", "contribution?beyond=rollout", "feed_forward"],
        ["heads?view=vectors", "heads?all_heads=roles", "pre_post"],
    ],
    ids=lambda paths: paths[0],
)
def test_a_click_is_answered_in_the_window(visit: Callable[..., Page], paths: list[str]) -> None:
    (width, height), *_ = screens = list(SCREENS)
    page = visit(address(paths[0]), width=width, height=height)
    page.evaluate(REMEMBER)
    for path in paths:
        if path != paths[0]:
            go(page, address(path))
        for width, height in screens:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            clicks_are_answered(page)
        screens.reverse()  # the next page opens on the screen that is there


def address(path: str) -> str:
    """The address of a page with a text and a head, and what else its path says."""
    path, _, more = path.partition("?")
    return f"/{path}?{urlencode({'text': BANK, 'layer': 2, 'head': 3})}&{more}"


def clicks_are_answered(page: Page) -> None:
    area, answer = page.locator(MAP).first, page.locator(".st-key-answer")
    area.evaluate("area => area.scrollIntoView({ block: 'nearest' })")  # at once: a picture may be drawn again
    settle(page)
    for share in (0.15, 0.85):  # a cell at the top, one at the bottom
        box = area.bounding_box()
        assert box is not None
        before = answer.inner_text()
        area.click(position={"x": box["width"] * share, "y": box["height"] * share})
        expect(answer).not_to_have_text(before)
        expect(answer).to_contain_text(RANKED)
        settle(page)
        wait_until_none(page, HIDDEN)


def test_a_word_is_asked_for(visit: Callable[..., Page]) -> None:
    page = visit(f"/heads?{urlencode({'text': BANK})}", width=1366, height=768)
    answer = page.locator(".st-key-answer")
    expect(answer).to_contain_text("Chosen for you")
    page.locator(".st-key-heads-ask button", has_text="bank (5)").click()
    page.wait_for_function("() => new URL(location).searchParams.get('word') === '5'")
    settle(page)
    expect(answer).to_contain_text("river")
    expect(answer).not_to_contain_text("Chosen for you")
    expect(page.locator(".st-key-heads-grid .enc-grid-legend")).to_contain_text("Information gain")
    page.locator('canvas[aria-roledescription="grid of attention maps"]').focus()
    page.keyboard.press("ArrowRight")  # the first key goes to the open head: the most telling one comes first
    said = page.locator(".st-key-heads-grid .enc-aloud").text_content()
    page.keyboard.press("Home")
    assert page.locator(".st-key-heads-grid .enc-aloud").text_content() == said
