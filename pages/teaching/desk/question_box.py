"""The room's question above the teacher's own page, and what a teacher does with it."""

import dataclasses
from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.words.markdown import say_error
from pages.core.words.symbols import in_markdown
from pages.teaching.desk import asking
from pages.teaching.rooms import Asked, Room, ask, session
from pages.teaching.rooms.room import end_question
from pages.teaching.stage import outcome, results, votes
from pages.teaching.stage.asked import read

#: Whether the teacher writes a question on this page.
ASKING = "_room_asking"


def draw(now: Room) -> bool:
    """Draw the open question, if there is one; returns whether the page is shown."""
    if st.session_state.get(ASKING) and (now.question is None or now.question.revealed):
        with st.container(border=True, key="room-ask"):
            asking.form(now)
            st.button("Cancel", key="room:cancel", on_click=st.session_state.pop, args=(ASKING,))
        return True
    if now.question is None:
        return True
    st.session_state.pop(ASKING, None)
    with st.container(border=True, key="room-question"):
        _question(now, now.question)
    if now.question.withholds:
        st.info("The class predicts. The page comes back with the result.", icon=":material/visibility_off:")
    return not now.question.withholds


def _question(now: Room, asked: Asked) -> None:
    try:
        question, look = read(asked)
        st.markdown(f"**{in_markdown(question.ask)}**")
        if asked.revealed:
            left, right = st.columns(2, gap="large")
            with left:
                outcome.truth(question, look, mean=results.of_room(now, asked, question, look).mean)
            with right:
                results.draw(now, asked, question, look)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")
    teachers_buttons(asked)


def teachers_buttons(asked: Asked) -> None:
    """Reveal and close. For the page and for the desk.

    Each button stays in its place, so the second of two clicks hits the same one, which then does nothing. A new vote
    takes the result from all screens: it has a step of its own.
    """
    with st.container(horizontal=True):
        if _may_reveal(asked):
            button(
                "The result is shown" if asked.revealed else "Show the result",
                "visibility",
                "room:reveal",
                partial(reveal, asked.id),
                type="secondary" if asked.revealed else "primary",
                disabled=asked.revealed,
            )
        if votes.is_discussed(asked):
            again = partial(votes.again, asked.id)
            button("Discuss and vote again", "forum", "room:again", again, disabled=not votes.may_follow(asked))
        button("Close the question", "close", "room:close-question", partial(close, asked.id))
        if asked.revealed:
            with st.popover("Ask again", icon=":material/replay:"):
                st.markdown("A new vote without answers. The result stays on all screens until you begin it.")
                button("Begin a new vote", "replay", "room:ask-again", partial(ask_again, asked.id))


def _may_reveal(asked: Asked) -> bool:
    return asked.definition.get("kind") != "test"


def waits(now: Room) -> bool:
    """Whether a question waits for its result, which the teacher shows next."""
    return now.question is not None and _may_reveal(now.question) and not now.question.revealed


def reveal(question: str) -> None:
    """Show the result to everybody. For callbacks."""

    def edit(room: Room) -> Room:
        if room.question is None or room.question.id != question:
            return room
        return dataclasses.replace(room, question=dataclasses.replace(room.question, revealed=True), timer=0.0)

    session.teach(edit)


def ask_again(question: str) -> None:
    """Ask a question whose result was shown once more, without its answers. For callbacks."""

    def edit(room: Room) -> Room:
        asked = room.question
        if asked is None or asked.id != question or not asked.revealed:
            return room
        return ask(room, asked.definition, asked.view, hides=asked.hides)

    session.teach(edit)


def close(question: str) -> None:
    """End a question. For callbacks."""
    session.teach(lambda room: end_question(room) if room.question and room.question.id == question else room)
