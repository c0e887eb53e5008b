"""The second river of the model's picture in Chromium: from a word of the input to a digit of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import encoder
from encoder.causal.cross import score_cross
from encoder.figures.numbers import three_digits
from encoder.measure import dates
from tests.browser.test_every_page import ALL, are_well, violations, wait_until_uncut
from tests.conftest import query, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("pictures of models that have decoders")]

DATE = "the twenty-first of March 1998"
#: Place in the output of the second digit of the month.
MONTH = 6
OUTPUTS = ".enc-model-second .enc-model-end [data-name]"


def test_a_digit_of_the_output_leads_to_its_word_of_the_input(visit: Callable[..., Page]) -> None:
    model = encoder.load("dates-pre", device="cpu")
    trace = model.generate(model.trace(DATE)).trace
    known = dates.answer(trace.source)
    assert known is not None
    layer, head = score_cross(model, trace, known.pairs).attention.best
    row = trace.cross_attention(layer, head)[MONTH]
    word, weight = trace.labels[int(row.argmax())], three_digits(float(row.max()))
    assert word == "march"

    page = visit(
        f"/?start=1&model=dates-pre&layer={layer}&head={head}&text={DATE.replace(' ', '+')}", width=1280, height=1100
    )
    expect(page.locator(OUTPUTS)).to_have_count(len(trace.decoder.next_ids))
    page.locator(OUTPUTS).nth(MONTH).click()
    wait_for_query(page, output_token=str(MONTH))
    expect(page.locator(".enc-model-strongest text")).to_have_text(f"{word} {weight}")
    expect(page.locator(".enc-model-names .enc-model-source")).to_contain_text(word)
    expect(page.locator(".enc-model-next li")).to_have_count(6)  # a title and five tokens
    line = page.locator(f'.enc-model-crossing path.enc-on[data-source="{int(row.argmax())}"]')
    line.dispatch_event("click")
    wait_for_query(page, step="cross", output_from=str(int(row.argmax())))
    opened = page.locator(".enc-model-opened:visible")
    expect(opened.locator("h2")).to_contain_text(weight)
    expect(opened.locator("li.enc-now b")).to_have_text(weight)
    are_well(page)

    page.keyboard.press("Escape")
    second = page.locator(".enc-model-second .enc-model-body")
    expect(second).to_be_focused()
    page.keyboard.press("ArrowDown")
    wait_for_query(page, output_token=str(MONTH + 1))
    expect(page.locator(".enc-model-second .enc-aloud")).to_contain_text("L")
    page.locator(".enc-model-place").first.locator('[data-layer="0"]').click()  # a layer of the encoder
    wait_for_query(page, side="encoder", layer="0")
    expect(page.locator(".enc-model-second .enc-model-lines:not(.enc-model-crossing)")).to_have_count(0)


def test_the_output_appears_token_by_token_on_a_phone(visit: Callable[..., Page]) -> None:
    page = visit(f"/?start=1&model=dates-post&text={DATE.replace(' ', '+')}", width=390, height=844)
    expect(page.locator(OUTPUTS)).to_have_count(11)
    scrubber = page.get_by_role("slider", name="Step of the story")
    scrubber.evaluate("one => { one.value = '14'; one.dispatchEvent(new Event('input')); }")
    expect(page.locator(OUTPUTS + ":not(.enc-model-later)")).to_have_count(2)
    page.get_by_role("button", name="One step forward").click()
    expect(page.locator(OUTPUTS + ":not(.enc-model-later)")).to_have_count(3)
    page.get_by_role("button", name="Output: play it token by token").click()
    expect(page.locator(OUTPUTS + ":not(.enc-model-later)")).to_have_count(1)
    page.get_by_role("button", name="Play the story").click()  # the end
    first, other = (page.locator(".enc-model-place").nth(at).bounding_box() for at in (0, 1))
    assert first is not None
    assert other is not None
    assert other["y"] >= first["y"] + first["height"]  # one below the other
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wait_until_uncut(page, "phone")
    assert violations(page, {"type": "tag", "values": ALL}) == []
    assert "output_token" not in query(page)


def test_the_last_norm_has_room_on_a_phone(visit: Callable[..., Page]) -> None:
    page = visit(f"/?start=1&model=dates-pre&text={DATE.replace(' ', '+')}", width=390, height=844)
    expect(page.locator(OUTPUTS)).to_have_count(11)
    column = page.locator(".enc-model-second .enc-model-bands path").first.bounding_box()
    last = page.locator(".enc-model-second [data-key=final]").bounding_box()
    following = page.locator(".enc-model-second [data-key=next]").bounding_box()
    assert column is not None
    assert last is not None
    assert following is not None
    assert last["x"] + last["width"] <= column["x"]
    assert last["y"] + last["height"] <= following["y"]
