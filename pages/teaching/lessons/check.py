"""Checks a lesson: opens every view and computes every question, on the real models."""

import contextlib
import json
from collections.abc import Iterator, Mapping
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
from pages.teaching.questions.quantities import FAULTS

APP = Path(__file__).parents[3] / "app.py"
SECONDS = 120
#: What a translation of a question has in its own language: fields, and fields whose keys are labels.
WORDS, LABELLED = ("ask", "why", "hint", "label", "says", "truth", "model", "example"), ("items", "trial")


def check(path: Path) -> Iterator[Finding]:
    """All findings in a lesson file, in the order of its steps."""
    import_params()
    try:
        found = lesson.load(path)
    except LessonError as error:
        yield Finding(error.line, str(error).split(": ", 1)[1])
        return
    yield from _check_translation(path, found)
    yield from check_steps(found, {term for other in _earlier(path) for term in wording.introduced(other)})


def _check_translation(path: Path, found: Lesson) -> Iterator[Finding]:
    """Where a translation asks or shows something else than the lesson that it translates."""
    if (original := library.original(path)) is None:
        return
    of = lesson.load(original)
    if len(of.steps) != len(found.steps):
        yield Finding(1, f"the lesson has {len(of.steps)} steps, its translation {len(found.steps)}.")
    for there, here in zip(of.steps, found.steps, strict=False):
        if there.view != here.view:
            yield Finding(here.view_line or here.line, "this view is another one than in the lesson: copy it.")
        if _computed(there) != _computed(here):
            yield Finding(here.question_line or here.line, "this question computes something else than in the lesson.")
        for mistake in here.question.mistakes if here.question else ():
            if "misconception" in mistake and not (mistake.get("says") and mistake.get("truth")):
                reason = f"the words of “{mistake['misconception']}” are in English: translate says and truth."
                yield Finding(here.question_line, reason)


def _computed(step: Step) -> object:
    """What a step's question computes, without its words."""
    return _without_words(step.question.definition()) if step.question else None


def _without_words(value: object, name: str = "") -> object:
    if isinstance(value, Mapping):
        named = {key: _without_words(one, key) for key, one in value.items() if key not in WORDS}
        return list(named.values()) if name in LABELLED else named
    return [_without_words(one) for one in value] if isinstance(value, list | tuple) else value


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
        with contextlib.suppress(*FAULTS):  # `_check_question` says it
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
        for mistake in question.mistakes:
            question.mistaken(mistake, look)
        if question.kind == "conclusion":
            return
        if not question.grade(read_answer(question, json.dumps(truth.answers[0]), look), look).right:
            yield "the question grades its own answer as wrong: change the example or the tolerance."
    except FAULTS as error:
        yield lesson.fault_of(error)
