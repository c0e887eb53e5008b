"""Words with boxes in a real Chromium: the example, a click on a word, another head."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import Server, Tab, check_width, settle, tab_with_models

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(
    browser: Browser,
    serve: Callable[..., AbstractContextManager[Server]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Tab]:
    """A tab of the app, which offers a LayoutLMv3."""
    from tests.load import boxes  # torch takes seconds in each process

    root = tmp_path_factory.mktemp("pages")
    boxes.write(root / "layout")
    with tab_with_models(browser, serve, root) as found:
        yield found


@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["laptop", "phone"])
def test_a_word_is_clicked_at_its_place(tab: Tab, size: tuple[int, int]) -> None:
    page = tab.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{tab.server}/heads?model=other&source=layout&layer=1&head=3")
    settle(page)
    page.get_by_role("button", name="Show an invoice").click()
    settle(page)
    said, words = page.locator(".st-key-answer"), page.locator(".textpoint text")
    expect(words).to_have_count(24)
    for name in ("Atlas", "Total"):
        words.get_by_text(name, exact=True).scroll_into_view_if_needed()
        settle(page)  # the page scrolls, and the word with it
        box = words.get_by_text(name, exact=True).bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(said).to_contain_text(f"{name} attends most to")
        settle(page)
    check_width(page)
    page.locator("[class*=st-key-page-most-above] button").click()
    settle(page)
    expect(said).to_contain_text("Total attends most to")
