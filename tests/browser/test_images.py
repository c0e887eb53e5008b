"""An image in a real Chromium: a digit is drawn with pointer and keys, a patch is clicked, a photo is taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import check_width, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ONE = [(0.5, 0.1), (0.5, 0.9)]
THREE = [(0.3, 0.15), (0.6, 0.1), (0.7, 0.28), (0.45, 0.48), (0.7, 0.65), (0.65, 0.88), (0.3, 0.88)]


def test_a_digit_is_drawn_and_a_patch_is_clicked(visit: Callable[..., Page]) -> None:
    page = visit("/heads?model=digits-post&image_from=draw", width=1366, height=768)
    said = page.get_by_text(re.compile("^Class: "))
    expect(said).to_contain_text("3 (")
    square = page.locator(".enc-draw canvas")
    square.hover()  # waits until it stands still
    box = square.bounding_box()
    assert box is not None
    (x, y), end = ((box["x"] + box["width"] * right, box["y"] + box["height"] * down) for right, down in ONE)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    page.mouse.up()
    expect(said).to_contain_text("Class: 1 (")
    drawn = page.url

    image = page.locator(".enc-patches > canvas")
    image.scroll_into_view_if_needed()  # the drawing is above it
    box = image.bounding_box()
    assert box is not None
    image.click(position={"x": box["width"] * 0.6, "y": box["height"] * 0.4})
    answer = page.get_by_text(re.compile("^r1 c2 attends most to "))
    expect(answer).to_be_in_viewport()
    expect(image).to_be_in_viewport(ratio=1)
    wait_for_query(page, i="7")
    image.press("Escape")
    expect(page.get_by_text(re.compile(r"^\[CLS\] attends most to "))).to_be_visible()
    check_width(page)

    page.get_by_role("button", name="Clear", exact=True).click()
    square.focus()
    for key in ("ArrowUp", "ArrowUp", "Space", *["ArrowDown"] * 12, "Space"):
        square.press(key)
    page.wait_for_url(lambda url: url != drawn)
    settle(page)

    page.goto(page.url.replace("image_from=draw", "image_from=camera"))
    settle(page)
    before = page.url
    # A photo can be lost in the first second of a page.
    page.wait_for_function(
        """() => {
            const video = document.querySelector("video");
            if (!(video?.readyState >= 2)) return false;
            video.since ??= performance.now();
            return performance.now() - video.since > 1500;
        }"""
    )
    page.get_by_role("button", name="Take Photo").click()  # Chromium's own picture, which moves
    page.wait_for_url(lambda url: url != before)
    expect(said).to_contain_text("Class: ")
    settle(page)


@pytest.mark.slow("draws another digit, for captions")
def test_captions_of_a_drawn_three_and_a_cell_of_their_map(visit: Callable[..., Page]) -> None:
    page = visit("/predict?model=digit-words&image_from=draw&image=7", width=1366, height=768)
    said = page.locator(".st-key-answer")
    expect(said).to_contain_text("a handwritten seven: ")
    square = page.locator(".enc-draw canvas")
    square.hover()  # waits until it stands still
    box = square.bounding_box()
    assert box is not None
    places = [(box["x"] + box["width"] * right, box["y"] + box["height"] * down) for right, down in THREE]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    expect(said).to_contain_text("a handwritten three: ")
    expect(said).to_contain_text("1st of 10")

    cells = page.locator(".st-key-pair-map .nsewdrag")
    settle(page)  # the map is drawn again
    cells.hover()
    box = cells.bounding_box()
    assert box is not None  # ten captions across; ten digits and the drawing downwards
    cells.click(position={"x": box["width"] * 5.5 / 10, "y": box["height"] * 8.5 / 11})
    wait_for_query(page, image="8", caption="5")
    expect(said).to_contain_text("a handwritten five: ")
    check_width(page)
