"""The bar above every page in Chromium: its groups, by mouse, by keys and by touch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
import yaml
from playwright.sync_api import expect

from tests.conftest import ROOT, go, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

#: How many steps of the Tab key lead from the beginning of the document into the page's own part.
TABS_TO_PAGE = """() => document.activeElement?.closest('.stMain') && !document.activeElement.closest('.enc-pages')"""


def bar(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Pages")


def test_pages_are_opened_by_mouse_in_the_bar_and_outside_it(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two+three")
    one_row_of_groups_opens_their_pages_by_mouse(page)
    pages_outside_the_bar_are_one_click_or_a_search_away(page)


def one_row_of_groups_opens_their_pages_by_mouse(page: Page) -> None:
    groups = page.locator("#enc-groups > li")
    assert 1 <= groups.count() <= 7
    tops = {round(groups.nth(number).bounding_box()["y"]) for number in range(groups.count())}
    assert len(tops) == 1
    assert len(groups.all_inner_texts()) <= 7
    assert page.locator("#enc-groups li > a").count() == 12  # the pages; a page's entry names its parts
    assert page.locator("#enc-groups .enc-parts a").all_text_contents() == ["Norms", "Classroom", "By hand"]
    assert bar(page).get_by_role("link", name="Positions").count() == 0  # closed
    bar(page).get_by_role("button", name="Layer", exact=True).click()
    bar(page).get_by_role("link", name="Positions").click()
    page.get_by_role("heading", name="Positions", level=1).wait_for()
    wait_for_query(page, text="one two three")
    assert bar(page).get_by_role("link", name="Positions").count() == 0  # closed again
    assert page.locator("#enc-groups [aria-current=page]").count() == 1
    opener = bar(page).get_by_role("button", name="Layer")
    assert "open page" in opener.inner_text()
    # With one group open, a click on the next one's name opens that; a second click closes it.
    for name, opened in (("Attention", 1), ("Layer", 1), ("Learn", 1), ("Learn", 0)):
        bar(page).get_by_role("button", name=name).click()
        expect(page.locator("#enc-groups > li > button[aria-expanded=true]")).to_have_count(opened)
        if opened:
            expect(bar(page).get_by_role("button", name=name)).to_have_attribute("aria-expanded", "true")
    # A click elsewhere closes an open group.
    opener.click()
    bar(page).get_by_role("link", name="Positions").wait_for()
    page.locator(".stMain h1").click()
    bar(page).get_by_role("link", name="Positions").wait_for(state="detached")


def pages_outside_the_bar_are_one_click_or_a_search_away(page: Page) -> None:
    page.locator(".enc-tools").get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", level=1).wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name=re.compile("Search")).fill("by hand")
    page.get_by_role("option").filter(has_text="Page").first.click()
    page.get_by_role("heading", name="By hand", level=1).wait_for()
    bar(page).get_by_role("button", name="Learn").click()
    bar(page).get_by_role("link", name="Lessons").click()
    page.locator(".stMain").get_by_role("radio", name="By hand").click()  # the parts of Learn
    page.get_by_role("heading", name="By hand", level=1).wait_for()


def the_bar_by_keys(page: Page) -> None:
    bar(page).get_by_role("button", name="Attention").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaExpanded") == "true"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.ariaExpanded") == "false"
    page.keyboard.press("ArrowDown")  # opens the group; the next one enters it
    assert page.evaluate("document.activeElement.matches('#enc-groups ul a')")
    page.keyboard.press("ArrowDown")
    name = page.evaluate("document.activeElement.querySelector('b').textContent")
    page.keyboard.press("Enter")
    page.locator(f"#enc-groups [aria-current=page] b:text-is('{name}')").wait_for(state="attached")


#: Every place that the title of the page Classroom has had, in a window whose bar opens it.
PLACES = """() => {
  window.places = [];
  const look = () => {
    const title = document.querySelector(".stMain h1");
    const box = title?.getBoundingClientRect();
    const place = title?.textContent.includes("Classroom") ? `${Math.round(box.left)}, ${Math.round(box.top)}` : null;
    if (place && places.at(-1) !== place) places.push(place);
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.mark.slow("another way into the same bar")
def test_the_bar_by_keys_and_the_place_of_a_title_that_it_opens(visit: Callable[..., Page]) -> None:
    page = visit("/positions")
    the_title_of_the_classroom_keeps_its_place(page)
    the_bar_by_keys(page)


def the_title_of_the_classroom_keeps_its_place(page: Page) -> None:
    page.evaluate(PLACES)
    bar(page).get_by_role("button", name="Learn").click()
    bar(page).get_by_role("link", name="Classroom").click()
    page.wait_for_function("() => window.places.length")
    settle(page)
    assert len(page.evaluate("() => window.places")) == 1


@pytest.mark.slow("other keys of the bar, and its previews")
def test_keys_names_and_previews_of_one_page(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two+three&layer=0")
    few_steps_lead_from_the_link_to_the_page_into_it(page)
    names_are_spoken_without_marks(page)
    a_preview_does_not_cover_the_grid_after_a_click(page)


def few_steps_lead_from_the_link_to_the_page_into_it(page: Page) -> None:
    page.keyboard.press("Tab")
    assert "Skip" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate(TABS_TO_PAGE):
            break
    else:
        raise AssertionError("four steps and still in the bar")


@pytest.mark.slow("the same bar on a phone")
def test_the_bar_of_a_phone(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two", width=390, height=844, has_touch=True, is_mobile=True)
    bar(page).get_by_role("button", name="Pages").tap()
    bar(page).get_by_role("button", name="Layer", exact=True).tap()
    link = bar(page).get_by_role("link", name="Positions")
    link.wait_for()
    box = link.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["height"] >= 40
    link.tap()
    page.get_by_role("heading", name="Positions", level=1).wait_for()
    wait_for_query(page, text="one two")
    settle(page)
    assert bar(page).get_by_role("link", name="Positions").count() == 0


def test_the_search_opens_pages_heads_and_terms(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two+three")
    field = page.get_by_role("combobox", name=re.compile("Search"))
    page.locator(".enc-find").wait_for(state="attached")  # its script listens to the keys
    page.keyboard.press("Control+k")
    field.fill("positi")
    options = page.get_by_role("listbox", name="Results").get_by_role("option")
    first = options.first
    assert first.get_attribute("aria-selected") == "true"
    assert field.get_attribute("aria-activedescendant") == first.get_attribute("id")
    page.keyboard.press("ArrowDown")
    assert first.get_attribute("aria-selected") == "false"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Positions", level=1).wait_for()
    wait_for_query(page, text="one two three")
    page.keyboard.press("Control+k")
    field.fill("L2 H5")
    page.keyboard.press("Enter")
    wait_for_query(page, layer="2", head="5", text="one two three")
    page.get_by_role("heading", name="L2 H5", exact=True).wait_for()
    page.get_by_role("button", name=re.compile("^Search")).click()
    field.fill("no such thing xyz")
    page.get_by_role("status").filter(has_text="Nothing fits").wait_for()
    assert options.count() == 0
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def ask(page: Page, question: str) -> None:
    """Type a question in the search, and wait until its answer is there."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name=re.compile("Search")).fill(question)
    page.locator(".enc-find li mark").first.wait_for()


def test_a_question_is_answered_by_its_meaning_and_opens_the_control(visit: Callable[..., Page]) -> None:
    page = visit("/positions?text=one+two+three")
    page.locator(".enc-find").wait_for(state="attached")
    ask(page, "why are two texts similar")
    first = page.get_by_role("option").first
    assert "Why two texts are similar" in first.inner_text()
    assert {one.strip().lower() for one in first.locator("mark").all_inner_texts()} & {"two", "texts", "similar"}
    first.click()
    page.get_by_role("heading", name="Texts", level=1).wait_for()

    go(page, "/positions?text=one+two+three")
    ask(page, "send this to a friend")  # the page stays, and its closed part opens
    page.get_by_role("option").filter(has_text="Copy a link to this view").click()
    page.locator("details[open]").filter(has_text="Export and share").wait_for()

    ask(page, "own model")  # the page stays, and its new field has the cursor
    page.get_by_role("option").filter(has_text="Open your own model").click()
    wait_for_query(page, model="other")
    page.wait_for_function("() => document.activeElement.placeholder?.includes('Hub id')")
    page.get_by_role("heading", name="Positions", level=1).wait_for()


#: The keys of controls that the open page does not show.
ABSENT = """keys => keys.filter((key) => {
  const box = document.querySelector(key === "menu" ? "[data-testid=stMainMenu]" : `.st-key-${CSS.escape(key)}`);
  return !box?.getClientRects().length;
})"""


@pytest.mark.slow("opens each place that has a control of the search")
def test_every_control_that_the_search_opens_is_on_its_page(visit: Callable[..., Page]) -> None:
    how_to = yaml.safe_load((ROOT / "pages/core/frame/how_to.yml").read_text(encoding="utf-8"))
    places: dict[str, list[str]] = {}
    for one in how_to:
        if "control" in one:
            folder = one.get("page", "heads").removeprefix("model")  # which opens at "/"
            address = f"/{folder}?{urlencode(one.get('values', {}))}"
            places.setdefault(address, []).append(one["control"])
    absent = {}
    page = visit("/heads?text=one+two")
    for address, keys in places.items():
        go(page, address)
        settle(page)
        absent[address] = page.evaluate(ABSENT, keys)
    assert not any(absent.values()), absent


@pytest.mark.slow("the same search by touch")
def test_the_search_by_touch(visit: Callable[..., Page]) -> None:
    page = visit("/heads?text=one+two", width=390, height=844, has_touch=True, is_mobile=True)
    page.get_by_role("button", name=re.compile("^Search")).tap()
    page.get_by_role("combobox", name=re.compile("Search")).fill("sink")
    page.get_by_role("option").filter(has_text="Term").first.tap()
    wait_for_query(page, term="sink")


def a_preview_does_not_cover_the_grid_after_a_click(page: Page) -> None:
    grid = page.locator('canvas[aria-roledescription="grid of attention maps"]')
    grid.hover(position={"x": 60, "y": 60})
    page.locator(".enc-tip:popover-open").wait_for()
    grid.click(position={"x": 60, "y": 60})
    page.mouse.move(*(sum(pair) for pair in zip(box_corner(grid), (62, 62), strict=True)))
    page.wait_for_timeout(400)
    assert page.locator(".enc-tip:popover-open").count() == 0


def box_corner(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    return box["x"], box["y"]


def names_are_spoken_without_marks(page: Page) -> None:
    page.get_by_role("switch", name="Hide [CLS] and [SEP]").or_(
        page.get_by_role("checkbox", name="Hide [CLS] and [SEP]")
    ).wait_for()
    assert page.locator('.stMain [aria-label*="\\\\["]').count() == 0
