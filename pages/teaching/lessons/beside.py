"""The open lesson. A step is a stage: what it shows fills the window, with a column of text next to it.

Before an answer the question itself is on stage. Then the page's picture is, without the page's controls: a reader
opens those when she wants to explore. A step without a picture is a card over the whole width.
"""

import contextlib
from collections.abc import Iterator
from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.words import glossary
from pages.core.words.markdown import plain, say_error
from pages.core.words.symbols import in_markdown, of_markdown
from pages.state.bare import draw_bare
from pages.teaching.lessons import on_stage, progress
from pages.teaching.lessons.library import look_of
from pages.teaching.lessons.progress import Open
from pages.teaching.questions import controls
from pages.teaching.rooms import session
from pages.teaching.stage import outcome
from pages.teaching.stage.asked import had_result

#: Terms of a step that link to the glossary.
MOST_LINKS = 8


@contextlib.contextmanager
def beside(is_open: bool = True) -> Iterator[bool]:
    """Draw the open lesson with the page as its stage; False while the page waits for an answer.

    is_open: whether the page may be drawn: not while a class predicts.
    """
    opened, own = progress.current(), session.seat()
    is_wall = own is not None and own.wall
    if opened is None:
        with draw_bare(is_wall):
            yield is_open
        return
    if is_wall:
        st.html(on_stage.style(opened.step))
        with st.container(key="lesson-stage"), draw_bare():
            yield True
        return
    if not is_open or waits(opened):
        st.html(on_stage.style(opened.step))
        with st.container(key="lesson-card"):
            _card(opened)
        yield False
        return
    explores = progress.explores(opened)
    if not explores:
        st.html(on_stage.style(opened.step))
    with st.container(key="lesson-step"):
        with st.container(key="lesson-panel"):
            _text(opened, has_picture=True)
            _question(opened)
            _steps(opened)
        with st.container(key="lesson-stage"), draw_bare(session.is_follower() and not explores):
            yield True


def waits(opened: Open) -> bool:
    """Whether the question is on stage: nobody answered it, and it is not read off a picture."""
    question = opened.step.question
    if not opened.step.view:
        return True
    if question is None or session.seat() is not None:  # a class answers on the ballot
        return False
    return not (question.look or progress.answer(opened) is not None or progress.looks(opened))


def _text(opened: Open, *, has_picture: bool = False) -> None:
    lesson, step = opened.lesson, opened.step
    place = f"step {opened.number} of {lesson.last}" if opened.number else "where we are"
    st.caption(f"{plain(lesson.heading)} · {place}")
    st.progress(opened.number / max(lesson.last, 1))
    st.subheader(in_markdown(step.title), anchor=False)
    st.markdown(glossary.linked(of_markdown(step.text if has_picture else step.prose), MOST_LINKS))


def _card(opened: Open) -> None:
    """Text and question over the whole window."""
    if opened.step.question is None or session.seat() is not None:
        _text(opened)
        _closed(opened)
        _steps(opened)
        return
    with st.container(key="lesson-card-text"):
        _text(opened)
    with st.container(key="lesson-card-question"):
        _question(opened)
    with st.container(key="lesson-card-steps"):  # on a phone the task comes before the way to the next step
        _steps(opened)


def _closed(opened: Open) -> None:
    """What is right of a task without a page, when the class has seen it, and no other question is open."""
    question, now = opened.step.question, session.room()
    if question is not None and now is not None and now.question is None and had_result(now, question):
        st.markdown(f"**{in_markdown(question.ask)}**")
        outcome.truth(question, look_of(opened.step.view))


def _question(opened: Open) -> None:
    lesson, question = opened.lesson, opened.step.question
    if question is None or session.seat() is not None:
        return
    key = f"lesson:{lesson.name}:{opened.number}"
    try:
        look = look_of(opened.step.view)
        given = progress.answer(opened)
        with st.container(border=True):
            if given is None:
                controls.ask(question, look, key, partial(progress.give_answer, lesson, opened.number))
                if waits(opened) and opened.step.view:
                    look_now = partial(progress.look, opened)
                    button("Show the picture now", "visibility", "lesson:look", look_now, type="tertiary")
            else:
                st.markdown(f"**{in_markdown(question.ask)}**")
                outcome.draw(question, look, given, f"{key}:result")
                st.button("Answer again", key=f"{key}:again", on_click=progress.take_back, args=(opened,))
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")


def _closing(opened: Open) -> None:
    """What the reader can do now, below the last step once it is answered."""
    if opened.number == opened.lesson.last and (opened.step.question is None or progress.answer(opened) is not None):
        goals = "\n".join(f"- {in_markdown(goal)}" for goal in opened.lesson.goals)
        st.markdown(f"**This lesson is complete.** You can now:\n{goals}")


def _steps(opened: Open) -> None:
    if session.is_follower():
        return
    _closing(opened)
    own, place = session.seat(), ""
    if own is not None and own.teaches:
        place = f":{opened.number}"  # a click that a reconnect repeats turns no second page
        progress.note_drawn(opened.lesson, opened.number, "lesson:back:", "lesson:next:")
    with st.container(horizontal=True):
        button(
            "Back",
            "arrow_back",
            f"lesson:back{place}",
            partial(progress.turn, progress.open_step, opened.lesson, opened.number - 1),
            disabled=opened.number == opened.lesson.first,
        )
        if following := progress.following(opened):
            label = "Next" if following[0] == opened.lesson else f"Next lesson: {plain(following[0].heading)}"
            turn = partial(progress.turn, progress.open_step, *following)
            button(label, "arrow_forward", f"lesson:next{place}", turn, type="primary")
    with st.container(horizontal=True):
        if opened.step.view and not waits(opened):
            explores = progress.explores(opened)
            button(
                "Only the picture" if explores else "Explore with all controls",
                "close_fullscreen" if explores else "tune",
                "lesson:explore",
                partial(progress.explore, opened, not explores),
                type="tertiary",
            )
            button(
                "Reset view",
                "replay",
                "lesson:view",
                partial(progress.show_view, opened.step),
                shortcut="Shift+V",
                type="tertiary",
            )
        button("Leave the lesson", "close", "lesson:leave", progress.leave, type="tertiary")
