"""The pages under “Pre- vs post-norm”, and masked words, in a real Chromium."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import go, open_page, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

#: Patience for a busy machine; nothing here is a claim about speed.
PATIENCE = 120_000
LONG = "/training?length=5&symbols=4&train_width=8&train_layers=12&steps=3000&train_norm=post"


def step_of(page: Page) -> int:
    """The step that the progress bar says."""
    said = page.get_by_text(re.compile(r"step [\d,]+ of 3,000")).first.inner_text(timeout=PATIENCE)
    found = re.search(r"step ([\d,]+) of", said)
    assert found is not None
    return int(found[1].replace(",", ""))


def button(page: Page, name: str):
    return page.locator(".stMain").get_by_role("button", name=name, exact=True)  # the header has a Stop of its own


@pytest.mark.slow("trains a model")
def test_training_stops_continues_and_ends_with_the_page_while_a_word_is_hidden(visit: Callable[..., Page]) -> None:
    page = visit(LONG, width=1366, height=768)
    drawn = page.locator(".enc-chart, .enc-map")
    expect(drawn).to_have_count(4, timeout=PATIENCE)  # recorded: two curves, two maps
    button(page, "Train").click()
    page.get_by_text(re.compile(r"training, step [1-9][\d,]* of 3,000")).wait_for(timeout=PATIENCE)
    # Two curves and a map in one screen, with the button that stops the run; they change without a run of the page.
    expect(drawn).to_have_count(3)
    boxes = [one.bounding_box() for one in (button(page, "Stop"), *drawn.all())]
    assert all(box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 768 for box in boxes), boxes
    before = drawn.first.evaluate("canvas => canvas.toDataURL()")
    page.wait_for_function("before => document.querySelector('.enc-chart').toDataURL() !== before", arg=before)
    button(page, "Stop").click()
    button(page, "Continue").wait_for(timeout=PATIENCE)
    settle(page)
    stopped_at = step_of(page)
    assert 0 < stopped_at < 3000
    page.reload()  # the link names the run
    settle(page)
    button(page, "Continue").wait_for(timeout=PATIENCE)
    assert step_of(page) == stopped_at
    page.get_by_label("Step of the maps").press("Home")
    expect(page.get_by_label("Step of the maps")).to_have_attribute("aria-valuetext", "step 0")
    button(page, "Continue").click()
    expect(page.get_by_text(re.compile(rf"training, step (?!{stopped_at:,} )[\d,]+ of 3,000"))).to_be_visible(
        timeout=PATIENCE
    )
    open_page(page, "Heads")
    page.get_by_role("heading", name="Heads").wait_for(timeout=PATIENCE)
    left = time.monotonic()
    hide_a_word(visit)
    rest = 12_000 - 1000 * (time.monotonic() - left)  # longer than the heartbeat: a run that nobody polls ends
    page.wait_for_timeout(max(0, rest))
    open_page(page, "Train")
    page.locator(".stMain .stAlert", has_text="stopped").wait_for(timeout=PATIENCE)
    assert stopped_at < step_of(page) < 3000
    expect(button(page, "Stop")).to_have_count(0)


def test_the_page_opens_a_head_in_both(visit: Callable[..., Page]) -> None:
    page = visit("/?model=scratch&layers=2&heads=2&width=16&ffn=16&text=one+two+three")
    open_page(page, "Pre/post-norm")
    page.get_by_role("heading", name="Pre/post-norm").wait_for(timeout=PATIENCE)
    page.wait_for_url(re.compile(r"/pre_post\?"))
    settle(page)
    page.get_by_role("heading", name="L0 H1 in both").or_(page.get_by_role("heading", name="L0 H0 in both")).wait_for()
    maps = page.locator('[aria-roledescription="heat map"]')
    expect(maps).to_have_count(3, timeout=PATIENCE)
    grid = page.locator("canvas").first
    box = grid.bounding_box()
    assert box is not None
    grid.click(position={"x": box["width"] * 0.75, "y": box["height"] * 0.7})
    page.get_by_role("heading", name="L1 H1 in both").wait_for(timeout=PATIENCE)


def hide_a_word(visit: Callable[..., Page]) -> None:
    """Another visitor hides a word by a click."""
    page = visit("/predict?model=twin-pre&text=The+cat+sat+on+the+mat.")
    page.get_by_role("radio", name="mat", exact=True).click(timeout=PATIENCE)
    page.get_by_text(re.compile(r"Your “mat”: .*\(rank [0-9]")).wait_for(timeout=PATIENCE)
    expect(page.locator(".enc-plot")).to_have_count(2, timeout=PATIENCE)


#: Counts the old pictures that plots and grids lay over their new ones.
COUNT_FADES = """() => {
  window.fades = 0;
  window.counter?.disconnect();
  window.counter = new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach((node) => {
    if (!node.classList?.contains("enc-fading")) return;
    window.fades += 1;
    window.buttons = (window.buttons ?? 0) + node.querySelectorAll(".modebar-btn").length;
  })));
  window.counter.observe(document.body, {childList: true, subtree: true});
}"""


@pytest.mark.slow("watches every frame while a map fades")
def test_a_switch_of_the_placement_fades_the_old_map(visit: Callable[..., Page]) -> None:
    page = visit("/pre_post?model=twin-pre&layer=1&head=1&text=the+cat+sat+on+the+mat")
    page.locator('[data-testid="stImage"] img').first.wait_for(state="attached")
    assert all(page.evaluate("() => [...document.querySelectorAll('.stMain img')].map((one) => one.naturalWidth > 0)"))
    go(page, "/heads?text=the+cat+sat+on+the+mat")
    for motion, placement, norm, fades in (("no-preference", "Pre", "pre", 1), ("reduce", "Post", None, 0)):
        page.emulate_media(reduced_motion=motion)
        page.evaluate(COUNT_FADES)
        page.get_by_role("radio", name=f"{placement}-norm", exact=True).click()
        wait_for_query(page, norm=norm)
        settle(page)
        page.wait_for_function("fades => window.fades === fades", arg=2 * fades)  # the grid and the map
        assert page.evaluate("() => window.buttons ?? 0") == 0
