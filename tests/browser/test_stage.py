"""The faces of a room, and the stage of a lesson, in a real Chromium: nothing is cut, nothing tells the answer."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from pages.core.frame.frame import import_params
from pages.teaching.lessons import library, on_stage
from pages.teaching.questions import Look, Question
from pages.teaching.questions.kinds import HeadQuestion, OrderQuestion
from pages.teaching.questions.question import Choosing
from pages.teaching.rooms import Asked
from pages.teaching.stage import results
from pages.teaching.stage import wall as stage
from pages.teaching.stage.bars import Line
from tests.browser.test_every_page import ALL, violations
from tests.conftest import PATIENCE, check_width, query, settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

LESSONS = [path.stem for path in sorted(library.SHIPPED.glob("*.md"))]
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
SMALL_PHONE = {"width": 360, "height": 640}
WALL = {"width": 1920, "height": 1080}
#: What of these is cut by the window, without scrolling; below is the line of the room.
CUT = """([selector, below]) => [...document.querySelectorAll(selector)]
  .filter((one) => one.getClientRects().length && getComputedStyle(one).visibility !== "hidden")
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && (box.left < -1 || box.top < -1 || box.right > innerWidth + 1
    || box.bottom > innerHeight - below + 1))
  .map(([one, box]) => `${one.tagName} ${one.textContent.slice(0, 40)} ends at ${box.right} ${box.bottom}`)"""
ON_PHONE = '[class*="st-key-ballot"] :is(p, button, label, input[type=range], textarea, [role=gridcell])'
#: The row that was asked about, and the right answer among the class's.
RIGHT_ON_PHONE = '[class*="st-key-ballot"] tr[data-right]'
#: What a teacher needs at once: what comes next, the button that goes on, the answers, whom to ask.
ON_DESK = ":is(.st-key-desk-turn, .st-key-desk-given) :is(p, button, tr), .st-key-room-reveal button"
ON_WALL = ".enc-wall :is(h1, li, p, footer, tr)"
#: Words of the wall that have less than a thirtieth of the window's height.
SMALL = """() => [...document.querySelectorAll(".enc-wall :is(h1, li, p, footer, th, td, small)")]
  .filter((one) => one.textContent.trim() && parseFloat(getComputedStyle(one).fontSize) < innerHeight / 30)
  .map((one) => one.textContent.slice(0, 40))"""
#: Rows of an exhibit that have no room in it, and options without room for their reason.
HIDDEN_ROWS = """() => [...document.querySelectorAll(".enc-wall-exhibit :is(tr, li)")].filter((row) => {
  const [inner, outer] = [row, row.closest(".enc-wall-exhibit")].map((one) => one.getBoundingClientRect());
  return inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
}).concat([...document.querySelectorAll(".enc-wall-options li")].filter((li) => li.scrollHeight > li.clientHeight + 1))
  .map((row) => row.textContent)"""
#: Words that are broken into lines.
BROKEN = """(selector) => [...document.querySelectorAll(selector)].flatMap((one) => {
  const text = one.firstChild, words = [...text.data.matchAll(/\\S+/g)], range = document.createRange();
  return words.filter(({ 0: word, index }) => {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return range.getClientRects().length > 1;
  }).map(([word]) => word);
})"""
#: Pictures of a page.
BEHIND = ".stMain :is(.enc-plot, .enc-model, .enc-grid)"
#: A stage of less than three fifths of the window, a part of less than three fifths of its height, and empty halves.
EMPTY = """() => {
  const stage = document.querySelector(".st-key-lesson-stage, .st-key-lesson-card");
  if (!stage) return ["no stage"];
  const { left, right, top, bottom } = stage.getBoundingClientRect();
  const within = (one, most) => Math.max(0, Math.min(one, most));
  const share = (within(right, innerWidth) - within(left, innerWidth))
    * (within(bottom, innerHeight) - within(top, innerHeight)) / (innerWidth * innerHeight);
  const parts = [...document.querySelectorAll(".stMain :is(p, h3, button, input, textarea, canvas, svg, .enc-root)")]
    .map((one) => one.getBoundingClientRect()).filter((box) => box.width > 4 && box.height > 4);
  const [x, y] = [innerWidth / 2, innerHeight / 2];
  const halves = {
    left: parts.some((box) => box.left < x), right: parts.some((box) => box.right > x),
    upper: parts.some((box) => box.top < y), lower: parts.some((box) => box.bottom > y && box.top < innerHeight),
  };
  const part = document.querySelector(".enc-model-opened:not([hidden])")?.getBoundingClientRect();
  const high = part ? within(part.bottom, innerHeight) - within(part.top, innerHeight) : innerHeight;
  return [...(share < 0.6 ? [`stage: ${share}`] : []), ...(high < 0.6 * innerHeight ? [`part: ${high}`] : []),
    ...Object.keys(halves).filter((name) => !halves[name])];
}"""


#: How often a phone has vibrated.
FELT = "globalThis.__felt = 0; Navigator.prototype.vibrate = () => { globalThis.__felt += 1; return true; };"
#: Milliseconds and bytes a second of 3G.
NET_3G = {"latency": 300, "downloadThroughput": 200_000, "uploadThroughput": 90_000}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    import_params()


def room(visit: Callable[..., Page]) -> tuple[Page, Page, Page, str]:
    """A desk, a wall and a phone of one room."""
    desk = visit("/classroom")
    desk.get_by_role("button", name="Open a room").click()
    desk.wait_for_url(re.compile(r"room=\w{6}"))
    code = query(desk)["room"]
    phone = visit(f"/classroom?room={code}", **PHONE)
    address = desk.get_by_role("link", name="Open the wall").get_attribute("href")
    wall = visit(f"/classroom{address}", **WALL)
    settle(desk)
    return desk, wall, phone, code


def begin(desk: Page, name: str) -> None:
    found = library.find(name)
    assert found
    desk.get_by_role("combobox", name="Lesson").click()
    desk.get_by_role("option", name=re.compile(re.escape(found.title))).click()
    desk.get_by_role("button", name="Begin this lesson").click()
    desk.locator('[class*="st-key-desk-next-"]').wait_for()


def together(desk: Page, *others: Page) -> None:
    """Wait until every screen has drawn the version of the desk, whose line may be the last thing that it draws."""
    settle(desk)
    lines = [page.locator(".enc-room") for page in (desk, *others)]
    deadline = time.monotonic() + PATIENCE / 1000
    while len(versions := {line.get_attribute("data-version") for line in lines}) > 1:
        assert time.monotonic() < deadline, versions
        desk.wait_for_timeout(50)
    for page in (desk, *others):
        settle(page)


@pytest.mark.sample(21, "every question of another lesson, on a phone and on a wall")
@pytest.mark.parametrize("name", LESSONS)
def test_a_question_and_its_options_are_in_the_window_and_no_page_tells_the_answer(
    visit: Callable[..., Page], name: str
) -> None:
    desk, wall, phone, code = room(visit)
    expect(wall.locator(".enc-wall-door b")).to_have_text(f"{code[:3]} {code[3:]}")
    begin(desk, name)
    lesson = library.find(name)
    assert lesson
    for number, step in lesson.numbered():
        if number != lesson.first:
            desk.locator(f".st-key-desk-next-{number - 1} button").click()
            desk.get_by_text(f"step {number} of {lesson.last}").wait_for()
        together(desk, wall, phone)
        if step.question is None:
            expect(wall.locator(".enc-wall-step")).to_contain_text(step.title)
            if on_stage.has_text(step):
                expect(wall.locator(".enc-wall-prose")).not_to_be_empty()
                wait_until_none(wall, CUT, [".enc-wall-prose, .enc-model-legend li", 0])
            continue
        expect(wall.locator(".enc-wall h1")).to_have_text(step.question.ask.replace("d_k", "dk").replace("W_", "W"))
        expect(phone.locator('[class*="st-key-ballot"]')).to_have_count(1)
        for page, selector, below in ((wall, ON_WALL, 0), (phone, ON_PHONE, 44)):
            wait_until_none(page, CUT, [selector, below])
            expect(page.locator(BEHIND)).to_have_count(0)
        wait_until_none(wall, SMALL)
        desk.get_by_role("button", name="Show the result").click()
        desk.get_by_role("button", name="Show the result").wait_for(state="detached")
        together(desk, wall, phone)
        for size in (SMALL_PHONE, {"width": PHONE["width"], "height": PHONE["height"]}):
            phone.set_viewport_size(size)
            wait_until_none(phone, CUT, [RIGHT_ON_PHONE, 44])
        wait_until_none(wall, CUT, [".enc-wall :is(h1, p, li, tr, footer), .st-key-wall-gesture .enc-gesture > *", 0])
        wait_until_none(wall, HIDDEN_ROWS)
        wait_until_none(wall, SMALL)
        if not step.view:  # neither the page nor the picture of the step before
            desk.get_by_role("button", name="Close the question").click()
            expect(wall.locator(".enc-wall h1")).to_have_text(step.title)
            together(desk, wall, phone)
            expect(wall.locator(BEHIND)).to_have_count(0)
            for page in (wall, phone):
                expect(page.locator(".enc-gesture")).to_be_visible()


def class_of(question: Question, look: Look) -> dict[str, str]:
    """The answers of a class: right, each known mistake, and many others."""
    truth = question.truth(look)
    others: list[Any] = []
    if question.kind == "number":
        others = [truth.value + (0.3137 * part) * (abs(truth.value) or 1) for part in range(-9, 10) if part]
    elif isinstance(question, HeadQuestion):
        others = [list(place) for place in question.choices(look)[3:13]]
    elif isinstance(question, OrderQuestion):
        others = [list(order) for order in itertools.islice(itertools.permutations(map(str, question.items)), 6)]
    elif isinstance(question, Choosing):
        others = [*question.choices(look)]
    given = [*truth.answers, *(question.mistaken(one, look) for one in question.mistakes), *others]
    return {f"member-{number}": json.dumps(one) for number, one in enumerate(given)}


@pytest.mark.sample(4, "every result of another lesson, with the answers of a large class")
@pytest.mark.parametrize("name", [LESSONS[place] for place in (1, 2, 4, 10, 15)])
def test_a_wall_has_room_for_what_is_right_and_for_what_a_large_class_said(
    visit: Callable[..., Page], name: str
) -> None:
    _, wall, _, _ = room(visit)
    lesson = library.find(name)
    assert lesson
    for number, step in lesson.numbered():
        question = step.question
        if question is None or question.kind in ("conclusion", "draw", "gesture", "sentence"):
            continue
        look = library.look_of(step.view)
        answers, code = class_of(question, look), "<small class='enc-wall-code'>school.example · <b>ABC DEF</b></small>"
        asked = Asked(f"R-{number}", question.definition(), step.view, revealed=True)
        shown = stage.face(asked, question, look, answers, len(answers), code)
        wall.evaluate("(shown) => { document.querySelector('.enc-wall').outerHTML = shown; }", shown)
        wait_until_none(wall, HIDDEN_ROWS)  # the first bold letters ask for their font
        wait_until_none(wall, SMALL)
        wait_until_none(wall, CUT, [ON_WALL, 0])


@pytest.mark.slow("a way of the stage that few use")
def test_a_wall_has_room_for_the_sentences_that_a_teacher_chooses(visit: Callable[..., Page]) -> None:
    _, wall, _, _ = room(visit)
    short, long = Line("It mixes tokens.", "12", 0), Line("Every token weighs all. " * 12, "1", 0)
    steps = [step for one in library.lessons()[0] for step in one.steps if step.question]
    for step in steps:
        question = step.question
        assert question
        if question.kind not in ("conclusion", "sentence"):
            continue
        for chosen in ([short] * 9, [long, short, long]):
            asked = Asked("R-1", question.definition(), step.view, revealed=True)
            shown = stage.face(asked, question, library.look_of(step.view), {}, 30, chosen=chosen)
            wall.evaluate("(shown) => { document.querySelector('.enc-wall').outerHTML = shown; }", shown)
            expect(wall.locator(".enc-wall-typed li")).not_to_have_count(0)
            wait_until_none(wall, SMALL)
            wait_until_none(wall, CUT, [ON_WALL, 0])


@pytest.mark.slow("a way of the stage that few use")
def test_a_projector_of_720_rows_shows_a_whole_step(visit: Callable[..., Page]) -> None:
    desk, large, _, _ = room(visit)
    wall = visit(large.evaluate("location.pathname + location.search"), width=1280, height=720)
    begin(desk, "02-embedding-and-position")
    together(desk, large, wall)
    wall.locator(".enc-model-legend li").first.wait_for()
    wait_until_none(wall, CUT, [".enc-wall-prose, .enc-model-names text, .enc-model-legend li", 0])


def test_the_first_screen_of_a_laptop_has_what_comes_next_and_whom_to_ask(visit: Callable[..., Page]) -> None:
    desk, wall, phone, code = room(visit)
    other = visit(f"/classroom?room={code}", **PHONE)
    begin(desk, "03-one-weight-by-hand")
    for number in range(4):
        desk.locator(f".st-key-desk-next-{number} button").click()
        desk.get_by_text(f"step {number + 1} of").wait_for()
    together(desk, wall, phone, other)
    for page, word in ((phone, "animal"), (other, "street")):
        answers = page.locator('[class*="st-key-ballot"]')
        answers.get_by_text(word, exact=True).tap()
        answers.get_by_role("button", name="Answer", exact=True).tap()
    for word in ("animal", "street"):
        expect(desk.locator(".st-key-desk-given").get_by_text("Ask why").filter(has_text=word)).to_be_visible()
    expect(desk.locator(".st-key-desk-turn")).to_contain_text("Next: ")

    def check_sizes() -> None:
        for width, height in ((1280, 800), (1366, 768)):
            desk.set_viewport_size({"width": width, "height": height})
            wait_until_none(desk, CUT, [ON_DESK, 44])

    check_sizes()
    desk.get_by_role("button", name="Show the result").dblclick()
    desk.get_by_role("button", name="Show the result").wait_for(state="detached")
    together(desk, wall, phone, other)
    check_sizes()
    for page in (phone, other):
        expect(page.locator(RIGHT_ON_PHONE).first).to_be_visible()  # the second click took it from nobody
    both = [results.Bar("The mean over the words, without [CLS] and [SEP].", 2, False, first=3)]
    for page, place in ((desk, ".st-key-desk-given"), (phone, '[class*="st-key-ballot"]')):
        shown = page.locator(f"{place} .enc-bars").first
        shown.evaluate("(one, table) => { one.outerHTML = table; }", results.table(both, show_right=True))
        assert page.evaluate(BROKEN, f"{place} .enc-bars thead th") == []


@pytest.mark.slow("a way of the stage that few use")
def test_all_faces_are_accessible(visit: Callable[..., Page]) -> None:
    desk, wall, phone, _ = room(visit)
    begin(desk, "03-one-weight-by-hand")
    rules = {"type": "tag", "values": ALL}
    assert violations(wall, rules) == []
    for number in range(4):
        desk.locator(f".st-key-desk-next-{number} button").click()
        desk.get_by_text(f"step {number + 1} of").wait_for()
    together(desk, wall, phone)
    for page in (desk, wall, phone):
        assert violations(page, rules) == []
    answers = phone.locator('[class*="st-key-ballot"]')
    answers.get_by_text("animal", exact=True).tap()
    answers.get_by_role("button", name="Answer", exact=True).tap()
    expect(wall.locator(".enc-wall footer")).to_contain_text("1 of 1 answered")
    desk.get_by_role("button", name="Show the result").click()
    expect(wall.locator("tr[data-right]").first).to_contain_text("animal")
    expect(phone.locator("tr[data-right]").first).to_contain_text("animal")
    for page in (desk, wall, phone):
        settle(page)
        page.emulate_media(color_scheme="dark")
        assert violations(page, rules) == []


@pytest.mark.sample(21, "every step of another lesson")
@pytest.mark.parametrize("name", LESSONS)
def test_a_step_fills_the_window(visit: Callable[..., Page], name: str) -> None:
    lesson = library.find(name)
    assert lesson
    page = visit(f"/?lesson={name}&lesson_step={lesson.first}")
    for number, _ in lesson.numbered():
        if number != lesson.first:
            page.locator(".st-key-lesson-next button").click()
            page.get_by_text(f"step {number} of {lesson.last}").wait_for()
            settle(page)
        wait_until_none(page, EMPTY)
        look = page.get_by_role("button", name="Show the picture now")
        if look.count():
            look.click()
            page.locator(".st-key-lesson-stage").wait_for()
            settle(page)
            wait_until_none(page, EMPTY)


@pytest.mark.slow("a way of the stage that few use")
@pytest.mark.parametrize("by", ["keyboard", "touch"])
def test_a_query_is_aimed_by_hand(visit: Callable[..., Page], by: str) -> None:
    where = "/?lesson=03-one-weight-by-hand&lesson_step=8"
    page = visit(where, **PHONE) if by == "touch" else visit(where)
    handle = page.locator(".enc-gesture-handle")
    before = float(handle.get_attribute("aria-valuenow") or 0)
    if by == "keyboard":
        handle.focus()
        for _ in range(5):
            page.keyboard.press("Shift+ArrowRight")
    else:
        plane = page.locator(".enc-gesture-plane")
        plane.scroll_into_view_if_needed()
        box = plane.bounding_box()
        assert box
        page.touchscreen.tap(box["x"] + 0.95 * box["width"], box["y"] + 0.62 * box["height"])
    expect(page.locator(".enc-gesture-right")).to_contain_text("cat")
    assert float(handle.get_attribute("aria-valuenow") or 0) > max(before, 0.8)
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_test_id("stAlertContentSuccess")).to_be_visible()


@pytest.mark.slow("a slow network is slow")
def test_a_small_phone_answers_over_3g_and_feels_it(visit: Callable[..., Page]) -> None:
    desk, wall, _, code = room(visit)
    phone = visit(f"/classroom?room={code}", **PHONE | SMALL_PHONE, script=FELT)
    session = phone.context.new_cdp_session(phone)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {"offline": False, **NET_3G})
    phone.reload()  # a phone that comes now, without what it has stored
    settle(phone)
    begin(desk, "03-one-weight-by-hand")
    for number in range(4):
        desk.locator(f".st-key-desk-next-{number} button").click()
        desk.get_by_text(f"step {number + 1} of").wait_for()
    together(desk, wall, phone)
    answers = phone.locator('[class*="st-key-ballot"]')
    wait_until_none(phone, CUT, [ON_PHONE, 44])
    check_width(phone)
    answers.get_by_text("animal", exact=True).tap()
    answers.get_by_role("button", name="Answer", exact=True).tap()
    expect(wall.locator(".enc-wall footer")).to_contain_text("1 of 2 answered")
    assert phone.evaluate("globalThis.__felt") == 2  # the option, and the answer
    desk.get_by_role("button", name="Show the result").click()
    expect(phone.locator(RIGHT_ON_PHONE)).to_have_count(2)  # in the row of the map, and in the class's bars
    together(desk, phone)
    wait_until_none(phone, CUT, [RIGHT_ON_PHONE, 44])
    session.detach()
