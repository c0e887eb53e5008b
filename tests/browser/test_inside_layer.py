"""Queries, keys, values; Positions; LayerNorm in Chromium: nothing is cut on a projector or on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

#: Everything to read: prose, captions, headings, tables in the text, formulas.
TEXTS = ", ".join(
    f".stMain {selector}"
    for selector in (
        '[data-testid="stMarkdownContainer"]',
        '[data-testid="stHeading"]',
        '[data-testid="stCaptionContainer"]',
        "table",
        ".katex-display",
        ".katex-display > .katex > .katex-html",
    )
)
#: Elements that are wider than their container, and formulas that their own box cuts.
CUT = """selector => {
  const wide = [...document.querySelectorAll(selector)]
    .filter(one => getComputedStyle(one).display !== "inline" && one.scrollWidth > one.clientWidth)
    .map(one => `${one.textContent.slice(0, 60)}: ${one.scrollWidth} > ${one.clientWidth}`);
  const high = [...document.querySelectorAll(".stMain .katex-display")].filter(formula => {
    const box = formula.getBoundingClientRect(), base = formula.querySelector(".base").getBoundingClientRect();
    return formula.scrollHeight > formula.clientHeight || base.top < box.top + 3 || base.bottom > box.bottom - 3;
  }).map(formula => `${formula.textContent.slice(0, 60)}: cut above or below`);
  const main = document.querySelector(".stMain");
  const page = main.scrollWidth > main.clientWidth ? [`the page: ${main.scrollWidth} > ${main.clientWidth}`] : [];
  return [...wide, ...high, ...page];
}"""
#: Whether all formulas are typeset and all plots drawn at the current width.
DRAWN = """() => {
  const rows = [...document.querySelectorAll('.stMain [data-testid="stMarkdownContainer"]')];
  return document.fonts.status === "loaded" && !rows.some(row => /\\$\\$|\\\\begin/.test(row.innerText ?? ""))
    && [...document.querySelectorAll(".stMain .js-plotly-plot")].every(plot => plot.querySelector(".main-svg"));
}"""
#: [height of the formulas, height reserved for them] of every derivation, in pixels: other numbers must not move the
#: page below.
KEPT = """() => [...document.querySelectorAll('[class*="derivation"]')].map(room => {
  const [first, last] = [room.firstElementChild, room.lastElementChild].map(one => one.getBoundingClientRect());
  return [last.bottom - first.top, parseFloat(getComputedStyle(room).minHeight)];
})"""
SENTENCE = "Antidisestablishmentarianism+was+too+much+for+the+animal."


def wait_until_uncut(page: Page) -> None:
    settle(page)
    page.wait_for_function(DRAWN)
    wait_until_none(page, CUT, TEXTS)


@pytest.mark.parametrize(
    ("address", "n_formulas"),
    [
        (f"/qkv?text={SENTENCE}&layer=3&head=7&i=2&j=5", 4),
        (f"/layernorm?text={SENTENCE}&at=layers.0.ffn_norm&i=0&norm_part=one", 2),
        (f"/positions?text={SENTENCE}&model=scratch&positions=rotary&i=2&j=5", 1),
        (f"/positions?text={SENTENCE}&model=scratch&positions=sinusoidal", 1),
    ],
)
def test_nothing_is_cut(address: str, n_formulas: int, visit: Callable[..., Page]) -> None:
    page = visit(address, width=1280, height=720)
    page.locator(".stMain .katex-display").nth(n_formulas - 1).wait_for()
    expect(page.locator(".stMain .katex-display")).to_have_count(n_formulas)
    wait_until_uncut(page)
    assert all(needed <= kept for needed, kept in page.evaluate(KEPT))
    page.set_viewport_size({"width": 390, "height": 844})
    wait_until_uncut(page)
