"""Answers that were given without a server, as one code, which pages/teaching/lessons/components/student.js makes."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from pages.base.access import limits
from pages.teaching.lessons import library
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.questions import QuestionError, controls, read_answer

#: What a code begins with: its format and version.
PREFIX = "ES1."


def read(code: str) -> tuple[Lesson, dict[int, Any]]:
    """The lesson and the answers of a code, by step. Raises EncoderError for a code that does not fit."""
    code = "".join(code.split())
    if not code.startswith(PREFIX) or len(code) > limits.LESSON_FILE.value:
        raise QuestionError(f"A code of answers begins with {PREFIX} Copy it again from the end of the lesson's file.")
    try:
        said = json.loads(base64.b64decode(code.removeprefix(PREFIX), validate=True))
        name, given = str(said["lesson"]), {int(step): value for step, value in said["answers"].items()}
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuestionError("This code is incomplete. Copy all of it, from ES1 to the end.") from error
    lesson = library.find(name)
    if lesson is None:
        raise QuestionError(f"This server has no lesson “{name}”.")
    steps, answers = dict(lesson.numbered()), {}
    for number, value in given.items():
        step = steps.get(number)
        if step is None or step.question is None:
            raise QuestionError(f"Step {number} of “{lesson.title}” asks nothing. Is the file of another version?")
        answers[number] = read_answer(step.question, json.dumps(value), library.look_of(step.view))
    return lesson, answers


def rows(code: str) -> Iterator[list[Any]]:
    """Lesson, step, question, answer and 1 or 0 for each answer of a code; "" where nothing is computed."""
    lesson, answers = read(code)
    for number, answer in answers.items():
        step = lesson.step(number)
        assert step.question is not None
        look = library.look_of(step.view)
        right = step.question.is_right(answer, look)
        texts = [step.question.ask, controls.answer_text(step.question, look, answer)]
        yield [lesson.name, number, *texts, "" if right is None else int(right)]
