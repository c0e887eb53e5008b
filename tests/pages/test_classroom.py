"""A class under AppTest: a teacher and students, each with a session of their own, in one store."""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import json
import re
import time
from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from encoder.errors import EncoderError
from encoder.figures.numbers import three_digits
from pages.base.access import limits
from pages.core.stores import cache
from pages.model import switches
from pages.state import kept
from pages.teaching.desk import desk, strip
from pages.teaching.lessons import ahead, codes, library, path, progress
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import controls, read_question
from pages.teaching.rooms import Asked, Member, MemoryStore, Room, StoreUnavailable, ask, session
from pages.teaching.rooms.events import Tries
from pages.teaching.rooms.room import answer_mark, wall_mark
from pages.teaching.rooms.store import RoomError
from pages.teaching.stage import results, votes
from tests.pages.apps import sentences, visit, words

TEXT = "The keys to the cabinet are old."


class Person:
    """One session. `line` is what its strip says; `press` does what a click there does."""

    def __init__(self, school: School, page: str = "classroom", *, seat: dict[str, str] | None = None, **query: str):
        """seat: what its browser kept."""
        self.school, self.line, self.queue = school, {}, []
        school.now = self
        token = {kept.TOKEN: kept.give({"seat": seat})} if seat else {}
        self.app = visit(page, closed=True, **token, **query)
        self._follow()

    def run(self, act: Callable[[], AppTest] | None = None) -> Person:
        self.school.now, self.line = self, {}
        (act or self.app.run)()
        self._follow()
        return self

    def _follow(self) -> None:
        assert not self.app.exception
        if "_room_page" in self.app.session_state:  # AppTest does not note where st.switch_page leads
            self.app.switch_page(f"pages/{self.app.session_state['_room_page']}/page.py")

    def tell(self, **event: Any) -> Person:
        self.queue.append(event)
        return self.run().run()

    def press(self, name: str) -> Person:
        return self.tell(event="press", name=name)

    def news(self) -> Person:
        return self.tell(event="news")

    def click(self, key: str) -> Person:
        return self.run(lambda: self.app.button(key=key).click().run())

    def type(self, text: str) -> Person:
        return self.put("text_area", "view:text", text)

    def put(self, kind: str, key: str, value: object) -> Person:
        return self.run(lambda: getattr(self.app, kind)(key=key).set_value(value).run())

    def write(self, kind: str, key: str, value: object) -> Person:
        """Fill a field of a form, which its button sends."""
        getattr(self.app, kind)(key=key).set_value(value)
        return self

    def open(self, page: str, *, drawn: bool = False) -> Person:
        """A click on the name of a page, which has no values; drawn: an event of the page that the browser shows."""
        if not drawn:
            self.app.query_params.clear()
        return self.run(lambda: self.app.switch_page(f"pages/{page}/page.py").run())

    def values(self) -> dict[str, str]:
        return {name: value if isinstance(value, str) else value[-1] for name, value in self.app.query_params.items()}

    def html(self) -> str:
        return "\n".join(element.proto.body for element in self.app.get("html"))


