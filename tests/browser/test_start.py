"""The front page as a new visitor meets it, presentation mode, and a long text, each in one visit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import open_page, query, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

BANK = "She sat on the bank of the river and thought."
#: The sizes in pixels of all type that is shown, smallest first, with the text.
TYPE = """() => {
  const walk = document.createTreeWalker(document.querySelector('.stMain'), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    const hidden = '.enc-aloud, .enc-tip, .katex, .katex-mathml, [data-testid="stIconMaterial"], style, script';
    if (!text || element.closest(hidden) || !element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 1 && box.height > 1) found.push([parseFloat(getComputedStyle(element).fontSize), text]);
  }
  return found.sort((a, b) => a[0] - b[0]).filter(([size]) => size < 20);
}"""


def test_a_new_visitor_finds_an_answer_its_numbers_and_a_training_run(visit: Callable[..., Page]) -> None:
    page = visit("/", width=1366, height=768)
    expect(page).to_have_title(re.compile("^Start"))
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(BANK)
    field.press("Enter")
    wait_for_query(page, text=BANK)

    selected = page.locator(".enc-lines-from .enc-selected")
    expect(selected).to_have_count(1)
    selected.click()  # the word that the page chose: the visitor chooses it, too
    page.wait_for_function("() => new URL(location).searchParams.has('i')")
    settle(page)
    expect(selected).to_have_count(1)
    page.locator(".enc-lines-from .enc-lines-token", has_text="bank").click()  # action 1: what she asks for
    wait_for_query(page, i="5")
    expect(selected).to_have_text(re.compile("bank"))
    page.locator(".enc-lines-to .enc-lines-token", has_text="river").click()  # a weight of the same row
    wait_for_query(page, i="5", j="8")
    expect(page.locator(".enc-lines-from .enc-selected")).to_have_text(re.compile("bank"))
    answer = page.locator(".stMain p", has_text=re.compile(r"bank.* attends to .+: \d"))
    expect(answer).to_be_in_viewport()
    page.get_by_role("button", name="How this weight is made").click()  # 1 more: the numbers
    page.get_by_role("heading", level=1, name="Forward pass").wait_for()
    settle(page)
    assert query(page)["i"] == "5"
    assert query(page)["text"] == BANK

    page.get_by_role("radio", name="Pre-norm", exact=True).click()  # 1: the other norm placement
    wait_for_query(page, norm="pre")

    open_page(page, "Training")  # 1
    page.get_by_role("heading", level=1).wait_for()
    settle(page)
    page.locator(".stMain").get_by_role("button", name="Train", exact=True).click()  # 2
    page.get_by_text(re.compile(r"step [\d,]+ of")).first.wait_for()
    page.locator(".stMain").get_by_role("button", name="Stop", exact=True).click()


def test_presentation_mode_shows_the_page_in_large_type(visit: Callable[..., Page]) -> None:
    page = visit("/?text=one+two+three&view=lines", width=1920, height=1080)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.press("End")
    field.press("f")  # while typing, it is a letter
    assert "present" not in query(page)
    field.press("Enter")
    wait_for_query(page, text="one two threef")
    page.locator("h1").first.click()
    page.keyboard.press("f")
    wait_for_query(page, present="1")
    for part in ("stSidebar", "stHeader"):
        expect(page.get_by_test_id(part)).to_be_hidden()
    page.wait_for_function(f"() => !({TYPE})().length")
    page.keyboard.press("PageDown")
    page.get_by_role("heading", level=1, name="Beyond attention weights").wait_for()
    settle(page)
    assert query(page)["present"] == "1"
    page.keyboard.press("PageUp")
    page.get_by_role("heading", level=1, name="Attention heads").wait_for()
    settle(page)
    page.keyboard.press("Escape")
    wait_for_query(page, present=None)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


def test_a_long_text_survives_a_reload(visit: Callable[..., Page]) -> None:
    page = visit("/heads")
    text = "attention is all you need " * 200
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.has('kept_text')")
    settle(page)
    page.reload()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(text)
    elsewhere = visit(page.url[page.url.index("/", 8) :])  # another tab has no such text, and says so
    elsewhere.locator(".stAlert", has_text="Paste").wait_for()
