"""Lessons: the one to begin with as a card, and a list of the others."""

from functools import partial
from typing import Any

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.frame.frame import heading, show
from pages.core.widgets import learn_parts
from pages.core.words.markdown import plain
from pages.core.words.symbols import in_markdown
from pages.state import next_page, state
from pages.teaching.lessons import codes, languages, library, progress
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.params import LessonParams
from pages.teaching.rooms import from_files

COLUMNS = 2


def main() -> None:
    row = heading(
        "In each step, predict first: then the model computes the answer, and you see why. The picture next to the "
        "text is the real page: select things in it, or type your own sentence."
    )
    with row:
        learn_parts.choose("lessons")
        languages.choose()
    good, broken = library.lessons(state.get(LessonParams.language))
    for file in broken:
        st.warning(f"{plain(file.name)} cannot be used. {plain(file.reason)}", icon=":material/edit_document:")
    following = next((place for place, lesson in enumerate(good) if not progress.answered(lesson)), 0)
    if good:
        first, rest = good[following], [*good[:following], *good[following + 1 :]]
        minutes = sum(lesson.minutes for lesson in good)
        st.markdown(
            f"{'Go on' if any(map(progress.answered, good)) else 'Begin'} with **{plain(first.heading)}**. "
            f"All {len(good)} lessons together: {minutes // 60} hours {minutes % 60} minutes."
        )
        _card(first)
        half = -(-len(rest) // COLUMNS)
        with st.container(key="lessons-list"):
            for column, start in zip(st.columns(COLUMNS, gap="medium"), range(0, len(rest), half or 1), strict=False):
                with column:
                    for lesson in rest[start : start + half]:
                        _row(lesson)
    with st.expander("Answers of a lesson’s file", icon=":material/content_paste:"):
        st.text_area("Code from the end of the file", key="lessons:code", height=80)
        st.button("Add these answers", key="lessons:take", on_click=_take_code)
        if note := st.session_state.pop("_lessons_note", ""):
            st.markdown(note)
    next_page("by_hand", "Can you compute one small layer yourself?")


def _card(lesson: Lesson) -> None:
    """The first lesson in which nothing is answered, or the first of all, with what one learns."""
    with st.container(border=True):
        st.header(plain(lesson.heading), anchor=False)
        st.caption(f"{_facts(lesson)} · {_length(lesson)}")
        st.markdown(_goals(lesson))
        _start(lesson, f"Start “{plain(lesson.title)}”", type="primary")


def _row(lesson: Lesson) -> None:
    with st.container(gap=None):
        _start(lesson, plain(lesson.heading), help=_goals(lesson))
        st.caption(_facts(lesson))


def _start(lesson: Lesson, label: str, type: str = "tertiary", **look: Any) -> None:
    start = partial(progress.open_step, lesson, lesson.first)
    button(label, "play_arrow", f"lessons:start:{lesson.name}", start, type=type, **look)


def _goals(lesson: Lesson) -> str:
    return "\n".join(f"- {in_markdown(goal)}" for goal in lesson.goals)


def _facts(lesson: Lesson) -> str:
    """How long it takes, what it needs, and what is answered."""
    done, questions = progress.answered(lesson), sum(step.question is not None for step in lesson.steps)
    progress_note = f" · {done} of {questions} answered" if done else ""
    return f"{lesson.minutes} minutes · {plain(lesson.level)} · needed: {plain(lesson.needs)}{progress_note}"


def _length(lesson: Lesson) -> str:
    """How many steps a lesson has, with the opening before the first one."""
    return f"{lesson.last} steps{'' if lesson.first else ' after an opening'}"


def _take_code() -> None:
    try:
        lesson, answers = codes.read(st.session_state.get("lessons:code", ""))
    except EncoderError as error:
        st.session_state["_lessons_note"] = plain(str(error))
        return
    for number, value in answers.items():
        progress.give_answer(lesson, number, value)
    said = f"{len(answers)} answers of “{plain(lesson.title)}” were added. {from_files.give(lesson, answers)}"
    st.session_state["_lessons_note"] = said


show(main)
