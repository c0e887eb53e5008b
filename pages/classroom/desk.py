"""The teacher's desk: lesson, question, answers, and who is here; the class does not see this page."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterator, Mapping

import streamlit as st

from encoder.errors import EncoderError
from pages.classroom import asking, hidden, invite, question_box, results
from pages.components.lazy import expander
from pages.components.room_door import room_door
from pages.components.room_strip import room_refresh
from pages.core.access import limits
from pages.core.teaching.lessons import library
from pages.core.teaching.lessons.lesson import Lesson
from pages.core.teaching.lessons.params import Params as LessonParams
from pages.core.teaching.questions import read_question
from pages.core.teaching.rooms import Asked, Member, Room, RoomError, follow, session
from pages.core.teaching.rooms.session import Seat
from pages.core.words.markdown import plain, say_error
from pages.state import links


def draw(own: Seat, now: Room) -> None:
    """The whole desk."""
    if st.toggle("Code for the projector", key="desk:large"):
        invite.draw(now, large=True)
        return
    left, right = st.columns([3, 5], gap="large")
    with left:
        invite.draw(now, large=False)
        _members()
        _controls(now)
        _end(own)
    with right:
        _lesson(now)
        _question(now)


# --- lesson -----------------------------------------------------------------------------------------------------------


def _lesson(now: Room) -> None:
    lessons = {one.name: one for one in library.lessons()[0]}
    name, number = now.view.get(LessonParams.lesson.name, ""), int(now.view.get(LessonParams.number.name, "1"))
    opened = lessons.get(name)
    with st.container(border=True):
        chosen = st.selectbox(
            "Lesson", list(lessons), index=list(lessons).index(name) if opened else None, key=f"desk:lesson:{name}",
            format_func=lambda one: f"{lessons[one].title} · {lessons[one].minutes} min",
            placeholder="Choose a lesson, or open any page: the class follows you",
        )  # fmt: skip
        if chosen and chosen != name:
            st.button(
                "Begin this lesson", key="desk:begin", type="primary", icon=":material/play_arrow:",
                on_click=show_step, args=(lessons[chosen], 1),
            )  # fmt: skip
        elif opened:
            _script(opened, min(number, len(opened.steps)))


def _script(lesson: Lesson, number: int) -> None:
    step = lesson.steps[number - 1]
    # The keys have the number: a click that a reconnect repeats turns no second page.
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Back", icon=":material/arrow_back:", key=f"desk:back:{number}", disabled=number == 1,
            on_click=show_step, args=(lesson, number - 1),
        )  # fmt: skip
        st.button(
            "Next", icon=":material/arrow_forward:", key=f"desk:next:{number}", type="primary",
            disabled=number == len(lesson.steps), on_click=show_step, args=(lesson, number + 1),
        )  # fmt: skip
        st.markdown(f"**{plain(step.title)}** · step {number} of {len(lesson.steps)}", width="content")
    st.markdown(step.prose)
    if number < len(lesson.steps):
        following = lesson.steps[number]
        st.caption(f"Next: {plain(following.title)}" + (" (with a question)" if following.question else ""))


def show_step(lesson: Lesson, number: int) -> None:
    """Show a step of a lesson to the class; the desk stays. For callbacks."""
    step, now = lesson.steps[number - 1], session.room()
    before = dict(now.view) if now else {}
    view = dict(step.view) or before or {"page": "lessons"}
    view |= {LessonParams.lesson.name: lesson.name}
    view |= {LessonParams.number.name: str(number)} if number != LessonParams.number.default else {}
    if number == LessonParams.number.default:
        view.pop(LessonParams.number.name, None)
    follow.apply(view, None)
    follow.publish(view)


# --- question and answers ---------------------------------------------------------------------------------------------


def _question(now: Room) -> None:
    with st.container(border=True):
        if now.question is None:
            part = expander("Ask the class about its view", "desk-ask", icon=":material/quiz:")
            if part is not None:
                with part:
                    asking.form(now)
        else:
            _answers(now.question)
            question_box.teachers_buttons(now.question)
        st.download_button(
            "Answers as CSV", lambda: export(now), f"room-{now.code}.csv", "text/csv", key="desk:csv",
            on_click="ignore", icon=":material/download:", disabled=not now.asked,
        )  # fmt: skip


@st.fragment
def _answers(asked: Asked) -> None:
    now = session.room()
    if now is None:
        return
    _refresh(now, "answers")
    try:
        question, look = read_question(asked.definition), question_box.look_at(asked)
        st.markdown(f"**{plain(question.ask)}**")
        if asked.revealed:
            results.truth(question, look)
        results.draw(now, asked, question, look)
        if now.named:
            _who(now, asked)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")


def _who(now: Room, asked: Asked) -> None:
    members, answered = session.store().members(now.code), session.store().answers(now.code, asked.id)
    missing = [one.nickname for one in present(members) if one.id not in answered]
    if missing:
        st.caption("Not yet: " + ", ".join(plain(name) for name in sorted(missing)))


def export(now: Room) -> bytes:
    """All answers of the room's questions as one table."""
    members = session.store().members(now.code)
    lines: list[bytes] = []
    for asked in [*now.past, *([now.question] if now.question else [])]:
        question, answers = read_question(asked.definition), session.store().answers(now.code, asked.id)
        table = results.as_csv(question, question_box.look_at(asked), answers, members)
        lines.append(table if not lines else table.split(b"\r\n", 1)[1])
    return b"".join(lines)


