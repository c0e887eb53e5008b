"""The pages under Learn in a real Chromium: from a cell of the attention map to the numbers behind it and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import encoder
from encoder import explain
from encoder.explain import STEPS as ALL_STEPS
from encoder.figures.numbers import three_digits
from tests.conftest import check_width, query, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

MAP = '[aria-roledescription="heat map"]'
STEPS = [step.key for step in ALL_STEPS]


def question(key: str) -> str:
    """The heading of a step."""
    return next(step.question for step in ALL_STEPS if step.key == key)


def cell(plot: Locator, row: float, column: float, rows: int, columns: int) -> None:
    """Click a cell of a map that shows rows x columns cells."""
    area = plot.locator(".nsewdrag").first
    area.wait_for()
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    place = {"x": box["width"] * (column + 0.5) / columns, "y": box["height"] * (row + 0.5) / rows}
    area.click(position=place, force=True)


def click_at(page: Page, shape: Locator, across: float) -> None:
    """Click a shape of a figure at a share of its width. The click lands on the layer that Plotly lays over it."""
    shape.scroll_into_view_if_needed()
    box = shape.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + across * box["width"], box["y"] + box["height"] / 2)


def seen(page: Page) -> dict[str, object]:
    """What a person reads of a step: its question, its formulas, where the selection stands."""
    settle(page)
    page.wait_for_function("() => document.querySelectorAll('.stMain .katex').length > 0")
    formulas = page.locator(".stMain .katex annotation").all_text_contents()
    return {
        "question": page.locator(".stMain h2, .stMain h3").first.inner_text(),
        "formulas": [re.sub(r"#\w{6}", "", formula) for formula in formulas],
        "place": page.locator(".stMain [data-baseweb=select]").all_inner_texts(),
        "components": [box.input_value() for box in page.locator(".stMain input[type=number]").all()],
    }


def numbers(page: Page) -> str:
    """All formulas of the page as LaTeX."""
    return "\n".join(page.locator(".stMain .katex annotation").all_text_contents())


def wait_for_formula(page: Page, part: str) -> None:
    """Wait until a formula of the page holds this LaTeX."""
    expect(page.locator(".stMain .katex annotation", has_text=part).first).to_be_attached()


def test_from_a_cell_of_the_map_to_the_row_of_w_q_and_back(visit: Callable[..., Page]) -> None:
    page = visit("/?text=The+cat+sat+on+the+mat&layer=1&head=8")
    cell(page.locator(MAP).first, 2, 3, 8, 8)
    wait_for_query(page, j="3")
    said = page.locator(".st-key-answer p").first
    expect(said).to_contain_text(re.compile(r"attends to .+: \d"))
    weight = re.search(r": (\d\.\d+)", said.inner_text())
    assert weight is not None
    stops = []

    page.locator(".st-key-open-softmax button").click()
    page.wait_for_url(re.compile(r"/forward_pass\?.*step=softmax"))
    page.get_by_text(question("softmax")).wait_for()
    wait_for_formula(page, r"\alpha_{2,3}")
    alpha = re.search(r"alpha_\{2,3\}.*= (\d\.\d{4})", numbers(page).replace("\n", " "))
    assert alpha is not None
    assert float(alpha[1]) == pytest.approx(float(weight[1]), abs=6e-4)
    stops.append((page.url, seen(page)))

    page.locator(".st-key-to-scores button").click()
    wait_for_query(page, step="scores")
    stops.append((page.url, seen(page)))

    page.locator(".st-key-to-q button").click()
    wait_for_query(page, step="qkv")
    stops.append((page.url, seen(page)))

    matrix = page.get_by_role("application", name=re.compile("^W_Q of head 8"))
    cell(matrix, 200, 20, 384, 32)
    wait_for_query(page, component="20")
    expect(page.get_by_text(f"column 20 as row {8 * 32 + 20}")).to_be_visible()
    wait_for_formula(page, "q_{2,20}")
    stops.append((page.url, seen(page)))

    page.locator(".st-key-back button").click()
    wait_for_query(page, step="scores")
    page.go_back()
    page.get_by_text(question("qkv")).wait_for()  # the address is there before the page
    wait_for_query(page, step="qkv")
    assert seen(page) == stops[-1][1]

    url, there = stops[-1]
    elsewhere = visit(url[url.index("/", 8) :])
    assert seen(elsewhere) == there


def test_a_key_and_a_value_have_their_way_too_and_the_check_shows_both_numbers(visit: Callable[..., Page]) -> None:
    page = visit("/forward_pass?step=mixing&text=The+cat+sat&layer=2&head=3&i=2&j=3")
    page.locator(".st-key-to-v button").click()
    wait_for_query(page, vector="v")
    wait_for_formula(page, "v_{3,0}")
    page.get_by_role("radio", name="key").click()
    wait_for_query(page, vector="k")
    wait_for_formula(page, "k_{3,0}")

    page.get_by_role("radio", name="4 Scores").click()
    wait_for_query(page, step="scores")
    page.get_by_text("Check this number").click()
    wait_for_query(page, check="1")
    said = page.get_by_text(re.compile("^Shown")).inner_text()
    found = re.findall(r"-?\d+\.\d+", said)
    assert float(found[0]) == pytest.approx(float(found[1]), rel=1e-4)
    assert "equal" in said


def test_a_block_is_opened_norms_are_moved_and_measuring_is_stopped(visit: Callable[..., Page]) -> None:
    page = visit("/architecture?text=The+cat+sat&layer=1")
    diagram = page.get_by_role("application", name=re.compile("^The encoder as blocks"))
    bars = diagram.locator(".bars .point")  # tokens, ids, three tables, sum, norm, the layers before; then queries
    bars.first.wait_for()
    page.get_by_role("heading", name="Softmax in layer 1", exact=True).wait_for()
    diagram.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):  # the first key shows where the focus is
        page.keyboard.press(key)
    page.wait_for_function("() => new URL(location).searchParams.has('block')")
    settle(page)
    assert query(page)["block"].startswith("embedding")

    click_at(page, bars.nth(8), 0.1)  # its left end: all of a block is clicked, not its middle
    wait_for_query(page, block="q")
    expect(page.get_by_role("heading", name="Queries in layer 1")).to_be_visible()
    click_at(page, bars.nth(7), 0.5)
    page.get_by_role("heading", name="Queries in layer 0").wait_for()
    settle(page)

    before = diagram.get_attribute("aria-label") or ""
    page.get_by_role("radio", name="Pre-norm").click()
    wait_for_query(page, norm="pre")
    after = diagram.get_attribute("aria-label") or ""
    assert "Add, Norm, FFN up-projection" in before
    assert "Norm, Queries, Keys, Values" in after
    assert before != after

    page.get_by_role("radio", name="Cost").click()
    wait_for_query(page, show="cost")
    page.get_by_role("button", name="Measure").click()
    page.get_by_text(re.compile(r"ms per layer")).wait_for()
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop").click()
    settle(page)
    page.get_by_text(re.compile("GFLOP/s")).wait_for()
    expect(page.get_by_text(re.compile(r"ms per layer"))).to_have_count(0)


def test_a_number_of_the_calculation_is_changed_by_hand(visit: Callable[..., Page]) -> None:
    page = visit("/by_hand")
    before = numbers(page)
    assert "0.8415 & 0.5403" in before
    grid = page.locator('[data-testid="stDataFrame"] canvas').first
    grid.wait_for()
    box = grid.bounding_box()
    assert box is not None
    # The row of "cat", its second number: 0.1.
    grid.dblclick(position={"x": box["width"] * 0.45, "y": 35 + 35 * 1.5}, force=True)
    field = page.locator("#portal input, #portal textarea").first
    field.fill("7.5")
    field.press("Enter")
    page.wait_for_function("() => new URL(location).searchParams.has('hand')")
    settle(page)
    changed = json.loads(query(page)["hand"])["embeddings"]
    assert 7.5 in changed[1]
    after = numbers(page)
    assert after != before
    elsewhere = visit(page.url[page.url.index("/", 8) :])
    assert numbers(elsewhere) == after
    page.locator(".st-key-reset-numbers button").first.click()
    page.wait_for_function("() => !new URL(location).searchParams.has('hand')")
    settle(page)
    assert numbers(page) == before


FRAMES = """() => {
  const body = document.querySelector('.enc-motion-body'), slider = body.querySelector('input');
  return [...Array(Number(slider.max) + 1).keys()].map((frame) => {
    slider.value = String(frame);
    slider.dispatchEvent(new Event('input'));
    const numbers = [...body.querySelectorAll('.enc-motion-row b')].map((one) => one.textContent);
    return {phase: body.dataset.phase, numbers, says: body.querySelector('.enc-motion-says').textContent};
  });
}"""


def numbers_of(frame: dict) -> list[str]:
    """The numbers of a frame, empty ones left out."""
    return [number for number in frame["numbers"] if number]


def as_shown(values: object) -> list[str]:
    """Numbers as the columns of the animation write them."""
    texts = [three_digits(float(value)).replace("-", "−") for value in values]
    return ["≈ 0" if 0 < abs(float(value)) < 0.0005 else text for text, value in zip(texts, values, strict=True)]


def test_each_frame_has_the_numbers_of_the_model(visit: Callable[..., Page]) -> None:
    text, place = "The cat sat on the mat", explain.Place(layer=1, head=8, query=2, key=3, component=4)
    page = visit(
        "/forward_pass?step=scores&picture=animation&text=The+cat+sat+on+the+mat&layer=1&head=8&i=2&j=3&component=4"
    )
    body = page.locator(".enc-motion-body[data-frame]")
    body.wait_for()
    frames = page.evaluate(FRAMES)
    trace = encoder.load("minilm", device="cpu").trace(text)
    q, k = trace.q[1, 8, 2], trace.k[1, 8]
    scores, weights = trace.scores(1, 8)[2], trace.attention(1, 8)[2]
    dots, z = k @ q, trace.z(1, 8)[2]
    by_phase = {frame["phase"]: frame for frame in frames}
    assert [frame["phase"] for frame in frames].count("dots") == trace.n_tokens == 8
    for row in range(trace.n_tokens):
        assert numbers_of(frames[1 + row]) == as_shown(dots[: row + 1])
    assert numbers_of(by_phase["scores"]) == as_shown(scores)
    exponentials = (scores - scores.max()).exp()
    assert numbers_of(by_phase["exponentials"]) == as_shown([*exponentials, exponentials.sum()])
    assert numbers_of(by_phase["weights"]) == [*as_shown(weights), "1"]
    assert numbers_of(by_phase["end"]) == as_shown([*weights, z[4]])
    sums = explain.attention_row(trace, place).sums[:, 4]
    assert [numbers_of(frame)[-1] for frame in frames if frame["phase"] == "mix"] == as_shown(sums)
    assert as_shown([weights[3]])[0] in by_phase["weights"]["says"]

    body.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(body).to_have_attribute("data-frame", "1")
    page.keyboard.press("Space")
    page.wait_for_function("() => Number(document.querySelector('.enc-motion-body').dataset.frame) > 2")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("End")
    expect(body).to_have_attribute("data-frame", str(len(frames) - 1))


def test_reduced_motion_shows_the_last_frame_and_steps(visit: Callable[..., Page]) -> None:
    page = visit("/forward_pass?step=scores&picture=animation&text=The+cat+sat", reduced_motion="reduce", width=390)
    body = page.locator(".enc-motion-body[data-frame]")
    body.wait_for()
    last = int(body.get_attribute("data-frame") or 0)
    assert last == int(page.locator(".enc-motion-bar input").get_attribute("max") or 0)
    expect(page.locator(".enc-motion-play")).to_be_hidden()
    page.get_by_role("button", name="One frame back").click()
    expect(body).to_have_attribute("data-frame", str(last - 1))
    check_width(page)
