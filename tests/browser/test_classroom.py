"""One lesson in a room: a teacher and two students in Chromium, from the code to the result of a question."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_main_flow import type_sentence
from tests.conftest import check_width, open_page, query, settle, wait_until_none

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

#: What a browser has heard of the room, the version that its line has drawn, and whether it waits for nothing.
ROOM = """() => ({
  heard: String(globalThis.__encoderscopeRoom?.heard?.version),
  drawn: document.querySelector(".enc-room")?.dataset.version,
  rests: document.querySelector('[data-testid="stApp"]').dataset.testScriptState === "notRunning"
    && !globalThis.__encoderscopeAsked(),
  page: location.pathname,
})"""
TEXT = "The keys to the cabinet are old."
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}


def press(page: Page, name: str) -> None:
    page.locator(".enc-room").get_by_role("button", name=name, exact=True).click()


def sees(page: Page, name: str, value: str) -> None:
    """Wait until the page's address has this value."""
    page.wait_for_function("([name, value]) => new URL(location).searchParams.get(name) === value", arg=[name, value])


def test_a_class_follows_answers_and_sees_the_result(visit: Callable[..., Page]) -> None:
    teacher = visit("/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    teacher.wait_for_url(re.compile(r"room=\w{6}"))
    code = query(teacher)["room"]
    expect(teacher.locator(".enc-invite img")).to_be_visible()

    by_link = visit(f"/classroom?room={code}", width=390, height=844)
    by_code = visit("/classroom")
    by_code.get_by_role("textbox", name="Code").fill(f"{code[:3].lower()} {code[3:]}")
    by_code.keyboard.press("Enter")
    for student in (by_link, by_code):
        expect(student.locator(".enc-room-words")).to_contain_text("following")
    expect(teacher.locator(".enc-room-counts")).to_contain_text("2 here · 2 follow")
    expect(teacher.locator(".stMain").get_by_text("Here: 2")).to_be_visible()  # the desk draws that part again

    open_page(teacher, "Heads")
    settle(teacher)
    type_sentence(teacher, TEXT)
    for student in (by_link, by_code):
        sees(student, "text", TEXT)
        expect(student.locator('[aria-roledescription="heat map"]')).to_have_count(1)
    check_width(by_link)
    line = by_link.locator(".enc-room").bounding_box()
    assert line
    assert line["y"] + line["height"] == pytest.approx(844, abs=1)

    settle(by_code)
    by_code.go_back()  # to what the class saw before: she stays in the class
    sees(by_code, "room", code)
    sees(by_code, "text", TEXT)
    expect(by_code.locator(".enc-room-words")).to_contain_text("following")
    settle(by_code)
    type_sentence(by_code, "My own way.")
    expect(by_code.get_by_role("button", name="Return to class")).to_be_visible()
    expect(teacher.locator(".enc-room-counts")).to_contain_text("2 here · 1 follow")
    press(teacher, "Freeze")
    sees(by_code, "text", TEXT)
    expect(by_code.locator(".enc-room-words")).to_contain_text("frozen")
    press(teacher, "Spotlight")
    by_link.wait_for_function("() => document.documentElement.classList.contains('enc-spotlight')")

    wall = visit(f"/classroom?room={code}&wall=1", width=1920, height=1080)
    expect(wall.locator('[aria-roledescription="heat map"]')).to_have_count(1)
    expect(teacher.locator(".enc-room-counts")).to_contain_text("2 here · 2 follow")  # a wall is nobody
    settle(teacher)
    press(teacher, "Ask")
    settle(teacher)  # the form is drawn as a whole
    teacher.get_by_role("button", name="Ask the class").click()
    expect(teacher.get_by_role("button", name="Show the result")).to_be_visible()
    for student, word in ((by_link, "keys"), (by_code, "cabinet")):
        question = student.locator('[class*="st-key-ballot"]')
        question.get_by_text(word, exact=True).click()
        question.get_by_role("button", name="Answer", exact=True).click()
        expect(student.get_by_text("Your answer is sent.")).to_be_visible()
        expect(student.locator('[aria-roledescription="heat map"]')).to_have_count(0)
    expect(teacher.locator(".enc-room-counts")).to_contain_text("2 answers")
    expect(wall.locator(".enc-wall footer")).to_contain_text("2 of 2 answered")  # without anybody's click
    teacher.get_by_role("button", name="Show the result").click()
    for page in (teacher, by_link, by_code):
        answers = page.locator(".enc-bars").filter(has=page.get_by_text("Answers of the class"))
        expect(answers.locator("tr")).to_have_count(2)
        if page is not teacher:
            expect(page.locator('[aria-roledescription="heat map"]')).to_have_count(0)
            page.get_by_role("button", name="Open the picture").click()
        expect(page.locator('[aria-roledescription="heat map"]')).to_have_count(1)
    expect(wall.locator(".enc-wall tr[data-right]")).to_have_count(1)

    by_code.reload()  # the tab knows who it was
    expect(by_code.locator(".enc-room-words")).to_contain_text("following")
    sees(by_code, "text", TEXT)
    expect(teacher.locator(".enc-room-counts")).to_contain_text("2 here · 2 follow")
    for page in (teacher, by_link, by_code):
        settle(page)


#: The clock of a page can be put forward, by milliseconds.
LATER = """globalThis.__later = 0;
  const now = performance.now.bind(performance);
  performance.now = () => now() + globalThis.__later;"""
#: Controls that are drawn; those of a picture that are its labels, too, are none.
CONTROLS = """() => [...document.querySelectorAll(".stMain :is(button, input, select)")]
  .filter((one) => one.getClientRects().length && !one.closest(".enc-model-chips, .enc-model-opened :is(li, tr)"))
  .map((one) => one.textContent || one.ariaLabel)"""


@pytest.mark.slow("turns to the last step of a lesson")
def test_a_phone_keeps_what_is_typed_when_the_result_comes_first(visit: Callable[..., Page]) -> None:
    teacher = visit("/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    teacher.wait_for_url(re.compile(r"room=\w{6}"))
    phone = visit(f"/classroom?room={query(teacher)['room']}", **PHONE)
    settle(teacher)
    teacher.get_by_role("combobox", name="Lesson").click()
    teacher.get_by_role("option", name=re.compile("Tokens and ids")).click()
    teacher.get_by_role("button", name="Begin this lesson").click()
    for place in range(7):  # to the step whose answer is a text
        teacher.locator(f".st-key-desk-next-{place} button").click()
    field = phone.locator('[class*="st-key-ballot"] textarea')
    field.fill("A token is a piece")
    expect(phone.get_by_test_id("InputInstructions")).to_be_hidden()  # a phone has no Ctrl
    teacher.get_by_role("button", name="Show the result").click()
    expect(field).to_have_count(0)
    expect(phone.get_by_text("A token is a piece")).to_be_visible()
    teacher.get_by_role("button", name="Ask again").click()
    teacher.get_by_role("button", name="Begin a new vote").click()
    expect(field).to_have_value("A token is a piece")
    for page in (teacher, phone):
        settle(page)


def test_a_wall_has_a_clock_next_to_its_address_and_no_controls(visit: Callable[..., Page]) -> None:
    teacher = visit("/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    teacher.wait_for_url(re.compile(r"room=\w{6}"))
    code = query(teacher)["room"]
    wall = visit(f"/classroom?room={code}&wall=1", width=1920, height=1080, script=LATER)
    teacher.get_by_role("spinbutton", name="Timer").fill("1")
    teacher.locator(".st-key-desk-timer button").click()
    open_page(teacher, "Heads")
    expect(wall.locator('[aria-roledescription="heat map"]')).to_have_count(1)
    clock = wall.locator(".enc-room-clock")
    invitation = "a head to open it"
    expect(teacher.get_by_text(invitation)).to_be_visible()
    expect(wall.get_by_text(invitation)).to_have_count(1)
    expect(wall.get_by_text(invitation)).to_be_hidden()
    expect(clock).to_have_text(re.compile(r"0:\d\d"))
    boxes = [wall.locator(one).bounding_box() for one in (".enc-wall-code", ".enc-room")]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"], "the address is read next to the clock"
    wait_until_none(wall, CONTROLS)
    open_page(teacher, "Model")
    settle(teacher)
    teacher.locator(".enc-model-chips button").filter(has_text=re.compile("^Weights$")).click()
    expect(wall.locator(".enc-model-opened h2")).to_contain_text("Weight")
    wait_until_none(wall, CONTROLS)
    left = int(clock.inner_text().removeprefix("0:"))
    wall.evaluate("(seconds) => { globalThis.__later = 1000 * seconds; }", left + 2)
    expect(clock).to_have_text("0:00")
    wall.evaluate("() => { globalThis.__later = 120_000; }")
    expect(clock).to_have_text("")


def test_controls_are_hidden_from_one_open_list(visit: Callable[..., Page]) -> None:
    teacher = visit("/classroom", height=1000)
    teacher.get_by_role("button", name="Open a room").click()
    teacher.wait_for_url(re.compile(r"room=\w{6}"))
    settle(teacher)
    field = teacher.locator('[class*="st-key-desk-hidden"]')
    field.locator("input").click()
    for name in ("Sentence", "Names of pages"):  # a list that closed would leave the second click to what is behind it
        teacher.get_by_role("option", name=name).click()
        expect(field.get_by_text(name)).to_be_visible()
        settle(teacher)
    expect(teacher.get_by_role("option", name="Model")).to_be_visible()
    expect(teacher.locator('[class*="st-key-desk-bars"] input')).not_to_be_checked()


def test_a_room_is_closed_by_two_clicks_and_then_not_offered(visit: Callable[..., Page]) -> None:
    teacher = visit("/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    teacher.wait_for_url(re.compile(r"room=\w{6}"))
    code = query(teacher)["room"]
    settle(teacher)
    teacher.goto(teacher.url.partition("?")[0])
    teacher.get_by_role("button", name=f"Teach room {code} again").click()
    teacher.get_by_text("Your key, and the end of the room").click()
    teacher.get_by_role("button", name="Close the room").click()
    teacher.get_by_role("button", name="Close and delete").click()
    expect(teacher.get_by_role("button", name="Open a room")).to_be_visible()
    teacher.wait_for_function("code => !localStorage.getItem('encoderscope:rooms').includes(code)", arg=code)
    settle(teacher)
    expect(teacher.get_by_role("button", name="Teach room")).to_have_count(0)


@pytest.mark.slow("two teachers race, three times")
def test_of_two_teachers_the_last_one_wins_on_every_screen(visit: Callable[..., Page]) -> None:
    one = visit("/classroom")
    one.get_by_role("button", name="Open a room").click()
    one.wait_for_url(re.compile(r"room=\w{6}"))
    code = query(one)["room"]
    one.locator(".enc-room").get_by_text("teacher").wait_for()
    key = one.evaluate("(code) => JSON.parse(localStorage['encoderscope:rooms'])[code].key", code)
    open_page(one, "Heads")
    other = visit(f"/heads?room={code}#teach={key}")
    student = visit(f"/heads?room={code}")
    for page in (one, other, student):
        page.locator(".enc-room-words").get_by_text(code[:3]).wait_for()
        settle(page)
    pages = (("Norms", "Positions"), ("Interventions", "Norms"), ("Positions", "Heads"))
    for first, last in pages:
        links = [
            page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, include_hidden=True)
            for page, name in ((one, first), (other, last))
        ]
        for link in links:  # at the same moment: neither has heard of the other's click
            link.dispatch_event("click")
        settle_together([one, other, student])
        shown = {page.get_by_role("heading", level=1).inner_text() for page in (one, other, student)}
        assert len(shown) == 1, shown
        assert shown <= {first, last}
    late = visit(f"/heads?room={code}")  # who comes later sees what the room keeps
    late.get_by_role("heading", level=1, name=shown.pop(), exact=True).wait_for()


def settle_together(pages: list[Page]) -> None:
    """Wait until every browser has drawn the room's newest version and asks for nothing more, twice in a row.

    The server says a version within a tenth of a second. A busy machine takes longer to draw, so no time is compared.
    """
    before = None
    for _ in range(300):
        pages[0].wait_for_timeout(500)
        now = [page.evaluate(ROOM) for page in pages]
        versions = {one[name] for one in now for name in ("heard", "drawn")}
        if now == before and len(versions) == 1 and all(one["rests"] for one in now):
            return
        before = now
    raise AssertionError(f"the browsers do not agree: {before}")