# --- the class --------------------------------------------------------------------------------------------------------


def _refresh(now: Room, name: str) -> None:
    """Draw this part of the page again when members or answers change."""
    try:
        activity = session.store().pulse(now.code).activity
    except RoomError:
        activity = 0  # as soon as the store is back
    room_refresh(activity, key=f"desk:refresh:{name}")


@st.fragment
def _members() -> None:
    now = session.room()
    if now is None:
        return
    _refresh(now, "members")
    try:
        here = [*present(session.store().members(now.code))]
    except RoomError as error:
        say_error(error, st.warning, icon=None)
        return
    follow_now = sum(one.follows for one in here)
    st.markdown(f"**Here: {len(here)}** · following: {follow_now}")
    elsewhere = Counter(links.title(one.page) for one in here if not one.follows)
    if elsewhere:
        st.caption("On their own: " + ", ".join(f"{page} {count}" for page, count in elsewhere.most_common()))
    if now.named and here:
        with st.expander("Names"):
            st.write(", ".join(plain(one.nickname) for one in sorted(here, key=lambda one: one.nickname.casefold())))


def present(members: Mapping[str, Member]) -> Iterator[Member]:
    """Those whose browser gave a sign lately."""
    now = time.time()
    return (one for one in members.values() if one.is_present(now))


def _controls(now: Room) -> None:
    st.multiselect(
        "Hide from the class", list(hidden.CONTROLS), format_func=lambda name: hidden.CONTROLS[name][0],
        default=list(now.hidden), key=f"desk:hidden:{now.version}", on_change=_hide, placeholder="Nothing is hidden",
        args=(f"desk:hidden:{now.version}",),
    )  # fmt: skip
    key = f"desk:points:{now.version}"
    st.toggle(
        "My pointer shows", value=now.points, key=key, on_change=_points, args=(key,),
        help="A cell or token that your pointer rests on for 0.7 s pulses on every screen.",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        minutes = st.number_input("Timer, minutes", 1, 90, 3, key="desk:minutes", width=140)
        st.button("Start", key="desk:timer", icon=":material/timer:", on_click=_timer, args=(60 * minutes,))
        if now.timer:
            st.button("Stop", key="desk:no-timer", on_click=_timer, args=(0,))


def _hide(key: str) -> None:
    names = tuple(st.session_state[key])
    session.teach(lambda room: dataclasses.replace(room, hidden=names))


def _points(key: str) -> None:
    points = bool(st.session_state[key])
    session.teach(lambda room: dataclasses.replace(room, points=points))


def _timer(seconds: int) -> None:
    ends = time.time() + seconds if seconds else 0.0
    session.teach(lambda room: dataclasses.replace(room, timer=ends))


def _end(own: Seat) -> None:
    part = expander("Your key, and the end of the room", "desk-end", icon=":material/key:")
    if part is None:
        return
    with part:
        st.markdown("This browser keeps your key. On another machine, or in a private window, use your own link:")
        room_door(key="desk:door", code=own.code, secret=own.key)
        st.markdown(f"The room closes after {limits.ROOM_HOURS.value} hours. Closing it deletes all answers at once.")
        st.button("Close the room", key="desk:close", icon=":material/delete:", on_click=session.close)
