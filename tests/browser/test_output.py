"""A model with a decoder in Chromium: from a typed date to the word that gives a digit of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_every_page import are_well
from tests.conftest import check_width, wait_for_query
from tests.load import decoders, reference

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("writes models that have decoders, and generates")]


def test_from_a_word_of_the_input_to_a_digit_of_the_output(visit: Callable[..., Page]) -> None:
    page = visit("/heads?model=dates-pre&layer=1&head=2&text=5+May+2001")
    page.get_by_role("radio", name="Cross-attention").click()
    wait_for_query(page, stack="cross")
    page.get_by_role("radio", name="9 · ##5").click()  # the day's second digit
    wait_for_query(page, output_token="9")
    page.get_by_text("To write ##5").wait_for()
    page.get_by_label("Output", exact=True).fill("2001-05-06")
    page.keyboard.press("Enter")
    page.get_by_text("To write ##6").wait_for()
    for key in ("cross-map", "cross-heads"):  # without scrolling
        expect(page.locator(f".st-key-{key} .js-plotly-plot")).to_be_in_viewport(ratio=0.9)
    page.get_by_text("Beam search").click()
    best = page.locator(".enc-beam-best")
    best.last.focus()
    detail = page.locator(".enc-beams-detail")
    expect(detail).to_contain_text("2001-05-05")  # its own output
    page.keyboard.press("ArrowLeft")
    expect(best.nth(-2)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".enc-beam:focus")).to_have_count(1)
    expect(detail).to_contain_text("log probability")
    are_well(page)
    page.set_viewport_size({"width": 390, "height": 844})
    check_width(page)


def test_a_vector_and_a_head_are_changed(visit: Callable[..., Page]) -> None:
    page = visit("/interventions?model=dates-pre&intervention=context&text=5+May+2001")
    page.get_by_text("Select an input token").wait_for()
    page.locator(".st-key-context-heads .js-plotly-plot .nsewdrag").click()
    page.get_by_text("The model now writes").wait_for()
    are_well(page)


def test_the_words_of_a_sound_over_its_spectrogram(visit: Callable[..., Page], tmp_path: Path) -> None:
    case = decoders.CASES["whisper"]
    decoders.made(case).save_pretrained(tmp_path)
    reference.write_tokenizer(tmp_path, "bert")
    page = visit(f"/heads?model=other&source={tmp_path}&sound=two&stack=cross&output=w7+w8")
    page.get_by_role("radio", name="w8").click()
    wait_for_query(page, output_token="1")
    page.get_by_text("To write w8").click()  # the focus leaves the word
    expect(page.locator(".st-key-sound-picture .js-plotly-plot")).to_be_in_viewport(ratio=0.9)
    are_well(page)
    page.set_viewport_size({"width": 390, "height": 844})
    check_width(page)
