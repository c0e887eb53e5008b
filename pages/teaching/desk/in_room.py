"""What a room adds to every page: its question above the page, and its line at the window's lower edge."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.core.words.markdown import plain
from pages.state.url_state import state
from pages.teaching.desk import question_box, strip
from pages.teaching.params import RoomParams
from pages.teaching.rooms import follow, session
from pages.teaching.rooms.session import DESK


class InRoom:
    """The parts of the room on one page. folder: of the page; area: what is above and around it."""

    def __init__(self, folder: str, area: DeltaGenerator) -> None:
        self.folder = folder
        with area:
            self._strip, self._question = st.container(key="room-line"), st.container()

    @contextlib.contextmanager
    def beside(self, lesson: Callable[[], AbstractContextManager[bool]]) -> Iterator[bool]:
        """Draw the question, then the lesson next to the page; False: the page is not drawn."""
        if session.take_seat():
            st.rerun()  # with the teacher's view
        if session.awaits_seat():
            with self._question:
                room = plain(strip.spaced(state.get(RoomParams.code)))
                st.info(f"Joining room {room} … {session.said()}", icon=":material/group:")
            yield False
            return
        follow.note_own_way(self.folder)
        if self.folder == DESK:  # the teacher's desk has the question, and the lesson's script
            own = session.seat()
            with self._question:
                yield own is None or own.teaches or question_box.draw()
            return
        with self._question:
            if session.seat() is None and (said := session.said()):
                st.info(said, icon=":material/group_off:")
            is_open = question_box.draw()
        with lesson() as is_shown:
            yield is_shown and is_open

    def after(self) -> None:
        """Publish what the teacher changed, then draw the line: it says which version this run has read."""
        follow.after(self.folder)
        with self._strip:
            strip.draw(self.folder)
