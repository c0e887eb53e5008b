"""What a wall and a student's screen show when their room is closed: that it is, and what can be done now."""

import html
from functools import partial

import streamlit as st

from pages.components.button import button
from pages.core.words.markdown import plain
from pages.state import links
from pages.teaching.rooms import session
from pages.teaching.rooms.room import spaced
from pages.teaching.rooms.session import DESK, Ended


def draw(end: Ended) -> None:
    """The last screen of a seat; a student leaves it by one of its buttons."""
    session.said()  # this screen says it
    if end.wall:
        title = f"Room {spaced(end.code)} is closed" if end.closed else "No room for this wall"
        st.html(
            "<section class='enc-wall enc-wall-end' aria-label='End'>"
            f"<h1>{html.escape(title)}</h1><p>{html.escape(end.why)}</p></section>"
        )
        return
    with st.container(key="room-closed"):
        st.title(f"Room {spaced(end.code)} is closed", anchor=False)
        st.markdown(f"{plain(end.why)} You may close this window, or go on without the class.")
        button("Explore on your own", "explore", "closed:explore", session.forget_end, type="primary")
        button("Choose a lesson", "school", "closed:lessons", partial(_open, "lessons"))
        button("Join another room", "login", "closed:join", partial(_open, DESK))


def _open(page: str) -> None:
    session.forget_end()
    links.open_later(page)
