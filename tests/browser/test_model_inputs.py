"""The model's picture of any input, in a page of its own: images, sounds, deep models, long texts, narrow screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect

import encoder
from encoder.drawing.picture import Picture, page
from encoder.figures.numbers import three_digits
from encoder.inputs import spoken_digits
from encoder.views.model_picture import MOST_TOKENS, model_picture
from tests.conftest import PATIENCE, check_width, collect_complaints, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("pictures of images, sounds and long texts")]

Open = Callable[..., "Page"]
#: That the band of this token is drawn strongly.
IS_LIT = """(token) => ['preview', 'on'].map((state) => document.querySelector(`.enc-model-bands path.enc-${state}`))
  .find(Boolean)?.dataset.token === String(token)"""
#: Elements of the picture that reach beyond the window, by their text.
TOO_WIDE = """() => [...document.querySelectorAll('.enc-model *')].filter((one) => {
  const { left, right, width } = one.getBoundingClientRect();
  return width && !one.closest('svg, .enc-aloud, .enc-tip, .enc-model-opened') && (left < -1 || right > innerWidth + 1);
}).map((one) => one.className || one.tagName)"""


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """`page = shown(picture, width=390)`: the picture in a file, opened without a server; no complaint is allowed."""
    pages, complaints = [], []

    def opened(picture: Picture, width: int = 1280, height: int = 844, touch: bool = False) -> Page:
        file = tmp_path / f"picture-{len(pages)}.html"
        file.write_text(page(picture), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, has_touch=touch)
        context.set_default_timeout(PATIENCE)
        pages.append(context)
        tab = context.new_page()
        collect_complaints(tab, "file:", complaints)
        tab.goto(file.as_uri())
        tab.locator(".enc-drawn").wait_for()
        return tab

    yield opened
    for context in pages:
        context.close()
    assert not complaints, "\n".join(complaints)


def test_an_image_and_its_rows_mark_each_other(shown: Open) -> None:
    model = encoder.load("digits-pre", device="cpu")
    pixels = np.zeros((28, 28), dtype=np.uint8)
    pixels[:14, 4:10] = 255
    trace = model.trace(pixels)
    tab = shown(model_picture(trace, 1, 1, 5, given=pixels, classes=model.probabilities(trace)))
    patch = tab.locator(".enc-model-whole")
    box = patch.bounding_box()
    assert box
    patch.hover(position={"x": box["width"] * 0.99, "y": box["height"] * 0.99})  # the last patch
    tab.wait_for_function(IS_LIT, arg=trace.n_tokens - 1)
    expect(tab.locator(".enc-tip")).to_contain_text(trace.labels[-1])
    before = patch.evaluate("(canvas) => canvas.toDataURL()")
    tab.locator(".enc-model-names text", has_text=trace.labels[7]).hover()
    tab.wait_for_function("(before) => document.querySelector('.enc-model-whole').toDataURL() !== before", arg=before)
    best = max(model.probabilities(trace).items(), key=lambda one: one[1])
    expect(tab.locator(".enc-model-end")).to_contain_text(f"{best[0]}: {three_digits(best[1])}")


def test_a_sound_and_its_rows_mark_each_other(shown: Open) -> None:
    model = encoder.load("spoken-digits", device="cpu")
    sound = next(iter(spoken_digits.examples().values())).sound
    trace = model.trace(sound)
    tab = shown(model_picture(trace, 1, 1, given=sound, classes=model.probabilities(trace)))
    wave = tab.locator(".enc-model-whole")
    box = wave.bounding_box()
    assert box
    wave.hover(position={"x": 2, "y": box["height"] - 3})  # the first moment, the lowest band
    tab.wait_for_function(IS_LIT, arg=2)  # after [CLS] and [DIST]
    assert (
        wave.evaluate("(one) => new Set(one.getContext('2d').getImageData(0, 0, one.width, one.height).data).size") > 9
    )


def test_a_model_of_48_layers_is_drawn_at_both_widths(shown: Open) -> None:
    minilm = encoder.load("minilm", device="cpu")
    config = encoder.EncoderConfig(
        vocab_size=minilm.tokenizer.vocab_size, d_model=64, n_layers=48, n_heads=32, d_ffn=64, max_positions=64
    )
    trace = encoder.build(config, minilm.tokenizer, seed=1).trace("one two three four five six")
    picture = model_picture(trace, 20, 31, 3)
    for width in (1280, 390):
        tab = shown(picture, width)
        expect(tab.locator(".enc-model-slice")).to_have_count(48)
        expect(tab.locator(".enc-model-heads button")).to_have_count(32)
        numbers = tab.locator(".enc-model-slice text").all_text_contents()
        assert len(numbers) >= 10
        assert len(numbers) == len(set(numbers))
        assert tab.evaluate(TOO_WIDE) == []


def test_a_file_shows_the_weight_of_another_token_with_its_strongest_key(shown: Open) -> None:
    trace = encoder.load("minilm", device="cpu").trace("The keys to the cabinet")
    tab = shown(model_picture(trace, 2, 3, 1))
    tab.locator(".enc-model-chips button[data-key=softmax]").click()
    names = tab.locator(".enc-model-names text")
    names.nth(4).click()
    key = int(trace.attention(2, 3)[4].argmax())
    title = tab.locator(".enc-model-opened h2")
    expect(title).to_contain_text(f"“{trace.labels[4]}” attend to “{trace.labels[key]}”")
    expect(tab.locator(".enc-model-opened")).not_to_contain_text("undefined")


def test_a_long_text_has_a_strip_and_a_window_that_pans(visit: Open) -> None:
    text = " ".join(f"word{number}" for number in range(100))
    trace = encoder.load("minilm", device="cpu").trace(text)
    assert trace.n_tokens > 2 * MOST_TOKENS
    tab = visit(f"/?start=1&text={text.replace(' ', '+')}&layer=2&head=3&i=5", width=1280, height=844)
    strip = tab.locator(".enc-model-window")
    names = tab.locator(".enc-model-names text")
    expect(names).to_have_count(MOST_TOKENS)
    strip.focus()
    tab.keyboard.press("End")
    tab.emulate_media(color_scheme="dark")  # the picture is updated before the server hears of the window
    wait_for_query(tab, **{"from": str(trace.n_tokens - MOST_TOKENS)})
    expect(names.last).to_contain_text("[SEP]")
    expect(strip).to_have_attribute("aria-valuenow", str(trace.n_tokens - MOST_TOKENS))
    names.nth(4).click()  # a token of this window becomes the query, and the window stays
    wait_for_query(tab, i=str(trace.n_tokens - MOST_TOKENS + 4), **{"from": str(trace.n_tokens - MOST_TOKENS)})
    box = strip.bounding_box()
    assert box
    tab.mouse.move(box["x"] + box["width"] - 20, box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 1, box["y"] + 20, steps=4)
    tab.mouse.up()
    wait_for_query(tab, **{"from": "0"})
    expect(names.first).to_contain_text("[CLS]")
    expect(tab.locator(".enc-model-legend")).to_contain_text(str(trace.n_tokens))
    tab.set_viewport_size({"width": 390, "height": 844})  # fewer tokens have room than the server sends
    tab.locator(".enc-model-turned").wait_for()
    strip.focus()
    tab.keyboard.press("End")
    expect(names.last).to_contain_text("[SEP]")


@pytest.mark.parametrize("width", [390, 640])  # a phone; a small window, magnified to 200%
def test_a_narrow_screen_runs_from_top_to_bottom_and_takes_touch(shown: Open, width: int) -> None:
    trace = encoder.load("minilm", device="cpu").trace("The keys to the cabinet are on the table. " * 4)
    tab = shown(model_picture(trace, 2, 3, 30), width, 844, touch=True)
    assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(TOO_WIDE) == []
    places = [chip.bounding_box() for chip in tab.locator(".enc-model-chips button").all()]
    boxes = [place for place in places if place]
    assert len(boxes) == len(places)
    for one in boxes:  # no button hides another
        others = [other for other in boxes if other is not one]
        middle = one["x"] + one["width"] / 2, one["y"] + one["height"] / 2
        assert not any(
            other["x"] < middle[0] < other["x"] + other["width"]
            and other["y"] < middle[1] < other["y"] + other["height"]
            for other in others
        )
    names = tab.locator(".enc-model-names text")
    expect(names).to_have_count(24)
    names.nth(3).tap()
    expect(names.nth(3)).to_have_class("enc-on")
    tab.locator(".enc-model-chips button[data-key=q]").tap()
    expect(tab.locator(".enc-model-opened h2")).to_be_visible()
    tab.locator(".enc-model-opened header button").last.tap()
    expect(tab.locator(".enc-model-opened")).to_be_hidden()
    tab.locator(".enc-model-window").focus()
    tab.keyboard.press("Home")  # further tokens of the same window need no host
    expect(names.first).to_contain_text("[CLS]")


def test_the_page_has_no_sideways_scroll_on_a_phone(visit: Open) -> None:
    tab = visit("/?start=1&model=digit-words&tower=image&text=a+three", width=390, height=844)
    tab.locator(".enc-model-turned").wait_for()
    settle(tab)
    check_width(tab)
    assert tab.evaluate(TOO_WIDE) == []
    expect(tab.locator(".enc-model-end")).to_contain_text("cosine")
