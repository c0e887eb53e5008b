"""Answers of a lesson's file in a room: they count if the class answers the question now; otherwise they are late."""

from collections.abc import Mapping
from typing import Any

from pages.teaching.lessons import library
from pages.teaching.lessons.lesson import Lesson, Step
from pages.teaching.params import LessonParams
from pages.teaching.rooms import session
from pages.teaching.rooms.room import Room


def give(lesson: Lesson, answers: Mapping[int, Any]) -> str:
    """Give a student's answers by step, and say what became of them; "" without a room. For callbacks."""
    own, now = session.seat(), session.room()
    if own is None or own.teaches or now is None:
        return ""
    in_time = sum(session.answer(_question(now, lesson, number), value) for number, value in answers.items())
    session.said()  # of each late one the same
    return f"Room {own.code} has them: {in_time} in time, {len(answers) - in_time} marked as late."


def _question(now: Room, lesson: Lesson, number: int) -> str:
    """The room's open question if it is that of the step; otherwise the step's own name."""
    name, asked, asks = f"{lesson.name} {number}", now.question, lesson.step(number).question
    if asked is None or asks is None or asked.before or asked.revealed or name != name_of_step(now.view):
        return name
    return asked.id if asked.definition.get("ask") == asks.ask else name


def name_of_step(view: Mapping[str, str]) -> str:
    """What late answers to the lesson's step in a view are kept under: "04-heads 5"."""
    return f"{view.get(LessonParams.lesson.name, '')} {view.get(LessonParams.number.name, LessonParams.number.default)}"


def step(name: str) -> Step | None:
    """The step of such a name; None for any other."""
    lesson, _, number = name.rpartition(" ")
    found = library.find(lesson)
    return dict(found.numbered()).get(int(number)) if found and number.isdecimal() else None