class School:
    """One store, one teacher with an open room, and her students."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.now: Person

    def strip(self, header: dict[str, Any], buttons: list[dict[str, Any]], *, key: str, on_event: Callable) -> None:
        self.now.line = {**header, "buttons": [button["name"] for button in buttons]}
        for event in self.now.queue:
            on_event(event)
        self.now.queue = []

    def teacher(self, *, named: bool = False) -> tuple[Person, str]:
        teacher = Person(self)
        if named:
            teacher.run(lambda: teacher.app.checkbox(key="classroom:named").check().run())
        teacher.click("classroom:open")
        return teacher, teacher.values()["room"]

    def student(self, code: str, nickname: str = "") -> Person:
        student = Person(self)
        student.write("text_input", "classroom:code", code.lower())
        student.click("classroom:join")
        if nickname:
            student.write("text_input", "classroom:nickname", nickname)
            student.click("classroom:join")
        return student

    def room(self, code: str) -> Room:
        found = self.store.find(code)
        assert found
        return found


@pytest.fixture
def school(monkeypatch: pytest.MonkeyPatch) -> School:
    made = School(MemoryStore())
    monkeypatch.setattr(session, "current_store", lambda: made.store)
    monkeypatch.setattr(strip, "room_strip", made.strip)
    monkeypatch.setattr(progress, "TURNED", 0.0)  # no test waits for a hand
    monkeypatch.setattr(ahead, "_thread", SimpleNamespace(submit=lambda *_: None))  # nothing in the background
    monkeypatch.setattr("pages.teaching.rooms.events.MISSED", Tries(60))
    return made


def test_a_student_follows_leaves_and_is_called_back(school: School) -> None:
    teacher, code = school.teacher()
    assert "<img alt" in teacher.html()
    assert f"{code[:3]} {code[3:]}" in teacher.html()
    teacher.open("heads").type(TEXT)
    student = school.student(code).news()  # who comes late has the teacher's view
    assert student.values()["text"] == TEXT
    for name in ("layer", "head"):
        key = f"view:{name}"
        assert student.app.number_input(key=key).value == teacher.app.number_input(key=key).value
    assert "following" in student.line["words"]
    teacher.open("norms")
    student.news()
    assert student.app.text_area(key="view:text").value == TEXT
    assert student.line["buttons"] == ["around"]

    student.queue.append({"event": "news"})
    student.run()
    assert student.type("").values()["text"] == TEXT, "a slow browser drew the field without its value"
    assert student.line["buttons"] == ["around"]
    student.type("My own words.")
    assert student.line["buttons"] == ["return"]
    assert [member.follows for member in school.store.members(code).values()] == [False]
    teacher.type("Hers.")
    assert student.news().values()["text"] == "My own words."
    assert student.press("return").values()["text"] == "Hers."
    student.type("Again mine.")
    teacher.press("recall")
    assert student.news().values()["text"] == "Hers."

    teacher.press("freeze")
    student.news()
    assert student.type("Not now.").values()["text"] == "Hers."
    assert student.line["buttons"] == []
    assert [member.follows for member in school.store.members(code).values()] == [True]
    teacher.press("freeze").press("spotlight").press("spotlight")
    assert school.room(code).frozen, "a click that a reconnect repeats changes nothing"
    assert school.room(code).spotlight
    teacher.press("unfreeze").press("no-spotlight")
    assert not school.room(code).frozen
    assert not school.room(code).spotlight


def test_a_class_waits_for_no_effect_of_every_head(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    worth = switches.worth
    monkeypatch.setattr(switches, "worth", lambda view: measured.append(school.now) or worth(view))
    teacher, code = school.teacher()
    student, wall = school.student(code), Person(school, "classroom", room=code, wall="1")
    teacher.put("selectbox", "desk:lesson:", "06-feed-forward-and-residual-stream").click("desk:begin")
    for person in (student.news(), wall.news()):
        assert "the second half of a layer" in words(person.app) + person.html()
    assert not measured, "the picture comes first"
    student.press("around")
    assert {*measured} == {student}
    assert any("Without this head" in caption.value for caption in student.app.caption)


def test_what_is_told_to_a_room_stays_within_it(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads")
    before = school.room(code)
    teacher.run()
    assert school.room(code) == before, "a run without a change publishes nothing"
    assert {"room", "device", "dtype", "colours", "present"}.isdisjoint(before.view)
    teacher.run(lambda: teacher.app.switch_page("pages/classroom/page.py").run())
    assert school.room(code) == before, "the desk is the teacher's own"
    teacher.click("desk:timer")
    assert teacher.line["timer"] > 170
    teacher.run(lambda: teacher.app.multiselect[0].set_value(["model"]).run())
    student = school.student(code).news()
    style = f"{desk.hidden.CONTROLS['model'][1]} {{ display: none"
    assert style in student.html()
    assert style not in teacher.open("heads").html()
    assert student.line["timer"] > 0


def test_two_tabs_of_a_teacher_agree(school: School) -> None:
    first, code = school.teacher()
    first.open("heads").type(TEXT)
    key = first.line["key"]
    second = Person(school, "classroom", room=code, seat={"code": code, "key": key})
    assert second.line["key"] == key
    second.open("heads")
    second.type("From the second tab.")
    assert first.news().values()["text"] == "From the second tab."
    version = school.room(code).version
    for tab in (second, first, second):
        tab.news()
    assert school.room(code).version == version, "they do not publish in turn"


def test_the_controls_of_two_desks_agree_and_an_older_one_undoes_nothing(school: School) -> None:
    first, code = school.teacher()
    second = Person(school, "classroom", room=code, seat={"code": code, "key": first.line["key"]})

    def shown(desk: Person) -> tuple[bool, set[str]]:
        return desk.app.toggle[0].value, {*desk.app.multiselect[0].value}

    first.run(lambda: first.app.toggle[0].set_value(True).run())
    first.run(lambda: first.app.multiselect[0].set_value(["model", "text"]).run())
    key = first.app.multiselect[0].key
    second.put("selectbox", "desk:lesson:", "09-cost").click("desk:begin")  # before it hears of the news
    assert shown(first.run()) == shown(second.news()) == (True, {"text", "model"})
    assert first.app.multiselect[0].key == key, "its list stays open"
    second.run(lambda: second.app.multiselect[0].set_value([]).run())
    assert shown(first.news()) == (True, set())
    assert school.room(code).hidden == ()


def test_a_lesson_asks_and_the_class_answers(school: School) -> None:
    teacher, code = school.teacher(named=True)
    ada, eve, bob = (school.student(code, name) for name in ("Ada", "=EVE()", "Bob"))
    teacher.put("selectbox", "desk:lesson:", "90").click("desk:begin")
    assert "Minute 0 to 3 of 90" in words(teacher.app)
    for place in (0, 1, 2):
        teacher.click(f"desk:next:path:{place}")
    question = school.room(code).question
    assert question
    assert question.hides
    for student, chosen in ((ada, 2), (eve, 8)):
        student.news()
        assert not student.app.get("title"), "the page waits for the result"
        key = f"room:{question.id}"
        student.put("button_group", f"{key}:chosen", chosen)
        student.click(f"{key}:give")
        assert not student.app.success
    assert sorted(school.store.answers(code, question.id).values()) == ["2", "8"]
    ada = Person(school, "heads", room=code, seat={"code": code, "member": ada.line["member"]})
    assert "<tr data-right" not in ada.html()
    assert "<tr data-right" in teacher.run().html(), "the desk has what is right before the class"
    assert "Only you see this." in words(teacher.app)
    teacher.click("desk:timer")
    assert school.room(code).timer > 0
    teacher.click("room:reveal")
    assert school.room(code).timer == 0, "the time to answer ends with the result"
    ada.news()
    eve.news()
    assert "animal" in ada.app.success[0].value
    assert "street" in eve.app.warning[0].value
    said = bob.news().app.info[0].value
    assert "You sent no answer." in said
    assert "animal" in said
    assert not bob.app.success, "no sign of right for who has not answered"
    assert not ada.app.get("title"), "the answer and the row that was asked about"
    assert "<tr data-right><th scope='row'>animal" in ada.html()
    assert ada.click(f"room:{question.id}:look").app.header, "the page with its picture"
    rows = list(csv.reader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    assert {(row[8], row[2]) for row in rows[1:-3]} == {("2", ""), ("3", "")}, "steps that nobody answered, too"
    assert [(row[1], row[2], row[3], row[10] != "") for row in rows[-3:]] == [
        ("Ada", "animal", "1", True),
        ("'=EVE()", "street", "0", True),
        ("Bob", "", "", False),
    ], "who has not answered is there, in the order of joining"
    assert {tuple(row[7:10]) for row in rows[-3:]} == {("03-one-weight-by-hand", "4", "animal")}
    assert "Minute 14 to 18 of 90" in words(teacher.app)
    teacher.click("desk:next:path:3")
    assert school.room(code).question != question
    assert question.id in {one.id for one in school.room(code).past}
    teacher.press("page").click(f"lesson:back:{school.room(code).view['lesson_step']}")
    asked = school.room(code).question
    assert asked
    assert read_question(asked.definition).ask in words(teacher.app), "the run that asks shows the question"


@pytest.mark.parametrize(("limit", "most"), [("QUESTIONS", 1), ("ROOM_PAST", 10)])
def test_a_lesson_goes_on_in_a_room_that_holds_no_more_questions(
    school: School, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    assert "Minute" not in words(teacher.app), "a lesson by itself has no minutes"
    steps = library.find("03-one-weight-by-hand")
    assert steps
    monkeypatch.setattr(limits, limit, dataclasses.replace(getattr(limits, limit), usual=most))
    shown = []
    for number in range(6):
        teacher.click(f"desk:next:{number}")
        now = school.room(code)
        shown.append((now.view.get("lesson_step", "1"), now.question is not None))
        said = [one.value for one in teacher.app.warning if "new room" in one.value]
        asks = steps.step(number + 1).question is not None
        assert bool(said) == (asks and now.question is None), "what is left out is said"
    assert [step for step, _ in shown] == ["1", "2", "3", "4", "5", "6"], "each press turns the step"
    assert sum(asks for _, asks in shown) == 1, "the room held one"


def test_back_shows_what_the_class_was_asked_with_its_answers_and_result(school: School) -> None:
    teacher, code = school.teacher()
    student = school.student(code)
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    student.news().put("button_group", f"room:{question.id}:chosen", 8).click(f"room:{question.id}:give")
    teacher.run().click("room:reveal").click("desk:next:4")
    assert school.room(code).question != question
    teacher.click("desk:back:5")
    shown = school.room(code).question
    assert shown == dataclasses.replace(question, revealed=True), "the question as it was left"
    assert "street" in student.news().app.warning[0].value
    assert "data-right" in teacher.html()
    rows = list(csv.reader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    assert [row[2] for row in rows[1:] if row[2]] == ["street"], "each answer once"
    for again in ("room:reveal", "room:again"):  # a second click hits a button that does nothing
        assert teacher.app.button(key=again).disabled
    assert [one.label for one in teacher.app.main.button].index("Begin a new vote") > [
        one.label for one in teacher.app.main.button
    ].index("Close the question"), "in no place that a button has left"
    teacher.click("room:ask-again")
    again = school.room(code).question
    assert again
    assert (again.id != question.id, again.revealed, again.hides) == (True, False, True)
    assert not school.store.answers(code, again.id)
    assert school.store.answers(code, question.id), "the table keeps the first vote"


def test_no_page_tells_the_answer_while_a_question_withholds_it(school: School) -> None:
    teacher, code = school.teacher()
    student, alone = school.student(code), school.student(code)
    teacher.put("selectbox", "desk:lesson:", "04-heads").click("desk:begin")
    alone.news().press("around")
    assert alone.app.get("title")
    for number in (0, 1, 2):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    assert question.hides
    assert student.news().line["buttons"] == [], "nobody looks around"
    assert not alone.news().app.get("title"), "nor does who left before"
    assert not alone.open("norms").app.get("title"), "on no other page"
    teacher.run().click("room:reveal")
    assert student.news().line["buttons"] == ["around"]
    assert alone.news().app.get("title")


@pytest.mark.parametrize(
    ("name", "number", "told"),
    [
        ("04-heads", 5, ("because it was too tired.", "because it was too <b>wide.</b>")),
        ("07-normalisation", 3, ("The cat sat on the mat.", "The <b>dog</b> sat on the mat.")),
        ("07-normalisation", 1, ("The cat sat on the mat.",)),
    ],
)
def test_a_question_prints_the_sentences_that_it_is_about(
    school: School, name: str, number: int, told: tuple[str, ...]
) -> None:
    teacher, code = school.teacher()
    student, wall = school.student(code), Person(school, "classroom", room=code, wall="1")
    lesson = library.find(name)
    assert lesson
    step = lesson.step(number)
    assert step.question
    definition = step.question.definition()
    school.store.change(code, lambda room: ask(room, definition, step.view, hides=True))
    for is_revealed in (False, True):
        if is_revealed:
            teacher.run().click("room:reveal")
        student.news()
        wall.news()
        for one in told:
            assert one in wall.html()
            assert one.replace("<b>", "**").replace("</b>", "**") in words(student.app).replace("\\", "")


def test_the_desk_has_one_primary_button_and_says_when_a_lesson_is_over(school: School) -> None:
    teacher, code = school.teacher()

    def primary() -> list[str]:
        buttons = [one for one in teacher.app.button if one.proto.type == "primary" and not one.disabled]
        links = [one for one in teacher.app.get("link_button") if one.proto.type == "primary"]
        return [one.proto.label for one in (*buttons, *links)]

    assert len(primary()) == 1, "the wall"
    found = library.find("03-one-weight-by-hand")
    assert found
    teacher.put("selectbox", "desk:lesson:", found.name).click("desk:begin")
    seen = set()
    for number in range(found.last):
        seen.update(now := primary())
        assert len(now) == 1
        assert "lesson is over" not in words(teacher.app)
        teacher.click(f"desk:next:{number}")
    assert seen == {"Next", "Show the result"}
    if school.room(code).question is not None:
        teacher.click("room:reveal")
    assert "lesson is over" in words(teacher.app)


def test_a_class_sees_the_picture_of_a_step_without_controls(school: School) -> None:
    def drawn(one: Person) -> tuple[bool, bool, bool]:
        """Whether the picture, the controls of the page and its further parts are drawn."""
        keys = {str(box.key) for box in one.app.selectbox}
        ids = [part.proto.id for kind in ("bidi_component", "expander") for part in one.app.get(kind)]
        return (
            any("model-picture" in one for one in ids),
            "view:model" in keys,
            any("lazy:take" in one for one in ids),
        )

    teacher, code = school.teacher()
    wall, student = Person(school, "classroom", room=code, wall="1"), school.student(code)
    teacher.put("selectbox", "desk:lesson:", "08-pre-norm-or-post-norm").click("desk:begin")
    view = school.room(code).view
    for one in (student, wall):
        assert drawn(one.news()) == (True, False, False)
        assert one.values().get("model", "") == view.get("model", "")
    assert "Lesson 7 opened the norm." in wall.html().partition("enc-wall-step")[2], "what the step says"
    for number in range(4):
        teacher.click(f"desk:next:{number}")
    assert school.room(code).view["page"] == "training"
    for one in (student, wall):  # its question has no place, and takes none of a page before
        assert "How large is the" not in " ".join(said.value for said in one.news().app.caption)
        assert one.app.get("bidi_component")
    for number in range(4, 0, -1):
        teacher.click(f"desk:back:{number}")
    assert drawn(student.news().press("around")) == (True, True, True)
    assert drawn(teacher.press("page")) == (True, True, True)


def test_the_next_step_is_computed_while_the_class_is_at_this_one(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, int]] = []

    def at_once(compute: Callable[..., None], lesson: Lesson, number: int) -> None:
        cache.forget_traces()
        compute(lesson, number)
        assert cache.is_traced(look_of(lesson.step(number).view).run)
        done.append((lesson.name, number))

    monkeypatch.setattr(ahead, "_thread", SimpleNamespace(submit=at_once))
    monkeypatch.setattr(ahead, "_begun", set())
    monkeypatch.setattr(ahead, "AFTER", 0.0)
    monkeypatch.setattr(ahead, "QUIET", 0.0)
    teacher, code = school.teacher()
    student = school.student(code)
    teacher.put("selectbox", "desk:lesson:", "45").click("desk:begin")
    student.news()
    teacher.click("desk:next:path:0")
    student.news()
    marks = path.paths()["45"].marks
    assert done == [(mark.lesson, mark.step) for mark in marks[1:3]], "each once"


def test_the_second_of_two_clicks_turns_no_step(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin").click("desk:next:0")
    monkeypatch.setattr(progress, "TURNED", 60.0)
    teacher.click("desk:next:1")
    assert school.room(code).view.get("lesson_step", "1") == "1", "the step was drawn just before"
    monkeypatch.setattr(progress, "TURNED", 0.0)
    teacher.click("desk:next:1")
    assert school.room(code).view["lesson_step"] == "2"
    teacher.press("page")
    monkeypatch.setattr(progress, "TURNED", 60.0)
    teacher.click("lesson:next:2").press("step 3")
    assert school.room(code).view["lesson_step"] == "2", "the same above the class's page and in its line"
    monkeypatch.setattr(progress, "TURNED", 0.0)
    teacher.click("lesson:next:2")
    assert school.room(code).view["lesson_step"] == "3"


def test_answers_without_a_server_and_late_ones_reach_the_teachers_table(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, code = school.teacher(named=True)
    ada, eve = (school.student(code, name) for name in ("Ada", "Eve"))
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    file = {"lesson": "03-one-weight-by-hand", "answers": {"3": 0.5, "4": 8, "7": "Softmax of scores."}}
    pasted = codes.PREFIX + base64.b64encode(json.dumps(file).encode()).decode()
    ada.news().open("lessons").put("text_area", "lessons:code", pasted).click("lessons:take")
    assert "1 in time, 2 marked as late" in words(ada.app)
    assert school.store.answers(code, question.id) == {ada.line["member"]: "8"}
    eve.news().put("button_group", f"room:{question.id}:chosen", 2)
    teacher.run().click("room:reveal")
    eve.click(  # her screen has the question still
        f"room:{question.id}:give"
    )
    assert "marked as late" in eve.line["note"]
    assert [*school.store.answers(code, question.id).values()] == ["8"]
    assert "late" in words(teacher.run().app)
    rows = list(csv.DictReader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    for row in rows:
        if not row["time"]:
            continue
        assert abs(datetime.fromisoformat(row["time"]).timestamp() - time.time()) < 600
        assert row["time"].endswith("Z")
    assert [(row["who"], row["answer"], row["right"], row["late"]) for row in rows if row["answer"]] == [
        ("Ada", "street", "0", "0"),
        ("Eve", "animal", "1", "1"),
        ("Ada", "0.5", "0", "1"),
        ("Ada", "Softmax of scores.", "", "1"),
    ]

    def forgotten(asked: Asked) -> Any:
        raise EncoderError(f"{asked.view} does not open")

    monkeypatch.setattr(desk, "read", forgotten)  # as the view of an image that the server keeps no longer
    rows = list(csv.DictReader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    assert [(row["answer"], row["right"]) for row in rows if row["answer"]][:2] == [("8", ""), ("2", "")]


@pytest.mark.slow("a class of several visitors votes twice")
def test_a_class_votes_discusses_and_votes_again(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads")
    students = [school.student(code) for _ in range(3)]
    definition = {
        "kind": "number",
        "ask": "?",
        "quantity": {"weighted_sum": {"weights": [0.75, 0.25], "values": [4, 0]}},
        "within": 0.01,
        "mistakes": [{"answer": 4, "says": "Took the largest weight."}],
    }
    first = school.store.change(code, lambda room: ask(room, definition, hides=True)).question
    assert first

    def vote(student: Person, question: str, number: str) -> None:
        student.news()
        student.write("text_input", f"room:{question}:number", number)
        student.click(f"room:{question}:give")

    vote(students[0], first.id, "3")
    assert "100% right" in words(teacher.press("desk").run().app)
    assert "show the result" not in words(teacher.app), "one of three is not the class"
    for student in students[1:]:
        vote(student, first.id, "4")
    assert "33% right" in words(teacher.press("desk").run().app)
    assert "Discussion pays" in words(teacher.app)
    teacher.click("room:again")
    second = school.room(code).question
    assert second
    assert (second.before, second.hides, second.definition) == (first.id, True, definition)
    students[0].news()
    assert "number" in words(students[0].app)
    assert not votes.may_follow(second)
    vote(students[1], second.id, "3")
    vote(students[2], second.id, "4")
    assert "Took the largest" not in students[2].html()
    teacher.run().click("room:reveal")
    assert len(school.store.answers(code, first.id)) == 3, "the first vote stays as it was"
    assert "Took the largest weight." in teacher.html()
    right, wrong = (student.news() for student in students[1:])
    assert "Took the largest weight." in right.html(), "below the bar of others"
    assert "Took the largest weight" in wrong.app.warning[0].value, "with her own answer, and once only"
    assert "Took the largest weight" not in wrong.html()
    assert {"First vote: 3, 33% right", "After the discussion: 2, 50% right"} <= {
        one.value for one in teacher.app.caption
    }
    assert "50% of those who voted twice" in words(teacher.app)
    rows = list(csv.reader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    assert sorted(row[3:6] for row in rows[1:]) == sorted(
        [
            ["1", "1", ""],
            ["0", "1", "Perhaps you thought: “Took the largest weight.”"],
            ["0", "1", "Perhaps you thought: “Took the largest weight.”"],
            ["1", "2", ""],
            ["0", "2", "Perhaps you thought: “Took the largest weight.”"],
            ["", "2", ""],
        ]
    )


def test_the_table_numbers_every_vote_of_a_question(school: School) -> None:
    teacher, code = school.teacher()
    definition = {"kind": "choice", "ask": "Ready?", "options": ["Yes", "No"]}
    put(school, code, definition, 0)
    put(school, code, {**definition, "ask": "Something else?"}, 0)
    put(school, code, definition, 1)
    teacher.run().click("room:reveal").click("room:ask-again")
    again = school.room(code).question
    assert again
    school.store.answer(code, again.id, "member-000000000", "0")
    rows = csv.DictReader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig")))
    assert [(row["vote"], row["answer"]) for row in rows if row["question"] == "Ready?"] == [
        ("1", "Yes"),
        ("2", "No"),
        ("3", "Yes"),
    ]


@pytest.mark.slow("a class answers two forms of the concept test")
def test_a_class_takes_the_concept_test_before_and_after(school: School) -> None:
    teacher, code = school.teacher()
    teacher.app.session_state["lazy:desk-test"] = teacher.app.session_state["lazy:desk-end"] = True
    students = [school.student(code) for _ in range(3)]
    for form, right in (("A", 2), ("B", 8)):
        teacher.run().click(f"desk:test:{form}")
        asked = school.room(code).question
        assert asked
        truth = read_question(asked.definition).truth(look_of({})).value
        for student in students:
            student.news()
            key = f"room:{asked.id}"
            for number, true in enumerate(truth):
                chosen = true if number < right else (true + 1) % 3
                student.app.radio(key=f"{key}:item:{number}").set_value(chosen)
            student.run(
                lambda student=student: (
                    next(one for one in student.app.button if one.label == "Send all answers").click().run()
                )
            )
            assert "sent" in words(student.app)
        assert len(school.store.answers(code, asked.id)) == 3
        teacher.run()
        assert not [one for one in teacher.app.button if one.key in ("room:reveal", "room:again")]
        teacher.click("room:close-question")
    assert desk.export(school.room(code)).count(b"\n") == 1, "the concept test has a table without names"
    said = words(teacher.run().app)
    assert "**0.75**, 95% interval 0.75 to 0.75" in said
    assert "of 3 students" in said
    assert teacher.app.button(key="desk:test:A").disabled
    for answer in ("no", "yes"):
        assert school.store.find(code), "one click deletes nothing"
        teacher.click("desk:close").click(f"desk:close:{answer}")
    assert school.store.find(code) is None, "the answers are deleted with the room"


def test_pairs_gave_different_answers() -> None:
    first = {f"member {n}": str(n % 2) for n in range(9)}
    found = votes.pairs(first)
    numbers = {member: own for member, (own, _) in found.items()}
    assert sorted(numbers.values()) == list(range(1, 10))
    members = {own: member for member, own in numbers.items()}
    groups = {frozenset({own, *partners}) for own, partners in found.values()}
    assert sorted(map(len, groups)) == [2, 2, 2, 3]
    assert all(len({first[members[own]] for own in group}) == 2 for group in groups)
    assert votes.pairs({"one": "1"}) == {"one": (1, ())}
    assert votes.pairs({}) == {}


@pytest.mark.slow("a class of several visitors votes")
def test_a_poll_on_the_spot_is_escaped_and_has_no_truth(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads")
    student = school.student(code).news()
    teacher.press("ask")
    teacher.put("button_group", "ask:kind", "choice")
    teacher.put("text_input", "ask:poll", "Ready?")
    teacher.put("text_area", "ask:options", "<script>yes\nno")
    teacher.click("ask:go")
    question = school.room(code).question
    assert question
    student.news()
    assert student.click(f"room:{question.id}:look").app.get("title"), "a poll hides nothing"
    student.click(f"room:{question.id}:back")
    student.put("button_group", f"room:{question.id}:chosen", 0)
    student.click(f"room:{question.id}:give")
    teacher.run().click("room:reveal")
    assert "&lt;script&gt;yes" in teacher.html()
    assert "<script>yes" not in teacher.html()
    assert "<script>yes" not in student.news().html()
    assert "ask" in teacher.press("ask").line["buttons"], "the next question needs no other click"
    teacher.put("button_group", "ask:kind", "draw")
    teacher.click("ask:go")
    assert school.room(code).asked == 2


def test_the_desk_asks_before_the_class_has_seen_a_page(school: School) -> None:
    teacher, code = school.teacher()
    student = school.student(code)
    asked = school.store.change(code, lambda room: ask(room, {"kind": "choice", "ask": "?", "options": ["a", "b"]}))
    assert asked.question
    student.news()
    student.put("button_group", f"room:{asked.question.id}:chosen", 1)
    student.click(f"room:{asked.question.id}:give")
    assert [*school.store.answers(code, asked.question.id).values()] == ["1"]
    assert [button.key for button in teacher.run().app.button].count("room:reveal") == 1, "on the desk only"


def test_a_teacher_marks_the_right_option_of_her_own_question(school: School) -> None:
    teacher, code = school.teacher()
    right, wrong, wall = school.student(code), school.student(code), Person(school, "classroom", room=code, wall="1")
    teacher.open("heads").press("ask").put("button_group", "ask:kind", "choice")
    teacher.put("text_input", "ask:poll", "Is it a proof?").put("text_area", "ask:options", "Yes\nNo\nPerhaps")
    (mark,) = (one for one in teacher.app.selectbox if one.key.startswith("ask:right:"))
    assert mark.value is None, "a poll, unless she marks one"
    teacher.put("selectbox", mark.key, 1).click("ask:go")
    asked = school.room(code).question
    assert asked
    for person, option in ((right, 1), (wrong, 0)):
        person.news().put("button_group", f"room:{asked.id}:chosen", option).click(f"room:{asked.id}:give")
        assert [*person.app.success, *person.app.warning, *person.app.info] == []
    assert "<li data-right" not in wall.news().html()
    teacher.run().click("room:reveal")
    assert right.news().app.success
    assert "No" in wrong.news().app.warning[0].value
    assert re.findall(r"<li data-right>.*?</b> (\w+)", wall.news().html()) == ["No"]
    rows = list(csv.DictReader(io.StringIO(desk.export(school.room(code)).decode("utf-8-sig"))))
    assert [(row["answer"], row["right"], row["right_answer"]) for row in rows] == [
        ("No", "1", "No"),
        ("Yes", "0", "No"),
    ]


def test_a_question_about_the_view_is_computed_from_it(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads").type(TEXT)
    teacher.press("ask")
    for kind in ("head", "number", "draw", "token"):
        teacher.put("button_group", "ask:kind", kind)
        assert not teacher.app.button(key="ask:go").disabled
    teacher.click("ask:go")
    asked = school.room(code).question
    assert asked
    assert asked.view["text"] == TEXT
    teacher.type("Another sentence, of which nobody is asked.")
    question = read_question(asked.definition)
    _, look = strip.question_box.read(asked)
    assert look
    row = look.row(int(question.query))
    assert question.truth(look).value[0] == max(question.choices(look), key=lambda at: row[at])


def test_a_reload_takes_the_same_seat(school: School) -> None:
    teacher, code = school.teacher(named=True)
    teacher.open("heads").type(TEXT)
    student = school.student(code, "Ada").news()
    member = student.line["member"]
    again = Person(school, "heads", room=code, seat={"code": code, "member": member})
    assert again.line["member"] == member
    assert again.values()["text"] == TEXT
    assert [one.nickname for one in school.store.members(code).values()] == ["Ada"]
    for kept_seat in (
        {"code": code, "key": "guess", "member": "../../x"},
        {"code": code, "member": "x" * 22},
        {"code": "ACD347", "member": member},
        {},
    ):
        stranger = Person(school, "heads", room=code, seat=kept_seat)
        assert not stranger.line.get("key")
        assert stranger.app.text_input(key="classroom:nickname") is not None
    assert len(school.store.members(code)) == 1
    lost = Person(school, "heads", room="ACD347")
    assert "ACD347" in sentences(lost.app)
    assert "room" not in lost.values()


def test_a_member_who_opens_the_page_classroom_is_in_her_room(school: School) -> None:
    _, code = school.teacher(named=True)
    mia = school.student(code, "Mia").line["member"]
    last = {"code": code, "member": mia}
    again = Person(school, seat=last)
    assert "**Mia**" in words(again.app)
    assert again.values()["room"] == code
    assert len(school.store.members(code)) == 1
    again.click("classroom:leave")
    assert again.app.text_input(key="classroom:code") is not None, "who leaves does not return by herself"
    assert "room" not in again.run().values()
    unknown = Person(school, seat={"code": code, "member": "x" * 22})
    school.store.close(code)
    for person in (unknown, Person(school, seat=last), Person(school, seat={"code": "<b>"})):
        assert person.app.text_input(key="classroom:code") is not None
        assert "room" not in person.values()
        assert not sentences(person.app)


@pytest.mark.parametrize("named", [True, False])
def test_a_member_of_the_page_classroom_returns_when_the_store_is_back(
    school: School, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    _, code = school.teacher(named=named)
    member = school.student(code, "Mia" if named else "").line["member"]
    with monkeypatch.context() as away:
        for name in ("find", "members"):
            away.setattr(school.store, name, lambda _: (_ for _ in ()).throw(StoreUnavailable("away")))
        late = Person(school, seat={"code": code, "member": member})
        assert late.line["asks"]
        assert late.values()["room"] == code, "a further reload returns, too"
        assert "away" in sentences(late.app)
    assert late.news().line["member"] == member
    assert not late.line["asks"]


def test_a_student_is_no_teacher(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads")
    before = school.room(code)
    student = school.student(code)
    for name in ("freeze", "recall", "spotlight", "step 2"):
        student.press(name)
    student.app.session_state["_room_seat"] = session.Seat(code, "", "a guessed key")
    student.press("freeze")
    assert school.room(code) == before


def test_codes_are_not_guessed_and_bad_ones_get_a_sentence(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.teaching.rooms.events.MISSED", Tries(2, clock=lambda: 0.0))
    monkeypatch.setattr(session, "_address", lambda: "203.0.113.7")
    _, code = school.teacher()
    for typed in ("short", "ACD 347", "ACD 349"):
        assert sentences(school.student(typed).app)
    assert school.student(code).values()["room"] == code, "this network knows the room already: its class goes on"
    monkeypatch.setattr(session, "_address", lambda: "203.0.113.8")
    for typed in ("ACD 347", "ACD 349"):
        assert sentences(school.student(typed).app)
    assert "room" not in school.student(code).values(), "too many tries: a right code is not looked up either"


def test_one_network_does_not_open_all_rooms(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.teaching.rooms.events.OPENED", Tries(2, clock=lambda: 0.0))
    monkeypatch.setattr(session, "_address", lambda: "203.0.113.7")
    school.teacher()
    school.teacher()
    third = Person(school).click("classroom:open")
    assert "room" not in third.values()
    assert sentences(third.app)
    monkeypatch.setattr(session, "_address", lambda: "203.0.113.8")
    _, code = school.teacher()
    monkeypatch.setattr(session, "seat", lambda: session.Seat(code, "", "key"))
    with pytest.raises(RoomError):
        session.open_room(named=False)  # a second one, by a message that no page sends


def test_a_nickname_and_a_key_are_foreign_text(school: School) -> None:
    _, code = school.teacher(named=True)
    student = school.student(code, nickname="[x](http://a.test)<b>").open("classroom")
    said = " ".join(one.value for one in student.app.markdown)
    assert "http" in said
    assert "](http" not in said
    assert not school.room(code).is_taught_with("\ud800")


def test_a_closed_room_ends_for_everybody(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads").type(TEXT)
    student = school.student(code).news()
    school.store.close(code)
    assert not student.run().line
    assert f"{code[:3]} {code[3:]} is closed" in student.app.title[0].value
    assert student.values()["text"] == TEXT
    student.click("closed:explore")
    assert not [one for one in student.app.title if "closed" in one.value]
    assert "room" not in student.values()
    assert not teacher.news().line


def test_a_room_is_closed_while_the_class_votes(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, code = school.teacher()
    wall, student = Person(school, "classroom", room=code, wall="1"), school.student(code)
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    student.news().put("button_group", f"room:{question.id}:chosen", 2)
    wall.news()
    school.store.close(code)

    def away(*_: str) -> bool:
        raise StoreUnavailable("away")

    with monkeypatch.context() as now:
        now.setattr(school.store, "answer", away)  # the answer waits, and its room is gone
        student.click(f"room:{question.id}:give")

    def offered(person: Person) -> list[str]:
        return [one.key for one in person.app.main.button if one.label != "Present"]

    assert offered(student) == ["closed:explore", "closed:lessons", "closed:join"], "no question of the lesson"
    assert not {"room", "lesson", "lesson_step"} & student.values().keys()
    back = Person(school, "heads", room=code, lesson="03-one-weight-by-hand", lesson_step="4",
                  seat={"code": code, "member": question.id + "x" * 16})  # fmt: skip
    for one in (wall.run(), Person(school, "classroom", room=code, wall="1")):  # it stays the end after a reload
        assert "enc-wall-end" in one.html()
        assert not offered(one), "no page of a teacher or of the lesson"
    assert offered(back) == offered(student), "a phone that slept at the end"
    teacher.run()
    again, other = school.teacher()
    assert again.line["code"] == other != code
    del student.app.session_state["_room_page"]  # of the room before
    student.click("closed:join").open("classroom").write("text_input", "classroom:code", other).click("classroom:join")
    assert student.line["code"] == other
    student.news()
    assert not school.store.answers(other, "late"), "it is no answer of the next room"


def test_who_joins_again_under_another_nickname_keeps_her_answers(school: School) -> None:
    _, code = school.teacher(named=True)
    ada = school.student(code, "Ada")
    definition = {"kind": "choice", "ask": "Which?", "options": ["one", "two"]}
    question = put(school, code, definition)
    ada.news().put("button_group", f"room:{question}:chosen", 0).click(f"room:{question}:give")
    ada.press("around").open("classroom").click("classroom:leave")
    ada.write("text_input", "classroom:code", code).write("text_input", "classroom:nickname", "Grace")
    ada.click("classroom:join")
    assert [one.nickname for one in school.store.members(code).values()] == ["Grace"]
    ada.news().click(f"room:{question}:again").put("button_group", f"room:{question}:chosen", 1)
    ada.click(f"room:{question}:give")
    assert [*school.store.answers(code, question).values()] == ["1"], "one student, one answer"
    table = desk.export(school.room(code)).decode("utf-8-sig")
    assert "Grace" in table
    assert "Ada" not in table


def test_every_tab_of_a_student_knows_her_answer_when_the_result_is_shown(school: School) -> None:
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    first = school.student(code).news()
    second = Person(school, "heads", room=code, seat={"code": code, "member": first.line["member"]}).news()
    first.put("button_group", f"room:{question.id}:chosen", 8).click(f"room:{question.id}:give")
    first.click(f"room:{question.id}:again")  # she would change it, and does not in time
    teacher.run().click("room:reveal")
    for one in (first, second):
        assert "street" in one.news().app.warning[0].value


@pytest.mark.slow("a store that is away and returns, for several visitors")
def test_a_store_that_is_away_gets_a_sentence_and_loses_no_answer(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, code = school.teacher()
    teacher.open("heads")
    student = school.student(code).news()
    asked = school.store.change(code, lambda room: ask(room, {"kind": "choice", "ask": "?", "options": ["a", "b"]}))
    student.news()
    assert asked.question
    key = f"room:{asked.question.id}"

    def away(*_: object) -> None:
        raise StoreUnavailable("away for a moment")

    with monkeypatch.context() as gone:
        for name in ("find", "answer", "answers", "change", "join", "members"):
            gone.setattr(school.store, name, away)
        student.put("button_group", f"{key}:chosen", 1)
        student.click(f"{key}:give")
        assert student.line["stale"]
        assert "away" in student.line["note"]
        teacher.type("Typed meanwhile.")
    own = {name: student.line[name] for name in ("member", "waiting")}
    student.news()  # the answer arrives by itself
    assert [*school.store.answers(code, asked.question.id).values()] == ["1"]
    assert student.line["waiting"] == "{}"
    # A process that stops meanwhile takes nothing along: the browser has the answer. It may say anything else.
    school.store.answer(code, asked.question.id, own["member"], "0")
    for waiting in ("[1]", "3", "{", "[" * 5000, '{"a": {}}', own["waiting"]):
        Person(school, "heads", room=code, seat={"code": code, **own, "waiting": waiting}).news()
    assert [*school.store.answers(code, asked.question.id).values()] == ["1"]
    assert teacher.news().values()["text"] == "Typed meanwhile."
    assert school.room(code).view["text"] == "Typed meanwhile."


def test_a_ballot_that_the_store_left_in_the_middle_of_a_run_comes_when_it_is_back(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has read the room's newest version: only the line's `stale` makes the browser ask again."""
    _, code = school.teacher()
    student = school.student(code).news()
    asked = school.store.change(code, lambda room: ask(room, {"kind": "choice", "ask": "?", "options": ["a", "b"]}))
    assert asked.question

    def away(*_: object) -> None:
        raise StoreUnavailable("away for a moment")

    with monkeypatch.context() as gone:
        gone.setattr(school.store, "answers", away)
        student.news()
        assert (student.line["version"], student.line["stale"]) == (asked.version, True)
    student.news()
    assert not student.line["stale"]
    student.put("button_group", f"room:{asked.question.id}:chosen", 1)


