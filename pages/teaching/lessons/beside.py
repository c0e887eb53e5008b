"""The open lesson next to every page: prose, question, and the way to the next step."""

import contextlib
from collections.abc import Iterator
from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
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
    button("Show the picture now", "visibility", "lesson:look", partial(progress.look, opened))


def _steps(opened: Open) -> None:
    with st.container(horizontal=True):
        button(
            "Back",
            "arrow_back",
            "lesson:back",
            partial(progress.open_step, opened.lesson, opened.number - 1),
            disabled=opened.number == opened.lesson.first,
        )
        if following := progress.following(opened):
            label = "Next" if following[0] == opened.lesson else f"Next lesson: {plain(following[0].title)}"
            button(label, "arrow_forward", "lesson:next", partial(progress.open_step, *following), type="primary")
    with st.container(horizontal=True):
        if opened.step.view:
            button(
                "Reset view",
                "replay",
                "lesson:view",
                partial(progress.show_view, opened.step),
                shortcut="Shift+V",
                type="tertiary",
            )
        button("Leave the lesson", "close", "lesson:leave", progress.leave, type="tertiary")
