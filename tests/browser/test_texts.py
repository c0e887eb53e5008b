"""Texts in a real Chromium: each question about a score is answered by a click, on a wide screen and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import check_width, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

QUERY = "an+animal+that+naps"
ROOMS = "+".join(f"The+{word}+is+in+room+{at}." for at, word in enumerate(("kettle", "lamp", "chair", "door", "rug")))


def part(page: Page, name: str) -> None:
    """Open a part of the explanation."""
    page.get_by_role("radio", name=name, exact=True).click()
    settle(page)


def test_a_text_of_the_ranking_is_placed_and_its_words_are_shaded(visit: Callable[..., Page]) -> None:
    page = visit(f"/texts?query={QUERY}", width=1366, height=768)
    rows = page.locator(".st-key-texts-list").get_by_role("button")
    rows.first.wait_for()
    expect(page.get_by_text(re.compile("120 pairs of the example texts"))).to_be_visible()
    shaded = page.locator(".enc-shaded span[title]")
    expect(shaded.first).to_be_visible()
    shaded.first.click()
    shown = shaded.first.evaluate("word => getComputedStyle(word, '::after').content")
    assert shown.strip('"') == shaded.first.get_attribute("data-said"), "a click says the word's number"
    rows.nth(2).click()
    page.wait_for_function("() => new URL(location).searchParams.has('text_place')")
    expect(page.get_by_text(re.compile("rank 3 of "))).to_be_visible()
    check_width(page)


def test_after_back_the_field_of_texts_is_as_it_was(visit: Callable[..., Page]) -> None:
    page = visit("/texts", width=1366, height=768)
    query = page.locator(".st-key-texts-search input").first
    query.fill("a storm in spring")
    query.press("Enter")
    wait_for_query(page, query="a storm in spring")
    settle(page)
    page.go_back()
    page.wait_for_function("() => !new URL(location).searchParams.has('query')")
    settle(page)
    page.get_by_role("button", name="Your texts").click()
    expect(page.locator("textarea").first).to_have_value(re.compile("\\n"))


def test_pairs_and_components_state_the_sum_that_they_have(visit: Callable[..., Page]) -> None:
    page = visit(f"/texts?query={QUERY}&explain=pairs", width=1366, height=768, dark=True)
    expect(page.get_by_text(re.compile("^Sum of all cells: "))).to_be_visible()
    part(page, "Circuit")
    wait_for_query(page, explain="circuit")
    expect(page.get_by_text(re.compile("^Sum of all shares: "))).to_be_visible()
    page.locator(".st-key-texts-heads").get_by_role("button").first.click()
    page.wait_for_url(re.compile("/heads"))


@pytest.mark.slow("another part of the same page")
def test_two_hits_a_miss_all_hits_and_the_map(visit: Callable[..., Page]) -> None:
    page = visit(f"/texts?query={QUERY}&explain=two", width=1366, height=768)
    expect(page.get_by_text(re.compile("^The selected text gains most by "))).to_be_visible()
    part(page, "Why not found?")
    expect(page.get_by_text("What would move it")).to_be_visible()
    part(page, "All hits")
    expect(page.get_by_text(re.compile("^Each hit with up to three words"))).to_be_visible()
    page.get_by_text("Words that pull all texts together").click()
    part(page, "Map")
    page.locator(".scatterlayer .trace path.point").first.wait_for()


@pytest.mark.slow("another part of the same page")
def test_places_of_a_long_text_on_a_phone(visit: Callable[..., Page]) -> None:
    page = visit(f"/texts?query={QUERY}&explain=long&similar_to={ROOMS}", width=390, height=844, dark=True)
    expect(page.get_by_text(re.compile("^Position Sensitivity Index: "))).to_be_visible()
    check_width(page)


def test_on_a_phone_the_words_of_the_first_hit_are_on_the_first_screen(visit: Callable[..., Page]) -> None:
    page = visit(f"/texts?query={QUERY}", width=390, height=844)
    texts = page.locator(".enc-shaded")
    texts.wait_for()
    settle(page)
    box = texts.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 844
    check_width(page)


@pytest.mark.slow("another part of the same page")
def test_an_address_of_the_former_page_opens_it(visit: Callable[..., Page]) -> None:
    page = visit("/similarity?text=The+cat+sat&similar_to=A+kitten+rested&path_steps=8")
    page.wait_for_url(re.compile("/texts"))
    expect(page.locator(".enc-shaded").first).to_contain_text("The cat sat")


@pytest.mark.slow("another part of the same page")
@pytest.mark.parametrize("model", ["digits-post", "digit-words&tower=image", "spoken-words&tower=sound"])
def test_an_image_or_a_sound_has_its_captions_or_its_like_ranked(visit: Callable[..., Page], model: str) -> None:
    page = visit(f"/texts?model={model}", width=1366, height=768)
    rows = page.locator(".st-key-texts-list").get_by_role("button")
    expect(rows.first).to_be_visible()
    expect(page.get_by_text(re.compile("^Without “.*” of the .*, the cosine (falls|rises) by "))).to_be_visible()
    rows.nth(1).click()
    page.wait_for_function("() => new URL(location).searchParams.has('text_place')")
    part(page, "Pairs")
    expect(page.get_by_text(re.compile("^Sum of all cells: "))).to_be_visible()
    part(page, "Circuit")
    page.locator(".st-key-texts-heads").get_by_role("button").first.click()
    page.wait_for_url(re.compile("/heads"))
    check_width(page)
