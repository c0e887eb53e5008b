"""The open lesson next to every page: prose, question, and the way to the next step."""

import contextlib
from collections.abc import Iterator
from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.core.words import glossary
from pages.core.words.markdown import plain, say_error
from pages.teaching.lessons import progress
from pages.teaching.lessons.library import look_of
from pages.teaching.lessons.progress import Open
from pages.teaching.questions import controls
from pages.teaching.rooms import session

#: Widths of the lesson and of the page.
SHARES = (1, 2)
#: Terms of a step that link to the glossary.
MOST_LINKS = 8


@contextlib.contextmanager
def beside() -> Iterator[bool]:
    """Draw the open lesson with the page next to it; False while the page waits for an answer."""
    opened = progress.current()
    if opened is None:
        yield True
        return
    left, right = st.columns(SHARES, gap="medium")
    with left, st.container(key="lesson-panel"):
        is_shown = _draw(opened)
    with right:
        if not is_shown:
            _wait(opened)
        yield is_shown


def _draw(opened: Open) -> bool:
    """Draw the open step; returns whether the page next to it is shown: an answer comes before the picture."""
    lesson, step = opened.lesson, opened.step
    place = f"step {opened.number} of {lesson.last}" if opened.number else "where we are"
    st.caption(f"{plain(lesson.title)} · {place}")
    st.progress(opened.number / max(lesson.last, 1))
    st.subheader(plain(step.title), anchor=False)
    st.markdown(glossary.linked(step.prose, MOST_LINKS))
    is_shown = _question(opened)
    if not session.is_follower():
        _steps(opened)
    return is_shown


def _question(opened: Open) -> bool:
    lesson, question = opened.lesson, opened.step.question
    if question is None or session.seat() is not None:
        return True  # a class answers above the page, and who looks around has answered there
    key = f"lesson:{lesson.name}:{opened.number}"
    try:
        look = look_of(opened.step.view)
        given = progress.answer(opened)
        with st.container(border=True):
            if given is None:
                controls.ask(question, look, key, partial(progress.give_answer, lesson, opened.number))
            else:
                st.markdown(f"**{plain(question.ask)}**")
                controls.result(question, look, given, f"{key}:result")
                st.button("Answer again", key=f"{key}:again", on_click=progress.take_back, args=(opened,))
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")
        return True
    return question.look or given is not None or progress.looks(opened)


def _wait(opened: Open) -> None:
    """In place of the page: the answer comes first."""
    st.info("Predict first: answer the question. Then this page shows the picture.", icon=":material/visibility_off:")
    st.button(
        "Show the picture now", key="lesson:look", icon=":material/visibility:", on_click=progress.look, args=(opened,)
    )


def _steps(opened: Open) -> None:
    with st.container(horizontal=True):
        st.button(
            "Back", icon=":material/arrow_back:", key="lesson:back", disabled=opened.number == opened.lesson.first,
            on_click=progress.open_step, args=(opened.lesson, opened.number - 1),
        )  # fmt: skip
        if following := progress.following(opened):
            label = "Next" if following[0] == opened.lesson else f"Next lesson: {plain(following[0].title)}"
            st.button(
                label, icon=":material/arrow_forward:", key="lesson:next", type="primary",
                on_click=progress.open_step, args=following,
            )  # fmt: skip
    with st.container(horizontal=True):
        if opened.step.view:
            st.button(
                "Reset view", icon=":material/replay:", key="lesson:view", shortcut="Shift+V", type="tertiary",
                on_click=progress.show_view, args=(opened.step,),
            )  # fmt: skip
        st.button(
            "Leave the lesson", icon=":material/close:", key="lesson:leave", type="tertiary", on_click=progress.leave,
        )  # fmt: skip
