"""The front page as a new visitor meets it, presentation mode, and a long text, each in one visit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import encoder
from encoder import causal
from encoder.edits import AblateHead
from encoder.figures.numbers import three_digits
from encoder.views.model_parts import PARTS
from tests.conftest import go, open_page, query, settle, wait_for_query

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
    const hidden = '.enc-aloud, .enc-tip, math, .katex, .katex-mathml, [data-testid="stIconMaterial"], style, script';
    if (!text || element.closest(hidden) || !element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 1 && box.height > 1) found.push([parseFloat(getComputedStyle(element).fontSize), text]);
  }
  return found.sort((a, b) => a[0] - b[0]).filter(([size]) => size < 20);
}"""


def test_a_new_visitor_finds_an_answer_its_numbers_and_a_training_run(visit: Callable[..., Page]) -> None:
    page = visit("/", width=1366, height=768)
    expect(page).to_have_title(re.compile("^Model"))
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(BANK)
    field.press("Enter")
    wait_for_query(page, text=BANK)

    page.locator(".enc-model-names text", has_text="bank").click()  # action 1: what she asks for
    wait_for_query(page, i="5")
    answer = page.locator(".stMain p", has_text=re.compile(r"bank.* attends to .+: \d"))
    expect(answer).to_be_in_viewport()
    page.get_by_role("button", name="How scores become weights").click()  # 1 more: the numbers
    expect(page.locator(".enc-model-opened h2")).to_contain_text("bank")
    wait_for_query(page, step="softmax")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pre-norm", exact=True).click()  # 1: the other norm placement
    wait_for_query(page, norm="pre")
    assert query(page)["i"] == "5"
    assert query(page)["text"] == BANK

    open_page(page, "Train")  # 1
    page.get_by_role("heading", level=1).wait_for()
    settle(page)
    page.locator(".stMain").get_by_role("button", name="Train", exact=True).click()  # 2
    page.get_by_text(re.compile(r"step [\d,]+ of")).first.wait_for()
    page.locator(".stMain").get_by_role("button", name="Stop", exact=True).click()


#: Whether the first element of one kind inside another is in its visible part.
INSIDE = """([outer, inner]) => {
  const frame = document.querySelector(outer), box = frame.querySelector(inner).getBoundingClientRect();
  const { top, bottom } = frame.getBoundingClientRect();
  return box.top >= top - 1 && box.bottom <= bottom + 1 && box.bottom <= innerHeight;
}"""


def number(text: str) -> float:
    """A number as the picture writes it."""
    return float(text.replace("−", "-"))


def strip_number(page: Page, name: str) -> tuple[int, float]:
    """(component, number) of a vector of the open part; a number of -1 before the selected component is known."""
    opened = page.locator(".enc-model-opened")
    component = re.search(r"component (\d+)", opened.locator(".enc-model-strips em").inner_text())
    assert component is not None
    names = opened.locator(".enc-model-strips span").all_inner_texts()
    return int(component[1]), number(opened.locator(".enc-model-strips b").nth(names.index(name)).inner_text())


