"""A lesson in a browser: predict, draw a row by keyboard and by touch, and see the model's row next to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_main_flow import MAP
from tests.conftest import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

DRAWN = "/heads?lesson=03-one-weight-by-hand&lesson_step=6&layer=0&head=2"


@pytest.mark.sample(2, "the same by touch")
@pytest.mark.parametrize("touch", [False, True], ids=["keyboard", "touch"])
def test_a_row_is_drawn_and_compared(visit: Callable[..., Page], touch: bool) -> None:
    page = visit(DRAWN, width=390, height=844, has_touch=True, is_mobile=True) if touch else visit(DRAWN)
    expect(page.locator(MAP)).to_have_count(0)  # the picture waits for the answer
    sliders = page.locator(".enc-sketch input")
    expect(sliders).to_have_count(16)
    compare = page.get_by_role("button", name="Compare with the model")
    expect(compare).to_be_disabled()
    right = sliders.nth(9)  # "because", just before "it"
    if touch:
        right.scroll_into_view_if_needed()
        box = right.bounding_box()
        assert box
        page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
        compare.tap()
    else:
        right.focus()
        page.keyboard.press("End")
        compare.press("Enter")
    truth = page.locator(".enc-sketch-truth")
    expect(truth.nth(9)).to_have_text("1.00")
    expect(sliders.nth(9)).to_be_disabled()
    expect(page.get_by_test_id("stAlertContentSuccess")).to_be_visible()
    expect(page.locator(MAP)).to_have_count(1)


@pytest.mark.slow("another lesson on a phone")
def test_a_phone_shows_question_and_result_before_the_open_part(visit: Callable[..., Page]) -> None:
    page = visit("/?lesson=01-tokens&lesson_step=1", width=390, height=844, has_touch=True, is_mobile=True)
    page.get_by_role("textbox", name="Your number").fill("5")
    page.get_by_role("button", name="Answer", exact=True).tap()
    page.locator("[data-opened=ids]").wait_for()
    settle(page)
    expect(page.get_by_test_id("stAlertContentSuccess")).to_be_in_viewport()


@pytest.mark.slow("another lesson on a phone")
def test_a_thumb_cuts_a_word_before_the_next_lesson_comes(visit: Callable[..., Page]) -> None:
    page = visit("/?lesson=01-tokens&lesson_step=8", width=390, height=844, has_touch=True, is_mobile=True)
    cuts = page.locator(".enc-gesture-cut")
    cuts.first.wait_for()
    settle(page)
    boxes = [one.bounding_box() for one in cuts.all()]
    assert all(box and box["width"] >= 32 and box["height"] >= 32 for box in boxes)
    following = page.get_by_role("button", name="Next lesson").bounding_box()
    assert following
    assert all(box and box["y"] + box["height"] < following["y"] for box in boxes)
    cuts.nth(4).tap()
    expect(cuts.nth(4)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Answer", exact=True).tap()
    expect(page.get_by_test_id("stAlertContentWarning")).to_contain_text("##hel")
