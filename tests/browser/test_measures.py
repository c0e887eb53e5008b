"""All heads and Contribution in a real Chromium: a click selects what it points at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import check_width, query, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("clicks and phones on further pages with maps")]

TEXT = "The+cat+sat+on+the+mat"
#: Where a point of a plot lies on the screen, once it is drawn.
PLACE = """([label, trace, point]) => {
    const host = [...document.querySelectorAll('.enc-plot .enc-focus')].find(
        (one) => one.getAttribute('aria-label')?.includes(label) && one.querySelector('.main-svg'));
    if (!host?._fullLayout?._size) return null;
    const {xaxis, yaxis} = host._fullLayout, data = host._fullData[trace], box = host.getBoundingClientRect();
    return [box.x + xaxis._offset + xaxis.d2p(data.x[point]), box.y + yaxis._offset + yaxis.d2p(data.y[point])];
}"""


def click_point(page: Page, label: str, trace: int, point: int) -> None:
    """Click a point of the plot whose label contains `label`."""
    where = [label, trace, point]
    page.wait_for_function(PLACE, arg=where)
    page.locator(f'.enc-plot .enc-focus[aria-label*="{label}"]').scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, where)
    page.mouse.move(x, y)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    page.mouse.down()
    page.mouse.up()


def test_a_row_opens_its_head(visit: Callable[..., Page]) -> None:
    page = visit(f"/heads?text={TEXT}&all_heads=table")
    table = page.get_by_test_id("stDataFrame")
    table.locator("canvas").first.wait_for()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 16, box["y"] + 36 + 35 * 4.5)  # the box in front of the fifth row
    wait_for_query(page, head="4")
    page.get_by_role("heading", name="L0 H4").wait_for()

    page.get_by_role("button", name="Thresholds").click()  # first opened several runs after the page came
    expect(page.locator("input[aria-label^=Broad]")).to_have_value("0.80")
    page.keyboard.press("Escape")


def test_layers_queries_and_keys_are_chosen_by_a_click(visit: Callable[..., Page]) -> None:
    page = visit(f"/contribution?text={TEXT}", dark=True)
    name = page.locator(".bartext", has_text=re.compile(r"^H\d+$")).last
    head, box = name.text_content(), name.bounding_box()
    assert head is not None
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_for_query(page, head=head[1:])
    assert query(page)["share_of"].endswith(head)
    page.get_by_text("Norm-weighted", exact=True).click()
    wait_for_query(page, beyond="moves", head=head[1:])
    click_point(page, "Three curves", 0, 4)
    wait_for_query(page, layer="4")

    page.get_by_text("Q-K space", exact=True).click()
    wait_for_query(page, beyond="plane")
    click_point(page, "Queries and keys of layer 4", 1, 3)
    wait_for_query(page, i="3")
    click_point(page, "Queries and keys of layer 4", 2, 2)
    wait_for_query(page, j="2")
    check_width(page)


#: Boxes of all names that are seen: of points or along the axes, and of what is selected, whose edge has no ink.
NAMES = """() => [...document.querySelectorAll('.textpoint, .xtick text, .ytick text, .annotation-text-g')]
    .filter((node) => node.closest('.enc-plot'))
    .filter((node) => getComputedStyle(node).visibility === 'visible')
    .map((node) => [node.getBoundingClientRect(), node.matches('.annotation-text-g') ? 5 : 0])
    .map(([{left, right, top, bottom}, edge]) => [left + edge, right - edge, top + edge, bottom - edge])"""


def test_a_bar_of_positions_selects_its_token(visit: Callable[..., Page]) -> None:
    page = visit(f"/positions?text={TEXT}&i=5")
    box = page.locator(".barlayer .point path").nth(1).bounding_box()  # after [CLS], which keeps its place
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    page.mouse.down()
    page.mouse.up()
    wait_for_query(page, i="2")


@pytest.mark.parametrize(
    ("view", "label", "names"),
    [("beyond?beyond=plane&j=5", "Queries and keys of layer 1", ".textpoint"), ("?j=5", "Attention map of", "text")],
)
def test_on_a_phone_no_name_covers_another(visit: Callable[..., Page], view: str, label: str, names: str) -> None:
    text = "+".join(f"word{n % 7}" for n in range(31))  # 64 tokens: "word" and a digit, [CLS], [SEP]
    page = visit(f"/{view}&layer=1&head=8&i=3&text={text}", width=390, height=844)
    page.wait_for_function(
        """([label, names]) => [...document.querySelectorAll(`.enc-focus[aria-label*="${label}"] ${names}`)]
            .some((one) => one.style.visibility === 'hidden')""",
        arg=[label, names],
    )
    boxes = page.evaluate(NAMES)
    assert len(boxes) > 10
    for n, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[n + 1 :]:
            assert left >= other[1] or other[0] >= right or top >= other[3] or other[2] >= bottom
    check_width(page)