@pytest.mark.slow("opens every part on the way of one number")
def test_one_number_goes_from_the_text_to_the_sentence_vector(visit: Callable[..., Page]) -> None:
    layer, head, i = 2, 3, 5
    page = visit(f"/?start=1&text={BANK.replace(' ', '+')}&layer={layer}&head={head}&i={i}", width=1366, height=768)
    trace = encoder.load("minilm", device="cpu").trace(BANK)
    q, k, v = (one[head].numpy() for one in trace.layer_qkv(layer))
    weights, scores = trace.attention(layer, head)[i], trace.scores(layer, head)[i]
    j = int(weights.argmax())
    values = {name: value.numpy() for name, value in trace.values.items()}
    before, after = values[f"layers.{layer - 1}.after_ffn"][i], values[f"layers.{layer}.after_ffn"][i]
    middle = values[f"layers.{layer}.after_attention"][i]
    sums = {part: values[f"layers.{layer}.{part}_norm.input"][i] for part in ("attention", "ffn")}
    # Part -> its vectors by their names.
    expected = {
        "embedding": {"token": values["embedding.tokens"][i], "LayerNorm": values["embedding"][i]},
        "q": {"input x": before, "query": q[i]},
        "k": {"key": k[j]},
        "v": {"value": v[j]},
        "scores": {"query": q[i], "key": k[j], "products": q[i] * k[j]},
        "mixing": {"z": trace.z(layer, head)[i].numpy()},
        "heads": {"result": sums["attention"] - before},
        "add-attention": {"residual stream": before, "sum": sums["attention"]},
        "norm-attention": {"output": middle},
        "ffn": {"input": middle, "output": sums["ffn"] - middle},
        "add-ffn": {"sum": sums["ffn"]},
        "norm-ffn": {"output": after},
        "output": {"sentence vector": trace.output.mean(0).numpy()},
    }
    page.locator(".enc-model-body").focus()
    page.keyboard.press("Enter")  # the strongest weight of the selected token
    wait_for_query(page, i=str(i), j=str(j), step="softmax")
    opened = page.locator(".enc-model-opened")
    expect(opened.locator("h2")).to_contain_text(three_digits(float(weights[j])))
    expect(opened.locator("li.enc-now em")).to_contain_text(three_digits(float(scores[j])))
    page.get_by_role("button", name="How the text becomes tokens").click()
    expect(opened.locator("li.enc-now b")).to_have_text(str(trace.ids[i]))
    seen = ["ids"]
    while (following := opened.locator("nav button", has_text="→")).count():
        following.focus()
        page.keyboard.press("ArrowRight")
        page.locator(f".enc-model:not([data-opened='{seen[-1]}'])").wait_for()
        seen.append(page.locator(".enc-model").get_attribute("data-opened") or "")
        settle(page)
        for name, vector in expected.get(seen[-1], {}).items():
            component, shown = strip_number(page, name)
            assert shown == pytest.approx(float(vector[component]), rel=6e-3, abs=2e-5), (seen[-1], name)
        if seen[-1] == "ffn":  # of the neurons, the one in the formula: the strongest, and then one that is clicked
            said = opened.locator(".enc-model-strips em")
            assert strip_number(page, "neurons")[1] == number(opened.locator("li.enc-now b").inner_text())
            opened.locator(".enc-model-vector canvas").nth(1).click()
            expect(said).to_contain_text(re.compile(r"neuron 7\d\d\."))
    assert {"ids", "softmax", *expected} == set(seen)
    assert set(seen) <= set(PARTS)
    page.keyboard.press("Escape")  # the last part is one level below the whole
    expect(opened).to_be_hidden()
    wait_for_query(page, step=None)
    page.get_by_role("button", name="How scores become weights").click()
    opened.locator("nav button", has_text="Score").click()  # the score is a level below the weight
    for part in ("softmax", ""):
        page.keyboard.press("Escape")
        expect(page.locator(".enc-model")).to_have_attribute("data-opened", part)


#: Where in the open part a button is when the part is scrolled to its end, and two frames later.
SCROLLED_TO_THE_END = """async name => {
  const panel = document.querySelector(".enc-model-opened");
  const button = [...panel.querySelectorAll("button")].find(({ textContent }) => textContent === name);
  const place = () => Math.round(button.getBoundingClientRect().top - panel.getBoundingClientRect().top);
  panel.scrollTop = panel.scrollHeight;
  const before = place();
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  return [before, place()];
}"""


