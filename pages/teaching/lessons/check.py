"""Checks a lesson: opens every view and computes every question, on the real models."""

import contextlib
import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from streamlit.testing.v1 import AppTest

from encoder.errors import EncoderError
from pages.core.frame.frame import import_params
from pages.teaching.lessons import lesson, library, wording
from pages.teaching.lessons.lesson import Lesson, LessonError, Step
from pages.teaching.lessons.library import look_of
from pages.teaching.lessons.wording import Finding
from pages.teaching.questions import read_answer

APP = Path(__file__).parents[3] / "app.py"
SECONDS = 120


def check(path: Path) -> Iterator[Finding]:
    """All findings in a lesson file, in the order of its steps."""
    import_params()
    try:
        found = lesson.load(path)
    except LessonError as error:
        yield Finding(error.line, str(error).split(": ", 1)[1])
        return
    yield from check_steps(found, {term for other in _earlier(path) for term in wording.introduced(other)})


def _earlier(path: Path) -> Iterator[Lesson]:
    """The lessons that a reader of this file has read: those of its folder before it, and all that ship."""
    shipped = [] if path.resolve().parent == library.SHIPPED else sorted(library.SHIPPED.glob("*.md"))
    for other in (*shipped, *(one for one in sorted(path.resolve().parent.glob("*.md")) if one.name < path.name)):
        with contextlib.suppress(EncoderError):
            yield lesson.load(other)


def check_steps(found: Lesson, known: AbstractSet[str] = frozenset()) -> Iterator[Finding]:
    """The findings of a lesson's words, views and questions. known: terms of earlier lessons."""
    yield from wording.check_terms(found, set(known))
    yield from wording.check_misconceptions(found)
    for before, step in zip((None, *found.steps), found.steps, strict=False):
        with contextlib.suppress(EncoderError):  # `_check_question` says it
            yield from wording.check_step(step, before)
        if step.view:
            yield from (Finding(step.view_line, reason) for reason in _check_view(step))
        if step.question:
            yield from (Finding(step.question_line, reason) for reason in _check_question(step))


def _check_view(step: Step) -> Iterator[str]:
    page = APP.parent / "pages" / step.view["page"] / "page.py"
    if "/" in step.view["page"] or not page.is_file():
        yield f"no page “{step.view['page']}”."
        return
    app = AppTest.from_file(str(APP), default_timeout=SECONDS)
    for name, value in step.view.items():
        if name != "page":
            app.query_params[name] = value
    said: dict[str, None] = {}  # notes about a link are there once, on the page that opens
    for run in (app.run, lambda: app.switch_page(str(page.relative_to(APP.parent))).run()):
        run()
        said |= dict.fromkeys(str(box.value) for box in (*app.exception, *app.error, *app.warning))
    for sentence in said:
        yield f"the page says: {sentence}"


def _check_question(step: Step) -> Iterator[str]:
    question = step.question
    assert question is not None
    try:
        look = look_of(step.view)
        truth = question.truth(look)
        if question.kind == "choice":
            yield "a lesson's answer is computed: choose another kind than “choice”, which is for a poll in a room."
            return
        if question.kind == "conclusion":
            return
        if not question.grade(read_answer(question, json.dumps(truth.answers[0]), look), look).right:
            yield "the question grades its own answer as wrong: change the example or the tolerance."
    except EncoderError as error:
        yield str(error)
