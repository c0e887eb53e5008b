"""What a room adds to every page: the face of this screen, and its line at the window's lower edge.

A student has the ballot, the wall shows the question to all, and the teacher has both on her own page; the desk is a
page of its own.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.core.words.markdown import plain
from pages.state.url_state import state
from pages.teaching.desk import question_box, strip
from pages.teaching.params import RoomParams
from pages.teaching.rooms import follow, session
from pages.teaching.rooms.room import spaced
from pages.teaching.rooms.session import DESK
from pages.teaching.stage import ballot, closed, wall

#: Style sheets for the screens of a class only. The app's own come later, so they win where both are as specific.
SENT = Path(wall.__file__).parent / "sent"


class InRoom:
    """The parts of the room on one page. folder: of the page; area: what is above and around it."""

    def __init__(self, folder: str, area: DeltaGenerator) -> None:
        self.folder = folder
        with area:
            self._strip, self._question = st.container(key="room-line"), st.container()

    @contextlib.contextmanager
    def beside(self, lesson: Callable[[bool], AbstractContextManager[bool]]) -> Iterator[bool | None]:
        """Draw the question, then the lesson with the page; False: the page is not drawn; None: nor are its controls.

        lesson: gets whether the page may be drawn.
        """
        if session.take_seat():
            st.rerun()  # with the teacher's view
        if session.awaits_seat():
            with self._question:
                room = plain(spaced(state.get(RoomParams.code)))
                st.info(f"Joining room {room} … {session.said()}", icon=":material/group:")
            yield False
            return
        follow.note_own_way(self.folder)
        with self._question:
            is_open = self._face()
        own = session.seat()
        has_ended = session.ended() is not None
        fills = not is_open and (has_ended or (own is not None and not own.teaches))  # a ballot, the wall, the end
        if fills or self.folder == DESK:  # the desk has the lesson's script
            yield None if fills else is_open
            return
        with lesson(is_open) as is_shown:
            yield is_shown

    def _face(self) -> bool:
        """Draw what this screen shows of the room's question; returns whether the page is drawn, too."""
        own, now = session.seat(), session.room()
        if (end := session.ended()) is not None:
            st.html(SENT / ("wall.css" if end.wall else "ballot.css"))
            closed.draw(end)
            return False
        if own is None or now is None:
            if self.folder != DESK and (said := session.said()):
                st.info(said, icon=":material/group_off:")
            return True
        if own.wall:
            st.html(SENT / "wall.css")
            return wall.draw(now)
        if not own.teaches:
            st.html(SENT / "ballot.css")
            return ballot.draw(own, now, self.folder)
        return self.folder == DESK or question_box.draw(now)

    def after(self) -> None:
        """Publish what the teacher changed, then draw the line: it says which version this run has read."""
        follow.after(self.folder)
        with self._strip:
            strip.draw(self.folder)
