"""Words with boxes and nodes of HTML in a real Chromium: the example, a click on a word, another head."""

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
    """A tab of the app, which offers a LayoutLMv3 and a MarkupLM."""
    from tests.load import boxes, markup  # torch takes seconds in each process

    root = tmp_path_factory.mktemp("pages")
    boxes.write(root / "layout")
    markup.write(root / "markup")
    with tab_with_models(browser, serve, root) as found:
        yield found


#: Of each model: the button of its example, words of the page to click, how many there are, a relation.
PAGES = {
    "layout": ("Show an invoice", ("Atlas", "Total"), 24, "above"),
    "markup": ("Show a report", ("title: Harbour report", "b: 412 ships"), 16, "next"),
}


@pytest.mark.parametrize(
    ("source", "size"),
    [("layout", (1366, 768)), ("layout", (390, 844)), ("markup", (390, 844))],
    ids=["laptop", "phone", "phone, nodes"],
)
def test_a_word_is_clicked_at_its_place(tab: Tab, source: str, size: tuple[int, int]) -> None:
    example, clicked, count, relation = PAGES[source]
    page = tab.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{tab.server}/heads?model=other&source={source}&layer=1&head=3")
    settle(page)
    page.get_by_role("button", name=example).click()
    settle(page)
    said, words = page.locator(".st-key-answer"), page.locator(".textpoint text")
    expect(words).to_have_count(count)
    for name in clicked:
        words.get_by_text(name, exact=True).scroll_into_view_if_needed()
        settle(page)  # the page scrolls, and the word with it
        box = words.get_by_text(name, exact=True).bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(said).to_contain_text(f"{name} attends most to")
        settle(page)
    check_width(page)
    page.locator(f"[class*=st-key-page-most-{relation}] button").click()
    settle(page)
    expect(said).to_contain_text(f"{clicked[-1]} attends most to")
