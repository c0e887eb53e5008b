"""Ablation in a real Chromium: cut a weight on the map; two clicks to a run without the head that matters most."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import check_width, open_page, query, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

#: The middle of a cell of the map of effects on the screen, once it is drawn.
CELL = """([layer, head]) => {
    const host = [...document.querySelectorAll('.enc-plot .enc-focus')].find(
        (one) => one.getAttribute('aria-label')?.includes('switching off') && one.querySelector('.main-svg'));
    if (!host?._fullLayout?._size) return null;
    const {xaxis, yaxis} = host._fullLayout, box = host.getBoundingClientRect();
    return [box.x + xaxis._offset + xaxis.d2p(head), box.y + yaxis._offset + yaxis.d2p(layer)];
}"""


def click_cell(page: Page, layer: int, head: int) -> None:
    page.wait_for_function(CELL, arg=[layer, head])
    settle(page)
    page.mouse.click(*page.evaluate(CELL, [layer, head]))


def place_on_page(page: Page) -> list[float]:
    """The middle of the cell of L5 H11, from the beginning of the page: it may be scrolled."""
    page.wait_for_function(CELL, arg=[5, 11])
    x, y = page.evaluate(CELL, [5, 11])
    return [round(x), round(y + page.evaluate("document.querySelector('.stMain').scrollTop"))]


@pytest.mark.slow("measures every head, on two pages")
def test_a_weight_is_cut_and_the_head_with_the_largest_effect_is_two_clicks_away(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=The+cat+sat+on+the+mat.&layer=2&head=9&i=3&j=5")
    page.get_by_role("button", name="Cut or set").click()
    page.get_by_role("button", name="Cut this weight").click()
    wait_for_query(page, edits="weight_l2_h9_q3_k5_x0.0")
    page.get_by_role("button", name="Undo all edits").click()
    expect(page.get_by_role("button", name="Undo all edits")).to_have_count(0)
    open_page(page, "Interventions")
    page.get_by_text("the largest change of").wait_for()
    page.wait_for_function(CELL, arg=[5, 11])
    page.evaluate("document.querySelector('.stMain').scrollTo(0, 240)")  # the last layer is below a small window
    settle(page)
    before = place_on_page(page)
    click_cell(page, 5, 11)
    wait_for_query(page, edits="ablate_l5_h11")
    assert query(page)["layer"] == "5"
    expect(page.locator(".st-key-answer")).to_contain_text("With your edits")
    assert place_on_page(page) == pytest.approx(before, abs=1), "the first edit moves the map"  # scrolling rounds
    page.evaluate("document.querySelector('.stMain').scrollTo(0, 240)")
    click_cell(page, 5, 11)
    wait_for_query(page, edits=None)
    expect(page.locator(".st-key-answer")).not_to_contain_text("With your edits")
    check_width(page)
