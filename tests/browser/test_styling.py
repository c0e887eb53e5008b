"""How many elements the browser styles for a new sentence, as its own trace counts them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LATER, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("traces the browser")]

#: Takes all rules with :has() away from the page.
WITHOUT_HAS = """() => {
  const clean = (owner) => {
    for (let place = owner.cssRules.length - 1; place >= 0; place--) {
      const rule = owner.cssRules[place];
      if (rule.selectorText?.includes(":has(")) owner.deleteRule(place);
      else if (rule.cssRules?.length) clean(rule);
    }
  };
  for (const sheet of document.styleSheets) clean(sheet);
}"""


def test_rules_with_has_style_few_further_elements(visit: Callable[..., Page]) -> None:
    """With the wall's rules on every page, the browser styled four times as many elements."""
    page = visit("/heads?text=a+cat+sat")
    styled(page, "the first one asks for scripts")
    with_has = styled(page, "a dog ran home")
    page.evaluate(WITHOUT_HAS)
    assert with_has < 2 * styled(page, "a fox hid here")


def styled(page: Page, text: str) -> int:
    """How many times an element is styled for a new sentence."""
    browser = page.context.browser
    assert browser is not None
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    field.press("Enter")
    page.wait_for_function("text => new URL(location).searchParams.get('text') === text", arg=text)
    settle(page)
    page.evaluate(LATER, 300)  # what observes sizes draws after the run
    events = json.loads(browser.stop_tracing())["traceEvents"]
    return sum(event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree")
