"""A model with a decoder in Chromium: from a typed date to the word that gives a digit of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_every_page import ALL, violations, wait_until_uncut
from tests.conftest import wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_from_a_word_of_the_input_to_a_digit_of_the_output(visit: Callable[..., Page]) -> None:
    page = visit("/heads?model=dates-pre&layer=1&head=2&text=5+May+2001")
    page.get_by_role("radio", name="Cross-attention").click()
    wait_for_query(page, stack="cross")
    page.get_by_role("radio", name="9 · ##5").click()  # the day's second digit
    wait_for_query(page, output_token="9")
    page.get_by_text("To write ##5").wait_for()
    page.get_by_label("Output", exact=True).fill("2001-05-06")
    page.keyboard.press("Enter")
    page.get_by_text("To write ##6").wait_for()
    page.get_by_role("button", name="Switch L1 H2 off").click()
    page.get_by_text("The model now writes").wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        wait_until_uncut(page, scheme)
        assert violations(page, {"type": "tag", "values": ALL}) == []
