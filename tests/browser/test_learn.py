"""The pages under Learn in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conftest import query, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def numbers(page: Page) -> str:
    """All formulas of the page as LaTeX."""
    return "\n".join(page.locator(".stMain .katex annotation").all_text_contents())


def test_a_number_of_the_calculation_is_changed_by_hand(visit: Callable[..., Page]) -> None:
    page = visit("/by_hand")
    before = numbers(page)
    assert "0.8415 & 0.5403" in before
    grid = page.locator('[data-testid="stDataFrame"] canvas').first
    grid.wait_for()
    box = grid.bounding_box()
    assert box is not None
    # The row of "cat", its second number: 0.1.
    grid.dblclick(position={"x": box["width"] * 0.45, "y": 35 + 35 * 1.5}, force=True)
    field = page.locator("#portal input, #portal textarea").first
    field.fill("7.5")
    field.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.has('hand')")
    settle(page)
    changed = json.loads(query(page)["hand"])["embeddings"]
    assert 7.5 in changed[1]
    after = numbers(page)
    assert after != before
    elsewhere = visit(page.url[page.url.index("/", 8) :])
    assert numbers(elsewhere) == after
    page.locator(".st-key-reset-numbers button").first.click()
    page.wait_for_function("() => !new URL(location).searchParams.has('hand')")
    settle(page)
    assert numbers(page) == before
