"""Probes and Head types in a real Chromium: a file is probed, and a head of an atlas is clicked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_export import select_cell
from tests.conftest import check_width, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("long work on further pages, which is cancelled")]

A, B = "The+cat+sat+on+the+mat", "A+kitten+rested+on+a+rug"
LONG = "+".join(["word"] * 100)


def test_a_file_is_probed_and_a_point_is_clicked(visit: Callable[..., Page]) -> None:
    page = visit("/probes?probe_task=file&probe_views=mean", width=390, height=844, dark=True)
    rows = [
        "text,label",
        "no label",
        *(f"a film that is {word} {n},{word}" for n in range(12) for word in ("good", "bad")),
    ]
    content = {"name": "films.csv", "mimeType": "text/csv", "buffer": "\n".join(rows).encode()}
    page.locator('input[type="file"]').first.set_input_files(content)
    expect(page.get_by_text("Left out: 1.")).to_be_visible()
    expect(page.get_by_text("Texts: 24. Classes: 2.")).to_be_visible()
    page.get_by_role("button", name="Train the probes").click()
    point = page.locator(".scatterlayer .trace").first.locator("path.point").nth(2)
    point.scroll_into_view_if_needed()
    settle(page)
    box = point.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_for_query(page, probe_layer="2")
    expect(page.get_by_text(re.compile("^Selected: input of L2, from the mean"))).to_be_visible()
    check_width(page)
    page.go_back()
    settle(page)
    page.go_forward()
    expect(page.get_by_text("Texts: 24. Classes: 2.")).to_be_visible()
    settle(page)


def test_a_head_of_the_atlas_is_clicked_and_its_example_opens_on_a_phone(visit: Callable[..., Page]) -> None:
    page = visit(f"/heads?all_heads=corpus&text={A}&layer=0&head=0", width=390, height=844, dark=True)
    select_cell(page, 0, 2.5, 9, 12)  # of 6 rows and 12 columns: the middle of the second row
    wait_for_query(page, layer="1")
    wait_for_query(page, head="9")
    answer = page.get_by_text(re.compile("^L1 H9, on the previous token: .* here, "))
    expect(answer).to_be_in_viewport()
    check_width(page)
    page.locator(".st-key-atlas-lines button").first.click()
    page.wait_for_url(lambda url: A not in url)
    page.get_by_role("heading", name="Heads").wait_for()
    settle(page)