def test_what_a_teacher_clicks_while_the_store_is_away_is_done_when_it_is_back(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "01-tokens")
    teacher.click("desk:begin")
    before = school.room(code)

    def away(*_: object) -> None:
        raise StoreUnavailable("away for a moment")

    with monkeypatch.context() as gone:
        for name in ("find", "answers", "change", "members"):
            gone.setattr(school.store, name, away)
        for number in (0, 1):  # each click shows what it does
            teacher.click(f"desk:next:{number}")
            assert teacher.line["stale"]
            assert "away" in sentences(teacher.app)
        teacher.press("freeze")
        assert teacher.line["version"] == before.version
    assert school.room(code) == before
    teacher.news()
    assert school.room(code).view["lesson_step"] == "2"
    assert school.room(code).frozen
    assert teacher.line["version"] == school.room(code).version
    assert "away" not in sentences(teacher.app)
    with monkeypatch.context() as gone:  # and it is back before the page is drawn

        def once(*_: object) -> None:
            gone.undo()
            away()

        gone.setattr(school.store, "change", once)
        teacher.click("desk:next:2")
    assert school.room(code).view["lesson_step"] == "3"


@pytest.mark.slow("a store that is away and returns, for several visitors")
def test_a_click_after_the_store_is_back_follows_the_ones_that_wait(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its callback comes before the run that reads the room again."""
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "01-tokens")
    teacher.click("desk:begin")

    def away(*_: object) -> None:
        raise StoreUnavailable("away for a moment")

    with monkeypatch.context() as gone:
        for name in ("find", "answers", "change", "members"):
            gone.setattr(school.store, name, away)
        teacher.click("desk:next:0")
    teacher.click("desk:next:1")
    assert school.room(code).view["lesson_step"] == "2"
    assert not teacher.line["stale"]


def test_who_reloads_while_the_store_is_away_comes_back(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, code = school.teacher(named=True)
    key = teacher.line["key"]
    teacher.open("heads").type(TEXT)
    mia = school.student(code, "Mia").line["member"]

    def away(*_: object) -> None:
        raise StoreUnavailable("away for a moment")

    people = {"heads": {"member": mia}, "classroom": {"key": key}, "norms": {"key": key}}
    reloaded = []
    with monkeypatch.context() as gone:
        for name in ("find", "join", "members"):
            gone.setattr(school.store, name, away)
        for page, own in people.items():
            person = Person(school, page, room=code, seat={"code": code, **own})
            for _ in range(2):  # the browser asks until the store answers
                assert person.values()["room"] == code
                assert person.line["asks"]
                assert person.line["stale"]
                assert "away" in sentences(person.app)
                person.news()
            reloaded.append(person)
    for person, own in zip(reloaded, people.values(), strict=True):
        person.news()
        assert person.line["member"] == own.get("member", "")
        assert person.line["key"] == own.get("key", "")
        assert not person.line["stale"]
    assert reloaded[0].values()["text"] == TEXT
    assert "room" in reloaded[1].values()
    assert len(school.store.members(code)) == 1


@pytest.mark.slow("two teachers race")
def test_the_last_of_two_teachers_wins_for_everybody(school: School) -> None:
    one, code = school.teacher()
    key = one.line["key"]
    one.open("heads").type(TEXT)
    other = Person(school, "heads", room=code, seat={"code": code, "key": key})
    student = school.student(code).news()
    one.open("norms")
    other.open("positions")  # before she has heard of it
    assert school.room(code).view["page"] == "positions"
    student.news()
    one.news()
    assert one.app.session_state["_room_page"] == "positions"
    # The browser asks for the page before, as it did not know yet that it is left.
    one.open("norms", drawn=True)
    assert school.room(code).view["page"] == "positions"
    for person in (one, other, student.news()):
        assert person.app.session_state["_room_page"] == "positions"
    one.open("norms")  # by a click
    assert school.room(code).view["page"] == "norms"
    version = school.room(code).version
    for person in (other, student, one):
        person.news()
        assert person.app.session_state["_room_page"] == "norms"
    assert school.room(code).version == version


def test_rooms_can_be_switched_off(school: School) -> None:
    school.store = None  # type: ignore[assignment]
    person = Person(school)
    assert "--rooms off" in sentences(person.app)
    assert not person.line
    assert not [button for button in person.app.button if "classroom" in (button.key or "")]


def test_many_different_numbers_become_a_histogram() -> None:
    question = read_question(
        {"kind": "number", "ask": "?", "quantity": {"softmax": {"scores": [0, 0], "at": 0}}, "within": 0.05}
    )
    answers = [round(0.3 + k / 100, 2) for k in range(40)] + [1e9]
    look = look_of({})
    bars = results.bars(question, look, answers)
    assert sum(bar.count for bar in bars) == 41
    assert sum(bar.right is True for bar in bars) == 1
    (right,) = [bar for bar in bars if bar.right]
    inside = [one for one in answers if question.is_right(one, look)]
    assert right.count == len(inside), "what counts as right is in its bar, and nothing else"
    assert right.label == f"{min(inside)} to {max(inside)}"
    drawn = results.read(question, look, {"a": "0.5", "b": '"no number"', "c": "{"})
    assert drawn == {"a": 0.5}
    assert results.read(question, look, {"a": json.dumps([1])}) == {}


def test_the_copied_link_has_no_room(school: School) -> None:
    _, code = school.teacher()
    student = school.student(code)
    assert student.values()["room"] == code
    assert code in student.app.title[0].value.replace(" ", "")
    student.run(lambda: student.app.button(key="classroom:leave").click().run())
    assert "room" not in student.values()
    assert re.fullmatch(r"[\w-]{22}", next(iter(school.store.members(code))))
    assert isinstance(next(iter(school.store.members(code).values())), Member)


def test_a_wall_shows_code_question_bars_and_the_row_and_answers_nothing(school: School) -> None:
    teacher, code = school.teacher()
    wall = Person(school, "classroom", room=code, wall="1")
    assert wall.line["wall"]
    assert (wall.line["member"], wall.line["key"], wall.line["buttons"]) == ("", "", [])
    assert f"{code[:3]} {code[3:]}" in wall.html()
    student = school.student(code)
    assert len(school.store.members(code)) == 1, "a wall is nobody"
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    wall.news()
    assert not wall.app.get("title"), "no page behind the question"
    assert not [one for one in wall.app.button if "give" in str(one.key)]
    assert question.definition["ask"] in wall.html()
    assert "0 of 1 answered" in wall.html()
    student.news().put("button_group", f"room:{question.id}:chosen", 2).click(f"room:{question.id}:give")
    assert "1 of 1 answered" in wall.news().html()
    one_bar = "<span>animal</span><b>1</b><i style='width:100%'>"
    assert one_bar not in wall.html(), "a vote is not drawn to what others chose"
    teacher.run().run(lambda: teacher.app.toggle(key="desk:bars:0").set_value(True).run())
    assert one_bar in wall.news().html()
    assert "<tr data-right" not in wall.html()
    teacher.run().click("room:reveal")
    wall.news()
    assert "1 of 1 right" in wall.html()
    row = read_question(question.definition).truth(look_of(question.view)).numbers
    assert f"animal ✓</th><td>{three_digits(max(row.values()))}" in wall.html()
    teacher.run().click("room:close-question")
    assert wall.news().app.header, "the stage of the step"
    assert Person(school, "heads", room=code, wall="1").line["wall"], "a wall that is reloaded"


def put(school: School, code: str, definition: dict[str, Any], *answers: object, again: str = "") -> str:
    """Ask the class a question, which as many members answer; again: the question that was asked before."""
    asked = school.store.change(code, lambda room: ask(room, definition, before=again)).question
    assert asked
    for number, answer in enumerate(answers):
        school.store.join(code, Member(f"member-{number:09}"))
        school.store.answer(code, asked.id, f"member-{number:09}", json.dumps(answer))
    return asked.id


def test_after_a_poll_every_screen_says_what_was_chosen(school: School) -> None:
    teacher, code = school.teacher()
    student, wall = school.student(code), Person(school, "classroom", room=code, wall="1")
    asked = put(school, code, {"kind": "choice", "ask": "Ready?", "options": ["Yes", "No"]})
    student.news().put("button_group", f"room:{asked}:chosen", 1).click(f"room:{asked}:give")
    teacher.run().click("room:reveal")
    assert "No" in student.news().app.info[0].value
    assert "answered" not in wall.news().html()
    assert "1 answer<" in wall.html()
    assert "1 answer " in words(teacher.app)


def test_the_class_is_on_the_wall_next_to_what_is_right(school: School) -> None:
    teacher, code = school.teacher()
    teacher.open("heads").type(TEXT).press("desk")
    wall = Person(school, "classroom", room=code, wall="1")
    look = look_of(school.room(code).view)
    one_token = [[float(at == chosen) for at in range(look.trace.n_tokens)] for chosen in (2, 2, 3)]
    put(school, code, {"kind": "draw", "ask": "Draw.", "query": 2}, *one_token)
    assert "0.667" not in wall.news().html(), "a vote is not drawn to what others drew"
    teacher.run().click("room:reveal")
    row = look.at(None, None).row(2)
    both = f"<td>{three_digits(row[2])}</td><td>{three_digits(2 / 3)}</td>"
    for person in (wall.news(), teacher):
        assert f"keys</th>{both}" in person.html(), "the class's mean row next to the model's"

    first = put(school, code, {"kind": "draw", "ask": "Again.", "query": 2}, *one_token)
    put(school, code, {"kind": "draw", "ask": "Again.", "query": 2}, one_token[0], again=first)
    both = f"<td>{three_digits(row[2])}</td><td>{three_digits(2 / 3)}</td><td>1</td>"
    assert f"keys</th>{both}" in teacher.run().html(), "the desk has both votes below the model's row"
    teacher.click("room:reveal")
    for person in (wall.news(), teacher):
        assert f"keys</th>{both}" in person.html(), "below the model's row"

    order = {
        "kind": "order",
        "ask": "Order.",
        "items": {"long": {"n_pieces": {"text": "a b c"}}, "<i>": {"n_pieces": {"text": "a"}}},
    }
    put(school, code, order, ["long", "<i>"], ["<i>", "long"], ["<i>", "long"])
    assert "&lt;i&gt; &gt; long" not in wall.news().html()
    teacher.run().click("room:reveal")
    for person in (wall.news(), teacher):
        assert "<th scope='row'>&lt;i&gt; &gt; long</th><td>2</td>" in person.html()
        assert "<th scope='row'>long &gt; &lt;i&gt; ✓</th><td>1</td>" in person.html()


@pytest.mark.parametrize(
    ("definition", "answers", "one_bar"),
    [
        (
            {"kind": "concept", "ask": "?", "options": [{"says": "so", "right": True}, {"says": "not so"}]},
            (0, 1),
            "<b>1 → 2</b>",
        ),
        (
            {"kind": "number", "ask": "?", "quantity": {"softmax": {"scores": [0, 0], "at": 0}}, "within": 0.1},
            (0.5, 9),
            "<td>1</td><td>2</td>",
        ),
    ],
)
def test_a_discussion_and_both_votes_are_on_the_wall(
    school: School, definition: dict[str, Any], answers: tuple[float, float], one_bar: str
) -> None:
    right, wrong = answers
    teacher, code = school.teacher()
    wall = Person(school, "classroom", room=code, wall="1")
    first = put(school, code, definition, right, wrong, wrong)
    discuss = f"Discuss with your partner: {votes.WHY}"
    assert discuss not in wall.news().html()
    put(school, code, definition, right, right, again=first)
    assert discuss in wall.news().html()
    assert one_bar not in wall.html()
    teacher.run().click("room:reveal")
    assert discuss not in wall.news().html()
    assert one_bar in wall.html()
    assert "<td>1</td><td>2</td>" in teacher.html()
    for said in (
        f"{results.VOTES[0]}: 3, 33% right",
        f"{results.VOTES[1]}: 2, 100% right",
        "50% of those who voted twice",
    ):
        assert said in wall.html()
        assert said in words(teacher.app)


def test_many_bars_become_fewer_and_none_is_lost() -> None:
    found = [results.Bar(str(number), number, number == 1, first=1) for number in range(6)]
    fewer = results.fewer(found, 4)
    assert [(bar.label, bar.count, bar.first) for bar in fewer] == [
        ("1", 1, 1), ("4", 4, 1), ("5", 5, 1), ("other answers", 5, 3),
    ]  # fmt: skip
    assert results.fewer(found, 6) == found


def test_text_of_students_is_not_on_the_wall(school: School) -> None:
    _, code = school.teacher()
    wall, student = Person(school, "classroom", room=code, wall="1"), school.student(code)
    asked = school.store.change(code, lambda room: ask(room, {"kind": "conclusion", "ask": "<b>Why?"})).question
    assert asked
    student.news().write("text_area", f"room:{asked.id}:text", "<i>Something rude").click(f"room:{asked.id}:give")
    assert "&lt;b&gt;Why?" in wall.news().html()
    assert "1 of 1 answered" in wall.html()
    assert "rude" not in wall.html()


@pytest.mark.parametrize("kind", ["conclusion", "sentence"])
def test_the_wall_shows_the_sentences_that_the_teacher_chooses_with_their_counts(school: School, kind: str) -> None:
    teacher, code = school.teacher()
    wall = Person(school, "classroom", room=code, wall="1")
    of_numbers = {"quantity": "n_tokens", "than": 1, "example": "A word."} if kind == "sentence" else {}
    asked = put(school, code, {"kind": kind, "ask": "Why?", **of_numbers}, "So kind", "so  kind.", "Rude", "<b>Wise")
    teacher.run().click("room:reveal")
    assert all(word not in wall.news().html() for word in ("kind", "Rude", "Wise"))
    for member in (3, 0):
        teacher.click(f"desk:{wall_mark(asked, f'member-{member:09}')}:1")
    shown = re.findall(r"<li.*?<span>(.*?)</span><b>(\d+)</b>", wall.news().html())
    assert [(re.sub(" ✓$", "", text), count) for text, count in shown] == [("&lt;b&gt;Wise", "1"), ("So kind", "2")]
    teacher.click(f"desk:{answer_mark(asked, 'member-000000003')}:1")
    teacher.click(f"desk:{wall_mark(asked, 'member-000000000')}:0")
    assert not re.search("kind|Wise", wall.news().html())


def test_a_teacher_hides_a_typed_answer_from_every_screen(school: School) -> None:
    teacher, code = school.teacher(named=True)
    rude, other = school.student(code, "Ada"), school.student(code, "Eve")
    wall = Person(school, "classroom", room=code, wall="1")
    question = {"kind": "sentence", "ask": "Write.", "quantity": "n_tokens", "than": 1, "example": "A word."}
    asked = school.store.change(code, lambda room: ask(room, question)).question
    assert asked
    for person, text in ((rude, "Something rude"), (other, "Something kind")):
        person.news().write("text_input", f"room:{asked.id}:sentence", text).click(f"room:{asked.id}:give")
    assert "**Ada**: Something rude" in words(teacher.run().app)
    assert "**Eve**: Something kind" in words(teacher.app)
    (of_rude,) = (one for one, text in school.store.answers(code, asked.id).items() if "rude" in text)
    hide = f"desk:{answer_mark(asked.id, of_rude)}:1"
    teacher.click(hide).run().click("room:reveal")
    for person in (wall, other, rude):
        person.news()
        assert person is wall or "Something kind" in person.html()
        assert "rude" not in person.html() + words(person.app) + sentences(person.app)
    assert "rude" in desk.export(school.room(code)).decode(), "the teacher's table has it"
    teacher.click(hide.removesuffix("1") + "0")
    assert "rude" in other.news().html()


def test_a_teacher_renames_and_removes_members(school: School) -> None:
    teacher, code = school.teacher(named=True)
    ada, second = school.student(code, "Ada"), school.student(code, "ada")
    assert [one.nickname for one in school.store.members(code).values()] == ["Ada", "ada 2"]
    first = next(iter(school.store.members(code)))
    teacher.run().put("selectbox", "desk:member", first)
    teacher.put("text_input", f"desk:nickname:{first}", "Grace").click("desk:rename")
    assert "Grace" in words(ada.news().app)
    ada.run()
    assert school.store.members(code)[first].nickname == "Grace"
    teacher.run().put("selectbox", "desk:member", first).click("desk:remove")
    assert [one.nickname for one in school.store.members(code).values()] == ["ada 2"]
    assert code in sentences(ada.run().app), "it is said"
    assert ada.app.button(key="classroom:join"), "where she can join again"
    assert "room" not in ada.values()
    assert second.news().values()["room"] == code


def test_the_desk_says_whom_to_ask(school: School) -> None:
    teacher, code = school.teacher(named=True)
    people = [school.student(code, name) for name in ("Ada", "Eve", "Tom")]
    teacher.put("selectbox", "desk:lesson:", "03-one-weight-by-hand").click("desk:begin")
    for number in (0, 1, 2, 3):
        teacher.click(f"desk:next:{number}")
    question = school.room(code).question
    assert question
    for person, chosen in zip(people, (2, 8, 8), strict=True):
        person.news().put("button_group", f"room:{question.id}:chosen", chosen).click(f"room:{question.id}:give")
    said = [one.value for one in teacher.run().app.caption if one.value.startswith("Ask why")]
    assert len(said) == 2
    assert "animal" in said[0]
    assert "Ada" in said[0]
    assert "street" in said[1]
    assert "Eve" in said[1]
    assert "Tom" in said[1]


def test_nobody_is_told_of_what_is_not_there(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.base.access.visitors.network_address", lambda: "")
    alone = Person(school)
    assert "only this computer" in sentences(alone.app), "before a room is opened"
    assert "encoderscope --" not in words(alone.app)
    teacher, code = school.teacher()
    assert "encoderscope --" not in words(teacher.app)
    student = school.student(code)
    assert student.line["buttons"] == []
    assert "Look around" not in words(student.app)
    monkeypatch.setattr("pages.base.access.visitors.network_address", lambda: "192.0.2.7")
    assert not sentences(Person(school).app)


def test_a_link_to_a_room_is_about_joining(school: School) -> None:
    _, code = school.teacher(named=True)
    invited = Person(school, "classroom", room=code)
    assert [one.value for one in invited.app.title] == ["Join your class"]
    assert not [one for one in invited.app.button if one.key == "classroom:open"]
    assert "For teachers" not in words(invited.app)
    assert invited.app.text_input(key="classroom:code").value == code
    invited.click("classroom:join")
    assert "choose one" in sentences(invited.app)
    invited.write("text_input", "classroom:nickname", "Ada").click("classroom:join")
    assert [one.nickname for one in school.store.members(code).values()] == ["Ada"]
    other = Person(school, "classroom", room=code).click("classroom:teach")
    assert other.app.button(key="classroom:open"), "who teaches finds the way"
    assert "room" not in other.values()


def test_a_desk_says_what_comes_next_before_all_else(school: School) -> None:
    teacher, code = school.teacher()
    teacher.put("selectbox", "desk:lesson:", "11-how-weights-are-learned").click("desk:begin")
    put(school, code, {"kind": "choice", "ask": "Ready?", "options": ["Yes", "No"]}, 0, 1)
    teacher.run()
    drawn = [str(getattr(one, "key", "") or "") + str(getattr(one, "value", "")) for one in teacher.app.main]

    def place(part: str) -> int:
        return next(at for at, one in enumerate(drawn) if part in one)

    def lessons_are_open() -> bool:
        (part,) = [one for one in teacher.app.expander if "Another lesson" in one.label]
        return bool(part.proto.expanded)

    order = ["desk:next:", "Next: ", "room:reveal", "2 answers", "desk:lesson:"]
    assert [place(one) for one in order] == sorted(place(one) for one in order)
    assert not lessons_are_open()
    lesson = library.find("11-how-weights-are-learned")
    assert lesson
    for number in range(lesson.last):
        teacher.click(f"desk:next:{number}")
    assert lessons_are_open(), "nothing else comes next"


def test_a_conclusion_says_where_it_goes(school: School) -> None:
    _, code = school.teacher()
    student = school.student(code)
    asked = put(school, code, {"kind": "conclusion", "ask": "Why?", "model": "Since it does."})
    send = student.news().app.button(key=f"room:{asked}:give")
    assert send.label == controls.TO_TEACHER[0]
    assert controls.TO_TEACHER[1] in words(student.app)
    alone = visit("model", lesson="01-tokens", lesson_step="7", step="ids", start="1")
    assert alone.button(key="lesson:01-tokens:7:give").label == controls.TO_MODEL[0]
    assert controls.TO_MODEL[1] in words(alone)


def test_what_is_typed_and_not_sent_stays_with_its_author(school: School) -> None:
    teacher, code = school.teacher()
    student, other = school.student(code), school.student(code)
    asked, draft = put(school, code, {"kind": "conclusion", "ask": "Why?"}), "Since *it* is far away"
    student.news()
    other.news()
    teacher.run().click("room:reveal")
    student.tell(event="news", question=asked, draft=draft)
    assert draft.replace("*", r"\*") in words(student.app)
    assert draft not in other.news().html() + words(other.app)
    assert school.store.answers(code, asked) == {}
    teacher.run().click("room:ask-again")
    again = school.room(code).question
    assert again
    assert student.news().app.text_area(key=f"room:{again.id}:text").value == draft
    student.click(f"room:{again.id}:give")
    assert [json.loads(text) for text in school.store.answers(code, again.id).values()] == [draft]
    student.tell(event="draft", question=again.id, draft="too late")
    teacher.run().click("room:reveal")
    assert "too late" not in words(student.news().app)


def test_a_desk_chooses_the_language_and_says_what_is_translated(school: School) -> None:
    teacher, code = school.teacher()
    teacher.put("button_group", "view:lesson_language", "es")
    (listed,) = [one.options for one in teacher.app.selectbox if one.key == "desk:lesson:"]
    english = [title for title in listed if title.endswith("in English")]
    assert len(english) == len(library.lessons()[0]) - len(library.translated("es"))
    assert "1 · Tokens e identificadores · 15 minutes" in listed
    teacher.put("selectbox", "desk:lesson:", "01-tokens").click("desk:begin")
    assert school.room(code).view["lesson_language"] == "es"
