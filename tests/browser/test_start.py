"""The front page as a new visitor meets it, presentation mode, and a long text, each in one visit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import encoder
from encoder.figures.numbers import three_digits
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

    page.locator(".enc-model-names text", has_text="bank").click()  # action 1: what she asks for
    wait_for_query(page, i="5")
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


def test_one_number_from_the_text_to_its_dot_product(visit: Callable[..., Page]) -> None:
    page = visit(f"/?start=1&text={BANK.replace(' ', '+')}&layer=2&head=3&i=5", width=1366, height=768)
    trace = encoder.load("minilm", device="cpu").trace(BANK)
    weights, scores = trace.attention(2, 3)[5], trace.scores(2, 3)[5]
    key = int(weights.argmax())
    page.locator(".enc-model-body").focus()
    page.keyboard.press("Enter")  # the strongest weight of the selected token
    wait_for_query(page, j=str(key))
    opened = page.locator(".enc-model-opened")
    expect(opened.locator("h3")).to_contain_text(three_digits(float(weights[key])))
    expect(opened.locator("li.enc-now em")).to_contain_text(three_digits(float(scores[key])))
    opened.locator(".enc-model-next").click()
    q, k, _ = trace.layer_qkv(2)
    products = (q[3, 5] * k[3, key]).tolist()
    expect(opened.locator(".enc-model-formula")).to_contain_text(three_digits(sum(products)))
    numbers = [float(text.replace("−", "-")) for text in opened.locator("li b").all_text_contents()]
    assert numbers[0] == pytest.approx(max(products, key=abs), rel=0.01)
    assert sum(numbers) == pytest.approx(sum(products), rel=0.02, abs=0.02)
    page.keyboard.press("Escape")
    expect(opened.locator(".enc-model-next")).to_be_visible()
    page.keyboard.press("Escape")
    expect(opened).to_be_hidden()


def test_another_norm_placement_keeps_head_and_token(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1", reduced_motion="reduce")
    answer = page.locator(".stMain p", has_text=re.compile("^In L"))
    before = re.match(r"In (L\d+ H\d+).*?, (\S+) attends", answer.inner_text())
    page.get_by_role("radio", name="Pre-norm", exact=True).click()
    wait_for_query(page, norm="pre")
    expect(page.locator(".enc-model-caption")).to_contain_text("→")
    after = re.match(r"In (L\d+ H\d+).*?, (\S+) attends", answer.inner_text())
    assert before is not None
    assert after is not None
    assert before.groups() == after.groups()


def test_the_story_has_a_sentence_for_each_part(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=one+two+three", reduced_motion="reduce")
    page.get_by_role("button", name="Play the story of this sentence").click()
    caption, said = page.locator(".enc-model-caption"), []
    for step in range(12):
        expect(page.locator(f".enc-model[data-step='{step}']")).to_have_count(1)
        said.append(caption.inner_text())
        page.get_by_role("button", name="One step forward").click()
    assert len(set(said)) == 12
    assert all(len(text.split()) <= 21 for text in said)
    page.locator(".enc-model-heads button").nth(4).click()
    wait_for_query(page, head="4")
    expect(page.locator(".enc-model-heads button[aria-pressed='true']")).to_have_text("H4")


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
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    expect(field).to_be_in_viewport()  # the sentence stays
    page.wait_for_function(f"() => !({TYPE})().length")
    page.keyboard.press("PageDown")
    page.get_by_role("heading", level=1, name="Head types").wait_for()
    settle(page)
    assert query(page)["present"] == "1"
    page.keyboard.press("PageUp")
    page.get_by_role("heading", level=1, name="Attention heads").wait_for()
    settle(page)
    page.keyboard.press("Escape")
    wait_for_query(page, present=None)
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


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
