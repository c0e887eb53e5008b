"""Lessons: all lessons of this server, as cards."""

from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.frame.frame import heading, show
from pages.core.widgets import learn_parts
from pages.core.words.markdown import plain
from pages.state import state
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
    for start in range(0, len(good), COLUMNS):
        for place, column in enumerate(st.columns(COLUMNS), start):
            if place < len(good):
                with column:
                    _card(good[place], is_next=place == following)
    with st.expander("Answers of a lesson’s file", icon=":material/content_paste:"):
        st.text_area("Code from the end of the file", key="lessons:code", height=80)
        st.button("Add these answers", key="lessons:take", on_click=_take_code)
        if note := st.session_state.pop("_lessons_note", ""):
            st.markdown(note)


def _card(lesson: Lesson, *, is_next: bool) -> None:
    """is_next: the first lesson in which nothing is answered, or the first of all."""
    with st.container(border=True, height="stretch"):
        st.header(f"{lesson.label} · {plain(lesson.title)}".removeprefix(" · "), anchor=False)
        done, questions = progress.answered(lesson), sum(step.question is not None for step in lesson.steps)
        progress_note = f" · {done} of {questions} answered" if done else ""
        st.caption(f"{lesson.minutes} minutes · {plain(lesson.level)} · {_length(lesson)}{progress_note}")
        st.markdown("\n".join(f"- {plain(goal)}" for goal in lesson.goals))
        st.caption(f"Needed: {plain(lesson.needs)}")
        button(
            f"Start “{plain(lesson.title)}”",
            "play_arrow",
            f"lessons:start:{lesson.name}",
            partial(progress.open_step, lesson, lesson.first),
            type="primary" if is_next else "secondary",
        )


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
