"""The question that a room answers now, above the page: for students to answer, for the teacher to reveal."""

import dataclasses
from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.words.markdown import plain, say_error
from pages.teaching.desk import asking, results, votes
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, controls, read_answer, read_question
from pages.teaching.rooms import Asked, Room, session
from pages.teaching.rooms.room import end_question
from pages.teaching.rooms.session import Seat

#: Whether the teacher writes a question on this page.
ASKING = "_room_asking"
#: In place of a page that waits.
PREDICT = "Predict first: the page comes back with the result."


def draw() -> bool:
    """Draw the open question, if there is one; returns whether the page is shown."""
    own, now = session.seat(), session.room()
    if own is None or now is None:
        return True
    if own.teaches and st.session_state.get(ASKING) and (now.question is None or now.question.revealed):
        _ask_here(now)
        return True
    if now.question is None:
        return True
    st.session_state.pop(ASKING, None)
    with st.container(border=True, key="room-question"):
        _question(own, now, now.question)
    waits = now.question.hides and not now.question.revealed and (own.teaches or own.follows)
    if waits:
        is_test = now.question.definition.get("kind") == "test"
        when = "The page comes back when the teacher goes on." if is_test else PREDICT
        st.info(when, icon=":material/visibility_off:")
    return not waits


def _ask_here(now: Room) -> None:
    """The teacher asks about this page without leaving it."""
    with st.container(border=True, key="room-ask"):
        asking.form(now)
        st.button("Cancel", key="room:cancel", on_click=st.session_state.pop, args=(ASKING,))


def read(asked: Asked) -> tuple[Question, Look | None]:
    """The question, and the text, model and head that it is about: None for a poll. Raises EncoderError."""
    question = read_question(asked.definition)
    return question, None if question.kind == "choice" else look_of(asked.view)


def _question(own: Seat, now: Room, asked: Asked) -> None:
    try:
        question, look = read(asked)
        given = None if own.teaches else _given(own, now, asked)
        if not own.teaches and not asked.revealed and given is None:
            _ask(own, now, asked, question, look)
            return
        st.markdown(f"**{plain(question.ask)}**")
        if asked.revealed:
            left, right = st.columns(2, gap="large")
            with left:
                if given is not None:
                    controls.result(question, look, read_answer(question, given, look), f"room:{asked.id}:result")
                else:
                    results.truth(question, look)
            with right:
                results.draw(now, asked, question, look)
        elif given is not None:
            _may_change(asked, question, look, given)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")
    if own.teaches:
        teachers_buttons(asked)


def _given(own: Seat, now: Room, asked: Asked) -> str | None:
    kept = session.given()
    if asked.id not in kept:  # a reload: the answer is in the room
        kept[asked.id] = session.store().answers(now.code, asked.id).get(own.member)
    return kept[asked.id]


def _ask(own: Seat, now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    if asked.before:
        votes.invite(now, asked, own.member)
        if (first := session.given().get(asked.before)) is not None:
            st.markdown(_said(question, look, first))
    controls.ask(question, look, f"room:{asked.id}", partial(session.answer, asked.id), drawn="Answer")


def _may_change(asked: Asked, question: Question, look: Look | None, given: str) -> None:
    if asked.id in session.waiting():
        st.markdown("Your answer waits on this page. It is sent as soon as the room store answers.")
    else:
        then = "Nobody sees who answered what." if question.kind == "test" else "The teacher shows the result."
        st.markdown(f"Your answer is sent. {_said(question, look, given)}{then}")
    forget = session.given().update
    st.button("Change my answer", key=f"room:{asked.id}:again", on_click=forget, args=({asked.id: None},))


def _said(question: Question, look: Look | None, given: str) -> str:
    """What a student answered, in words; a drawn row, a test, and what the question does not accept have none."""
    if question.kind in ("draw", "test"):
        return ""
    try:
        answer = read_answer(question, given, look)
    except EncoderError:
        return ""
    return f"You said: **{plain(controls.answer_text(question, look, answer).rstrip('.'))}**. "


def teachers_buttons(asked: Asked) -> None:
    """Reveal and close. For the page and for the desk."""
    with st.container(horizontal=True):
        if not asked.revealed and asked.definition.get("kind") != "test":
            button("Show the result", "visibility", "room:reveal", partial(reveal, asked.id), type="primary")
        if votes.may_follow(asked):
            button(
                "Discuss and vote again",
                "forum",
                "room:again",
                partial(votes.again, asked.id),
                help="The first vote is kept. Everybody gets a partner and answers again.",
            )
        st.button("Close the question", key="room:close-question", on_click=close, args=(asked.id,))


def reveal(question: str) -> None:
    """Show the result to everybody. For callbacks."""

    def edit(room: Room) -> Room:
        if room.question is None or room.question.id != question:
            return room
        return dataclasses.replace(room, question=dataclasses.replace(room.question, revealed=True))

    session.teach(edit)


def close(question: str) -> None:
    """End a question. For callbacks."""
    session.teach(lambda room: end_question(room) if room.question and room.question.id == question else room)
