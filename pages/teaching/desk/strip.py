"""The line of the room on every page, for its students and its teacher."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.components.rooms import StripButton, StripEvent, room_strip
from pages.state import links
from pages.state.url_state import state
from pages.teaching.desk import hidden, question_box
from pages.teaching.lessons import progress
from pages.teaching.params import RoomParams
from pages.teaching.rooms import Room, follow, session
from pages.teaching.rooms.room import spaced
from pages.teaching.rooms.session import DESK, Seat

KEY = "room-strip"
#: Before the number of a lesson's step, in the name of a button.
STEP = "step "


def draw(folder: str) -> None:
    """Draw the line. folder: of the open page."""
    own, now = session.seat(), session.room()
    asks = session.awaits_seat()
    if not asks and own is None:
        return  # nobody pays for rooms who is in none
    header: dict[str, Any] = {
        "code": state.get(RoomParams.code),
        "version": 0,
        "member": "",
        "key": "",
        "desk": False,
        "wall": False,
        "words": "",
        "note": "",
        "timer": None,
        "spotlight": False,
        "asks": asks,
        "hidden": True,
        "stale": session.is_stale(),
        "asks_class": False,
    }
    buttons: list[StripButton] = []
    if own is not None and now is not None:
        header |= _of_seat(own, now, folder)
        buttons = _teachers_buttons(now, folder) if own.teaches else _students_buttons(own, now)
        if not (own.teaches or own.wall):
            hidden.hide(now.hidden)
    room_strip(header, buttons, key=KEY, on_event=_on_event)


def _of_seat(own: Seat, now: Room, folder: str) -> dict[str, Any]:
    return {
        "code": own.code,
        "version": now.version,
        "member": own.member,
        "waiting": json.dumps(session.waiting()),
        "key": own.key,
        "desk": own.teaches or own.wall,
        "wall": own.wall,
        "words": _words(own, now),
        "note": "" if folder == DESK else session.said(),
        "timer": now.timer - time.time() if now.timer else None,
        "spotlight": now.spotlight and (own.teaches or own.follows),
        "hidden": False,
        "asks_class": now.question is not None,
    }


def _words(own: Seat, now: Room) -> str:
    name = f"Room {spaced(own.code)}"
    if own.teaches:
        return f"{name} · teacher"
    if not own.follows:
        return "On your own"
    return f"{name} · following" + (" · frozen" if now.frozen else "")


def _students_buttons(own: Seat, now: Room) -> list[StripButton]:
    if own.wall:
        return []
    if not own.follows:
        return [{"name": "return", "label": "Return to class", "primary": True}]
    if now.frozen or not now.view or (now.question is not None and now.question.withholds):
        return []
    return [{"name": "around", "label": "Look around", "title": "Stop following; “Return to class” takes you back"}]


def _teachers_buttons(now: Room, folder: str) -> list[StripButton]:
    buttons: list[StripButton] = []
    if folder != DESK and (opened := progress.current()) is not None:
        step = opened.number
        progress.note_drawn(opened.lesson, step)
        buttons += [
            {"name": f"{STEP}{step - 1}", "label": "◀", "title": "Previous step of the lesson, for everybody"},
            {"name": f"{STEP}{step + 1}", "label": "▶", "title": "Next step of the lesson, for everybody"},
        ]
    buttons += [
        {
            "name": "no-spotlight" if now.spotlight else "spotlight",
            "label": "Spotlight",
            "pressed": now.spotlight,
            "title": "What you select pulses on every screen",
        },
        {
            "name": "unfreeze" if now.frozen else "freeze",
            "label": "Freeze",
            "pressed": now.frozen,
            "title": "Keep everyone on your view",
        },
        {"name": "recall", "label": "Call back", "title": "Everybody follows again"},
    ]
    if folder == DESK:
        return [*buttons, {"name": "page", "label": "To the class's page"}] if now.view else buttons
    if now.question is None or now.question.revealed:
        buttons.append({"name": "ask", "label": "Ask", "title": "Ask the class about this page"})
    return [*buttons, {"name": "desk", "label": "Desk", "title": "Lesson, questions, answers, code", "primary": True}]


# --- what the buttons do --------------------------------------------------------------------------------------------


# A click that a reconnect repeats changes nothing: each name says what will be, not that something changes.


def _turn(number: str) -> None:
    opened = progress.current()
    if opened is not None and number.isdecimal() and opened.lesson.nearest(int(number)) == int(number):
        progress.turn(progress.open_step, opened.lesson, int(number))


PRESSES: dict[str, Callable[[], None]] = {
    "return": follow.return_to_class,
    "around": follow.look_around,
    "freeze": partial(session.change, frozen=True, recalls=True),
    "unfreeze": partial(session.change, frozen=False, recalls=True),
    "recall": partial(session.change, recalls=True),
    "spotlight": partial(session.change, spotlight=True),
    "no-spotlight": partial(session.change, spotlight=False),
    "ask": lambda: st.session_state.update({question_box.ASKING: True}),
    "desk": lambda: links.open_later(DESK),
    "page": follow.to_class_page,
}


def _on_event(event: StripEvent) -> None:
    """For callbacks."""
    if "question" in event:
        session.keep_draft(event["question"], event.get("draft", ""))
    if event["event"] == "news":
        follow.hear_news()
    elif event.get("name", "").startswith(STEP):
        _turn(event["name"].removeprefix(STEP))
    elif event.get("name") in PRESSES:
        PRESSES[event["name"]]()
