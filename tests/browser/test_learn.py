"""The pages under Learn in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import query, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("changes numbers by hand, in two tabs")]


def results(page: Page) -> str:
    """All formulas of the calculation."""
    page.locator(".enc-hand math").first.wait_for()
    return "\n".join(page.locator(".enc-hand-math").all_text_contents())


def test_a_number_of_the_calculation_is_changed_by_hand(visit: Callable[..., Page]) -> None:
    page = visit("/by_hand")
    before = results(page)
    field = page.get_by_label("Embeddings X, row 1, column 1", exact=True)
    field.fill("7.5")
    field.press("Tab")
    expect(page.get_by_label("Embeddings X, row 1, column 2", exact=True)).to_be_focused()
    page.wait_for_function("() => new URL(location).searchParams.has('hand')")
    settle(page)
    assert json.loads(query(page)["hand"])["embeddings"][1][1] == 7.5
    second = page.get_by_label("Embeddings X, row 1, column 2", exact=True)
    second.fill("-3")
    second.press("Tab")
    page.wait_for_function("() => new URL(location).searchParams.get('hand')?.includes('-3')")
    settle(page)
    assert json.loads(query(page)["hand"])["embeddings"][1] == [0.5, 7.5, -3, 0.7]
    after = results(page)
    assert after != before
    elsewhere = visit(page.url[page.url.index("/", 8) :])
    assert results(elsewhere) == after
    expect(page.get_by_label("W_O, row 0, column 0", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Open all steps").click()
    wrong = page.get_by_label("W_O, row 0, column 0", exact=True)
    wrong.fill("a lot")
    wrong.press("Tab")
    expect(page.locator(".enc-hand .enc-note")).to_contain_text("a lot")
    assert results(page) == after
    page.get_by_role("button", name="Reset all numbers").click()
    page.wait_for_function("() => !new URL(location).searchParams.has('hand')")
    settle(page)
    assert results(page) == before
    page.get_by_label("Attention A, sat, The: ").click()
    expect(page.get_by_text("The weight of “The” for “sat”:")).to_be_in_viewport()