def test_the_check_of_a_number_keeps_its_result_and_its_title_in_view(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=The+cat+sat+on+a+mat&layer=2&head=3&i=2&j=3&step=scores", width=1366, height=600)
    opened = page.locator(".enc-model-opened")
    before, after = page.evaluate(SCROLLED_TO_THE_END, "Check this number")
    assert after == before, "a click that began as the panel reached its end would miss the button"
    page.get_by_role("button", name="Check this number").click()
    wait_for_query(page, check="1")
    opened.locator("tbody tr").first.wait_for()
    page.wait_for_function(INSIDE, arg=[".enc-model-opened", "tbody tr"])
    page.wait_for_function(INSIDE, arg=[".enc-model-opened", "header button"])


@pytest.mark.slow("opens further parts of the picture")
def test_a_component_is_chosen_and_the_check_shows_both_numbers(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=The+cat+sat&layer=2&head=3&i=2&j=3&step=scores")
    opened = page.locator(".enc-model-opened")
    row = opened.locator(".enc-model-rows button").nth(1)
    component = re.sub(r"\D", "", row.inner_text())
    row.click()
    wait_for_query(page, component=component)
    page.get_by_role("button", name="Check this number").click()
    wait_for_query(page, check="1")
    cells = opened.locator("tbody tr").first.locator("td").all_inner_texts()
    assert number(cells[1]) == pytest.approx(number(cells[2]), rel=1e-4)
    assert all("equal" in text for text in opened.locator("tbody td:last-child").all_inner_texts())
    opened.get_by_role("button", name="Divide by √dₖ").click()  # the same part, computed otherwise
    wait_for_query(page, scaled="0")


@pytest.mark.slow("another part of the same page")
@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("/forward_pass?step=norm&part=ffn&text=a+cat&i=1", "norm-ffn"),
        ("/forward_pass?step=qkv&vector=v&text=a+cat", "v"),
        ("/steps", "ids"),
        ("/architecture?block=q&text=a+cat", ""),
    ],
)
def test_a_former_address_opens_the_same_part(visit: Callable[..., Page], address: str, part: str) -> None:
    page = visit(address)
    page.locator(f".enc-model[data-opened='{part}']").wait_for()
    assert page.locator(".stAlert").count() == 0
    settle(page)
    page.keyboard.press("Escape")  # nothing has the focus
    page.locator(".enc-model[data-opened='']").wait_for()


