"""The image of a page in a real Chromium: MaxSim over it, a token of the query, a patch, a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import Server, Tab, settle, tab_with_models

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(
    browser: Browser,
    serve: Callable[..., AbstractContextManager[Server]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Tab]:
    """A tab of the app, which offers a ColModernVBERT."""
    from tests.load import pages  # torch takes seconds in each process

    root = tmp_path_factory.mktemp("pages")
    pages.write(pages.model_of("ColModernVBert"), root / "retriever")
    with tab_with_models(browser, serve, root) as found:
        yield found


def test_maxsim_over_the_bundled_page(tab: Tab) -> None:
    page = tab.page
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{tab.server}/predict?model=other&source=retriever&captions=w1%20w17%0Aw30%20w31%20w32")
    settle(page)
    said = page.locator(".st-key-answer")
    expect(said).to_contain_text("MaxSim")
    image = page.locator(".enc-patches > canvas")
    expect(image).to_be_visible()
    box = image.bounding_box()
    assert box is not None
    assert box["height"] >= box["width"], "an upright page stays upright"
    expect(page.locator(".enc-patches-legend")).to_contain_text("added to MaxSim")

    page.goto(f"{page.url}&caption=1&caption_word=3")
    settle(page)
    expect(said).to_contain_text("w30 w31 w32: MaxSim")
    expect(page.locator(".enc-patches-legend")).to_contain_text("product with w31")
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    assert box is not None
    image.click(position={"x": box["width"] * 0.99, "y": box["height"] * 0.01})
    expect(page.get_by_text("r0 c8: ").first).to_be_visible()
    page.wait_for_url(lambda url: "i=" in url)
    settle(page)
