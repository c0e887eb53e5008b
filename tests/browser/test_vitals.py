"""The script that reads a page's web vitals for the benchmark, on a small page whose shift and click are known."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from benchmarks import vitals

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

#: A box of 100 x 100 pixels moves down by 100 in a window of 1000 x 1000; a click then takes more than 100 ms.
PAGE = """<!doctype html><body style="margin:0">
<div id="space"></div><p id="box" style="margin:0;width:100px;height:100px;background:red">A box</p>
<script>
  setTimeout(() => { document.getElementById("space").style.height = "100px"; }, 300);
  document.getElementById("box").addEventListener("click", () => {
    const began = performance.now();
    while (performance.now() - began < 100);
  });
</script>"""


def test_paint_shift_and_clicks_are_read(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 1000})
    context.add_init_script(vitals.OBSERVE)
    page = context.new_page()
    page.goto(f"data:text/html,{quote(PAGE)}")
    page.wait_for_function("vitals.paint > 0 && vitals.shift > 0")
    # Share of the window that moving covers (100 x 200) times the share that it moves by (100 of 1000).
    assert page.evaluate("vitals.shift") == pytest.approx(0.02 * 0.1)
    page.locator("#box").click()
    page.wait_for_function("Object.values(vitals.clicks).some(duration => duration >= 100)")
    context.close()