@pytest.mark.slow("another part of the same page")
def test_another_norm_placement_keeps_head_and_tokens(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1", reduced_motion="reduce")
    answer = page.locator(".stMain p", has_text=re.compile(r"In L\d"))
    said = re.compile(r"In (L\d+ H\d+).*?, (\S+) attends to (\S+): (.+?) \(")
    before = said.search(answer.inner_text())
    norms = ".enc-model-norm.enc-{}"
    expect(page.locator(norms.format("post"))).to_have_count(2)
    switch, bands = page.get_by_role("button", name="Pre-norm", exact=True), page.locator(".enc-model-bands path")
    drawn = bands.evaluate_all("paths => paths.map((path) => path.getAttribute('d'))")
    switch.click()
    wait_for_query(page, norm="pre")
    expect(page.locator(norms.format("pre"))).to_have_count(2)
    caption = page.locator(".enc-model-caption")
    expect(caption).to_contain_text("Full band")  # another scale is said where the reader looks
    after = re.search(r"In (L\d+ H\d+).*?, (\S+) attends most to .*? To (\S+): (\S+) → ", answer.inner_text())
    assert before is not None
    assert after is not None
    assert before.groups() == after.groups(), "the same weight, before"
    switch.click()
    wait_for_query(page, norm=None)
    expect(page.locator(norms.format("post"))).to_have_count(2)
    assert bands.evaluate_all("paths => paths.map((path) => path.getAttribute('d'))") == drawn  # no hairlines


@pytest.mark.slow("opens further parts of the picture")
def test_an_open_part_and_the_buttons_of_all(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=The+cat+sat&layer=2&head=3&i=2&j=3&step=softmax", width=1280, height=720)
    the_pointer_previews_a_token_and_changes_no_words(page)
    an_open_part_fits_the_window_and_says_that_more_follows(page)
    page.keyboard.press("Escape")
    wait_for_query(page, step=None)
    page.mouse.move(0, 0)
    a_button_of_a_part_says_what_the_part_is(page)
    marks_without_a_button_open_their_part(page)


def the_pointer_previews_a_token_and_changes_no_words(page: Page) -> None:
    names = page.locator(".enc-model-names text")
    neurons = page.locator(".enc-model-neuron")
    expect(page.locator(".enc-model-opened h2")).to_contain_text("cat")
    expect(page.locator(".enc-model-names .enc-key")).to_have_text(re.compile("sat"))
    said = neurons.text_content()
    names.nth(1).hover()
    expect(names.nth(1)).to_have_class(re.compile("enc-preview"))
    expect(page.locator(".enc-model-names .enc-on")).to_have_text(re.compile("cat"))
    assert neurons.text_content() == said


def marks_without_a_button_open_their_part(page: Page) -> None:
    page.locator(".enc-model-frame").hover()
    expect(page.locator(".enc-model-names .enc-preview")).to_have_count(0)  # the strip has no rows of tokens
    for mark, part in ((".enc-model-frame", "output"), (".enc-model-tokens", "embedding")):
        page.locator(mark).first.click()
        wait_for_query(page, step=part)
        page.keyboard.press("Escape")
        wait_for_query(page, step=None)


def an_open_part_fits_the_window_and_says_that_more_follows(page: Page) -> None:
    opened, more = page.locator(".enc-model-opened"), page.locator(".enc-model-more")
    opened.locator("h3").wait_for()
    more.wait_for()
    box = opened.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 720
    sign = more.bounding_box()
    assert sign is not None
    rows = [row.bounding_box() for row in opened.locator("li, p, h3").all()]
    cut = [row for row in rows if row and row["y"] < sign["y"] - 1 < row["y"] + row["height"] - 2]
    assert not cut, "a row is cut"
    while more.is_visible():
        more.click()
        page.wait_for_timeout(50)
    expect(opened.locator("nav")).to_be_in_viewport()


def a_button_of_a_part_says_what_the_part_is(page: Page) -> None:
    norm = "LayerNorm: LayerNorm of attention"
    expect(page.locator("[data-key=norm-attention]")).to_have_attribute("aria-label", norm)
    for name in ("Weighted sum of values", "All heads through W_O", "Feed-forward: the feed-forward layer"):
        chip = page.get_by_role("button", name=name)
        chip.focus()
        expect(page.locator(".enc-tip:popover-open")).to_contain_text(chip.get_attribute("aria-description") or "?")
    expect(page.locator(".enc-model-legend")).to_contain_text("[CLS], [SEP]")


@pytest.mark.slow("the same picture with an edit on a phone")
def test_what_a_change_does_to_the_end_is_not_cut_on_a_phone(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=The+cat+sat&norm=pre", width=390, height=844)
    words = page.locator(".enc-model-end text")
    expect(words.filter(has_text="difference")).to_be_visible()
    settle(page)
    last, heads = words.last.bounding_box(), page.locator(".enc-model-heads").bounding_box()
    assert last is not None
    assert heads is not None
    assert last["y"] + last["height"] <= heads["y"]


def test_a_head_is_off_and_the_end_moves(visit: Callable[..., Page]) -> None:
    page = visit(f"/?start=1&text={BANK.replace(' ', '+')}&layer=2&head=3&i=5")
    model = encoder.load("minilm", device="cpu")
    plain, without = model.trace(BANK), model.trace(BANK, edits=[AblateHead(2, 3)])
    before, after = causal.outcomes_of(model, plain, [without], "sentence")
    power = page.get_by_role("button", name="head 3", exact=True)
    power.click()
    wait_for_query(page, edits="ablate_l2_h3", i="5", layer="2", head="3")
    expect(page.locator(".enc-model-caption")).to_contain_text(f"{three_digits(before)} → {three_digits(after)}")
    expect(page.locator(".enc-model-end")).to_contain_text(three_digits(after))
    expect(page.locator(".enc-model-end")).to_contain_text(three_digits(after - before))
    expect(power).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".enc-model-off")).to_have_count(1)
    expect(page.locator(".enc-model-heads .enc-off")).to_have_text("H3 off")
    page.get_by_role("button", name="All heads through W_O").click()
    expect(page.locator(".enc-model-rows li", has_text="head 3").locator("b")).to_have_text("0")
    page.keyboard.press("Escape")
    power.click()
    wait_for_query(page, edits=None)


#: The smallest opacity of a part of the picture, with that of all around it.
FAINTEST = """() => Math.min(...[...document.querySelectorAll('.enc-model [data-part], .enc-model-heads')].map(part => {
  let opacity = 1;
  for (let at = part; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
  return opacity;
}))"""
#: Pixels between the caption and the part that is lit.
AWAY = """() => {
  const boxes = [...document.querySelectorAll('.enc-model [data-part], .enc-model-heads')]
    .filter((part) => !part.matches('.enc-model-dim')).map((part) => part.getBoundingClientRect())
    .filter(({ width, height }) => width && height);
  const own = document.querySelector('.enc-model-caption').getBoundingClientRect();
  const gap = (low, high, from, to) => Math.max(0, low - to, from - high);
  return Math.min(...boxes.map((box) =>
    Math.hypot(gap(own.left, own.right, box.left, box.right), gap(own.top, own.bottom, box.top, box.bottom))));
}"""


def test_values_arrive_and_the_step_waits_for_the_reader(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=one+two+three&layer=1", reduced_motion="no-preference")
    title, river = page.locator(".enc-model-powers > span"), page.locator(".enc-model-powers > .enc-model-river")
    river.wait_for()
    boxes = sorted((one.bounding_box() for one in (title, river)), key=lambda box: box["x"])
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]  # “Layer 1” and “Residual stream”
    page.get_by_role("slider", name="Step of the story").fill("8")
    dots = page.locator(".enc-model-flow circle")
    dots.first.wait_for()
    ended = (
        "dots => Promise.all(dots.flatMap((dot) => dot.getAnimations().map((one) => one.finished))).then(() => true)"
    )
    assert dots.evaluate_all(ended)
    arrived = dots.evaluate_all("dots => dots.map((dot) => getComputedStyle(dot).offsetDistance)")
    assert set(arrived) == {"100%"}
    expect(page.locator(".enc-model[data-step='7']")).to_have_count(1)  # nothing goes on by itself
    page.get_by_role("slider", name="Step of the story").fill("0")
    expect(dots).to_have_count(0)
    river.click()
    page.get_by_role("heading", name="Residual addition after attention").wait_for()


@pytest.mark.slow("another part of the same page")
def test_an_open_part_leaves_the_parts_of_attention_visible(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=one+two+three&layer=0&i=1&step=softmax", width=1366, height=768)
    for layer in ("0", "3", "5"):
        if layer != "0":
            go(page, f"/?text=one+two+three&layer={layer}&i=1&step=softmax")
        panel = page.locator(".enc-model-opened")
        panel.locator("h2").wait_for()
        settle(page)
        box = panel.bounding_box()
        for key in ("k", "q", "mixing"):
            chip = page.locator(f".enc-model-chips [data-key={key}]").bounding_box()
            assert chip["x"] + chip["width"] <= box["x"] or box["x"] + box["width"] <= chip["x"], (layer, key)


@pytest.mark.slow("plays the whole story")
def test_the_story_has_a_sentence_for_each_part(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&text=one+two+three", reduced_motion="reduce")
    page.get_by_role("button", name="Play the story of this sentence").click()
    caption, said = page.locator(".enc-model-caption"), []
    for step in range(12):
        expect(page.locator(f".enc-model[data-step='{step}']")).to_have_count(1)
        said.append(caption.locator("span").inner_text())
        assert page.evaluate(FAINTEST) >= 0.4, said[-1]
        assert page.evaluate(AWAY) <= 60, said[-1]
        page.get_by_role("button", name="Next step").click()
    assert len(set(said)) == 12
    page.locator(".enc-model[data-step='-1']").wait_for()  # after the last step, the whole picture
    scrubber = page.get_by_role("slider", name="Step of the story")
    scrubber.fill("3")
    expect(page.locator(".enc-model[data-step='2']")).to_have_count(1)
    assert caption.locator("span").inner_text() == said[2]
    scrubber.fill("0")
    expect(page.locator(".enc-model[data-step='-1']")).to_have_count(1)
    assert all(len(text.split()) <= 21 for text in said)
    page.locator(".enc-model-heads button").nth(4).click()
    wait_for_query(page, head="4")
    expect(page.locator(".enc-model-heads button[aria-pressed='true']")).to_have_text("H4")


@pytest.mark.slow("presentation mode, on several pages")
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
    page.wait_for_function(f"() => !({TYPE})().length")
    page.keyboard.press("PageDown")
    page.get_by_role("heading", level=1, name="Contribution").wait_for()
    settle(page)
    assert query(page)["present"] == "1"
    page.keyboard.press("PageUp")
    page.get_by_role("heading", level=1, name="Heads").wait_for()
    settle(page)
    page.keyboard.press("Escape")
    wait_for_query(page, present=None)
    expect(page.get_by_test_id("stHeader")).to_be_visible()


@pytest.mark.slow("presentation mode, with an open part")
def test_the_picture_and_its_open_part_are_shown_in_large_type(visit: Callable[..., Page]) -> None:
    page = visit("/?start=1&present=1&text=one+two+three&i=2", width=1920, height=1080)
    page.locator(".enc-model-names text").first.wait_for()
    page.wait_for_function(f"() => !({TYPE})().length")
    page.get_by_role("button", name="How scores become weights").click()
    page.locator(".enc-model-opened h3").wait_for()
    page.wait_for_function(f"() => !({TYPE})().length")


@pytest.mark.slow("another part of the same page")
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
