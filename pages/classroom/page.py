"""Classroom: open a room or join one; with the key, the teacher's desk."""

from functools import partial

import streamlit as st

from pages.base.access import limits
from pages.components.button import button, submit
from pages.components.lazy import expander
from pages.components.rooms import room_door
from pages.core.frame.frame import heading, show
from pages.core.widgets import learn_parts
from pages.core.words.markdown import plain, say_error, table
from pages.state.links import next_page
from pages.state.url_state import state
from pages.teaching.desk import desk
from pages.teaching.lessons import library, path
from pages.teaching.params import RoomParams
from pages.teaching.rooms import Room, RoomError, session
from pages.teaching.rooms.room import read_nickname, spaced
from pages.teaching.rooms.session import Seat
from pages.teaching.stage import invite

_CODE, _NICKNAME, _NAMED = "classroom:code", "classroom:nickname", "_classroom_named"


def main() -> None:
    own, now = session.seat(), session.room()
    if own is not None and now is not None and not own.teaches:
        _wait(own, now)
        return
    if own is None and state.get(RoomParams.code):
        _invited()
        return
    row = heading(
        "A room shows the teacher's view on every screen of a class. Students join with a code, without an account; "
        f"answers arrive at once. {_kept()}"
    )
    with row:
        learn_parts.choose("classroom")
    if said := session.said():
        st.warning(said, icon=":material/info:")
    if own is None or now is None:
        _door()
    else:
        desk.draw(own, now)


def _kept() -> str:
    return f"Nothing is kept after the room closes, or after {limits.ROOM_HOURS.value} hours."


def _invited() -> None:
    """The door of a link to a room: nothing of it is for teachers, but the way to their own."""
    with st.container(key="classroom-invited"):
        st.title("Join your class", anchor=False)
        if said := session.said():
            st.warning(said, icon=":material/info:")
        _fields()
        st.caption(f"You need no account. {_kept()}")
        button("I teach: open a room", "meeting_room", "classroom:teach", _forget_code, type="tertiary")
    _kept_rooms()


def _forget_code() -> None:
    state.put(RoomParams.code, "")


def _kept_rooms() -> None:
    """The rooms that this browser has the key of, and a teacher's link."""
    room_door(key="classroom:door", left=session.has_left(), on_teach=partial(session.attempt, session.take_key))


def _wait(own: Seat, now: Room) -> None:
    """A student's screen between joining and the teacher's first page: nothing of it is for teachers."""
    with st.container(key="classroom-wait"):
        st.title(f"You are in room {spaced(own.code)}", anchor=False)
        if own.nickname:
            st.markdown(f"Your nickname: **{plain(own.nickname)}**")
        if said := session.said():
            st.warning(said, icon=":material/info:")
        if now.view:
            st.markdown("Your screen follows the teacher. “Look around” at the lower edge lets you explore.")
        else:
            st.markdown("Wait here. The first page or question appears by itself.")
        button("Leave the room", "logout", "classroom:leave", session.leave, type="tertiary")


def _door() -> None:
    try:
        session.store()
    except RoomError as error:
        say_error(error, st.info, icon=":material/block:")
        return
    with st.container(key="classroom-choices"):
        _kept_rooms()
        st.markdown("Open a room, let the class join by its code, and teach **45 or 90 minutes** (“For teachers”).")
        # A phone shows the first one above, and a laptop the second one at the left (page.css).
        with st.container(key="classroom-doors"):
            first, second = st.columns(2, gap="large")
        with first, st.container(border=True, height="stretch"):  # thirty join a room that one opens
            _join()
        with second, st.container(border=True, height="stretch"):
            _open()
    _paths()
    next_page("lessons", "Which lesson fits your class?")


def _open() -> None:
    st.header("Open a room", anchor=False)
    st.markdown("The projector shows code and questions, students answer on their phones, your desk shows the answers.")
    named = st.checkbox("Ask for nicknames", key="classroom:named", help="Off: students join without a name.")
    if not invite.is_reachable():
        st.warning(
            "**No phone can join yet:** this server answers only this computer. Start it with "
            "`encoderscope --host 0.0.0.0 --no-browser`, and allow its port in the firewall.",
            icon=":material/wifi_off:",
        )
    open_room = partial(session.attempt, session.open_room, named=named)
    button("Open a room", "meeting_room", "classroom:open", open_room, type="primary")


def _paths() -> None:
    """The paths, for who teaches: when each step begins, and what the teacher does."""
    part = expander("For teachers: what to do, minute by minute", "classroom-paths", icon=":material/schedule:")
    if part is None:
        return
    lessons = {lesson.name: lesson for lesson in library.lessons()[0]}
    with part, st.container(key="classroom-path"):
        for one in path.paths().values():
            rows = [
                (f"{mark.at}", plain(f"{lesson.label} · {lesson.step(mark.step).title}"), plain(mark.do))
                for mark in one.marks
                if (lesson := lessons.get(mark.lesson)) is not None
            ]
            if one.marks[0].at:
                rows.insert(0, ("0", "Your room", "Open it, and let the class join."))
            st.header(plain(one.title), anchor=False)
            if not one.marks[0].at:
                st.caption("The class joins your room before minute 0.")
            st.markdown(table(("minute", "step", "what you do"), rows, words=3))


def _join() -> None:
    st.header("Join a room", anchor=False)
    st.markdown("The projector shows the code. Your screen then follows your teacher, and the questions come to it.")
    _fields()


def _fields() -> None:
    """Code, nickname where the teacher asks for one, and the button."""
    if _CODE not in st.session_state:
        st.session_state[_CODE] = state.get(RoomParams.code)
    with st.form("classroom:form", border=False):  # Enter joins, too
        st.text_input("Code", key=_CODE, placeholder="ACD 347", max_chars=12)
        if st.session_state.get(_NAMED) or state.get(RoomParams.code):
            st.text_input("Nickname", key=_NICKNAME, max_chars=limits.NICKNAME.value)
        submit("Join", "login", "classroom:join", partial(session.attempt, _take_seat), type="primary")


def _take_seat() -> None:
    typed, nickname = st.session_state.get(_CODE, ""), st.session_state.get(_NICKNAME, "")
    if session.find(typed).named and not read_nickname(nickname):
        st.session_state[_NAMED] = True
        session.say("The teacher asks for a nickname: choose one, then join.")
        return
    session.join(typed, nickname)


show(main)
