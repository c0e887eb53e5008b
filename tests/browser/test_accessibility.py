"""Accessibility: axe-core finds no violation on any page, in the light and in the dark theme."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from benchmarks.serving import addresses
from tests.conftest import settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

#: All of axe's rules but those of WCAG's level AAA, whose contrast of 7 no theme of Streamlit has.
ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]
#: (rule, part of the element) of Streamlit's own markup that cannot be changed from here, and does no harm.
EXCEPT = {
    # Code gets the keyboard's focus so that its long lines can be scrolled: another rule demands just that.
    ("focus-order-semantics", 'data-testid="stCode"'),
}
#: Opens the closed parts, which are drawn when they open.
OPEN_ALL = """() => [...document.querySelectorAll(".stMain details:not([open]) > summary")]
  .forEach((summary) => summary.click())"""

#: What still changes its look: half a colour has half a contrast.
IN_TRANSITION = """() => document.getAnimations().filter((one) => one instanceof CSSTransition)
  .map((one) => one.transitionProperty)"""


def violations(page: Page, where: str, rules: dict) -> list[str]:
    """What axe finds on a page: rule, element, and the first message about it."""
    settle(page)
    wait_until_none(page, IN_TRANSITION)
    found = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
    return [
        f"{where}: {rule['id']}: {node['html'][:200]}\n    {node['target']}\n    {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in EXCEPT)
    ]


def test_axe_finds_nothing_on_any_page(visit: Callable[..., Page]) -> None:
    found: list[str] = []
    page = visit("/glossary?term=token", width=1366, height=768)
    start = page.url.partition("/glossary")[0]
    for folder, path in addresses().items():
        page.goto(start + path)
        settle(page)
        page.evaluate(OPEN_ALL)
        found += violations(page, f"{folder}, light", {"type": "tag", "values": ALL})
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
        found += violations(page, f"{folder}, dark", {"type": "rule", "values": ["color-contrast"]})
        page.emulate_media(color_scheme="light")
    assert not found, "\n".join(found)
