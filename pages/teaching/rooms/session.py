"""This session's seat in a room: as a student, or as the teacher with the room's key.

A seat is kept by the session; the browser keeps what a new session needs to take it again (kept.js): a student's secret
id for the tab, and the last one and a teacher's key for the browser.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages.state import kept, links, state
from pages.teaching.params import LessonParams, RoomParams
from pages.teaching.rooms import current_store, events
from pages.teaching.rooms.room import BARS, Asked, Member, Room, new_room, new_secret, read_code, read_nickname
from pages.teaching.rooms.store import RoomError, RoomGone, RoomStore, StoreUnavailable, gone

#: The page where a room is opened and joined; for a teacher, the desk.
DESK = "classroom"
_SEAT, _ROOM, _SAID, _STALE = "_room_seat", "_room_read", "_room_said", "_room_stale"
#: This student's answers as JSON, by question; those that wait for the store.
_GIVEN, _WAITING = "_room_answers", "_room_waiting"
#: What this student typed and did not send, by the words of the question: asked again, it has another id.
_DRAFTS = "_room_drafts"
#: Changes by this teacher that wait for the store.
_CHANGES = "_room_changes"
#: The room in which this session tried to take a seat by itself; whether it has left one, and which.
_TRIED, _LEFT, _WAS = "_room_tried", "_room_left_by_hand", "_room_seat_before"
#: How this session's last seat ended, where that has a screen of its own.
_ENDED = "_room_ended"
#: Answers of one student, and changes by one teacher, that wait, at most.
MOST_WAITING = 20
#: What becomes of a room that is closed.
CLOSED = "The teacher ended it, or its hours are over. All answers are deleted."
Edits = tuple[Callable[[Room], Room], ...]
_ID = re.compile(r"[\w-]{16,64}")


@dataclass(frozen=True)
class Seat:
    """A place in a room. member: the secret id of a student; key: the teacher's, "" for a student.

    follows: whether the student sees the teacher's view; recalled: calls back that the student has heard; wall: a
    screen for the whole class, which always follows and answers nothing: it has neither id nor key.
    """

    code: str
    member: str
    key: str = ""
    nickname: str = ""
    follows: bool = True
    recalled: int = 0
    wall: bool = False

    @property
    def teaches(self) -> bool:
        """Whether this is the teacher."""
        return bool(self.key)


@dataclass(frozen=True)
class Ended:
    """A seat that ended. why: a sentence; closed: whether its room was closed; wall: whether it was a wall's."""

    code: str
    why: str
    closed: bool
    wall: bool


def store() -> RoomStore:
    """The store of rooms. Raises RoomError where the operator switched them off."""
    found = current_store()
    if found is None:
        raise RoomError("This server has no rooms: its operator switched them off with --rooms off.")
    return found


def seat() -> Seat | None:
    """This session's seat, or None."""
    return st.session_state.get(_SEAT)


def room() -> Room | None:
    """The seat's room as this run has read it; None without a seat, or before the store has answered once."""
    return st.session_state.get(_ROOM) if seat() else None


def is_follower() -> bool:
    """Whether this session is a student's who follows the teacher."""
    own = seat()
    return own is not None and not own.teaches and own.follows


def said() -> str:
    """What happened to the room, as a sentence, once; "" if all is well."""
    return str(st.session_state.pop(_SAID, ""))


def is_stale() -> bool:
    """Whether the store did not answer in this run: what it drew lacks something."""
    return bool(st.session_state.get(_STALE))


def answers(code: str, question: str) -> dict[str, str]:
    """The answers to a question, by member. Raises RoomError; if the store does not answer, the browser asks again."""
    with _noted():
        return store().answers(code, question)


def members(code: str) -> dict[str, Member]:
    """All who joined, by id. Raises RoomError; if the store does not answer, the browser asks again."""
    with _noted():
        return store().members(code)


@contextlib.contextmanager
def _noted() -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        st.session_state[_STALE] = True
        raise


def say(sentence: str) -> None:
    """Keep a sentence for the strip and the page Classroom."""
    st.session_state[_SAID] = sentence


def read() -> Seat | None:
    """Read the room, once at the beginning of each run; returns the seat. A room that is closed ends the seat."""
    own = seat()
    if own is None:
        return None
    st.session_state[_STALE] = False
    try:
        found = store().find(own.code)
        if found is not None and own.member and _is_new(found):
            known = store().members(own.code).get(own.member)
            if known is None:
                leave(f"You are no longer in room {own.code}. Join it again to go on.")
                links.open_later(DESK)  # where she can
                return None
            st.session_state[_SEAT] = own = replace(own, nickname=known.nickname)
    except StoreUnavailable as error:
        st.session_state[_STALE] = True
        say(str(error))
        return own
    except RoomError as error:
        leave(str(error))
        return None
    if found is None:
        leave(CLOSED, closed=True)
        return None
    st.session_state[_ROOM] = found
    if changes := st.session_state.get(_CHANGES, ()):
        st.session_state.pop(_SAID, None)
        _make(changes, found, changes)
    for question, value in st.session_state.pop(_WAITING, {}).items():
        answer(question, value)
    return own


def _is_new(found: Room) -> bool:
    """Whether this session has not read this version of the room: the teacher may have changed its members."""
    before = st.session_state.get(_ROOM)
    return before is None or before.version != found.version


def find(typed: str) -> Room:
    """The room of a code as somebody types it. Raises RoomError, soon also for too many unknown codes."""
    address, code = _address(), read_code(typed)
    if not events.MISSED.allows(address, code):
        raise RoomError("Too many unknown codes came from this network. Wait a minute, then try again.")
    if not code:
        raise RoomError("A code has six letters and digits, such as ACD 347. Look at the teacher's screen.")
    found = store().find(code)
    if found is None:
        events.MISSED.note(address)
        raise gone(code)
    events.MISSED.found(address, code)
    return found


def _address() -> str:
    """Where this visitor comes from."""
    return st.context.ip_address or ""


def open_room(*, named: bool) -> None:
    """Open a room with this session as its teacher. Raises RoomError, also for a second one."""
    own, address, key = seat(), _address(), new_secret()
    if own is not None and own.teaches:
        raise RoomError(f"You teach room {own.code}: close it before you open another one.")
    if not events.OPENED.allows(address):
        raise RoomError(
            "Many rooms were opened from this network in the last hour. Wait some minutes, or use one of them."
        )
    for _ in range(5):
        made = replace(new_room(key, view={}, named=named), hidden=(BARS,))
        if store().open(made):
            events.OPENED.note(address)
            events.MISSED.found(address, made.code)
            _sit(Seat(made.code, "", key), made)
            return
    raise RoomError("No free code was found. Try again.")


def take_key(code: str, key: str) -> None:
    """Teach a room again with its key. Raises RoomError for a wrong one."""
    found = find(code)
    if not found.is_taught_with(key):
        raise RoomError(f"This is not the teacher's key of room {found.code}.")
    _sit(Seat(found.code, "", key), found)


def join(typed: str, nickname: str = "", member: str = "") -> None:
    """Take a student's seat. member: the id that the browser kept, if any. Raises RoomError."""
    found = find(typed)
    nickname = read_nickname(nickname)
    if found.named and not nickname:
        raise RoomError("The teacher asks for a nickname: choose one.")
    was = st.session_state.get(_WAS)
    if not member and was is not None and was.code == found.code:
        member = was.member  # who joins again, as under another nickname, keeps her answers
    member = member or new_secret()
    nickname = _free(found.code, member, nickname) if found.named else ""
    own = Seat(found.code, member, nickname=nickname, recalled=found.recalled)
    store().join(found.code, Member(own.member, own.nickname))
    _sit(own, found)


def _free(code: str, member: str, nickname: str) -> str:
    """The nickname, with a number if somebody else in the room has it."""
    taken = {one.nickname.casefold() for one in store().members(code).values() if one.id != member}
    names = (nickname if number == 1 else f"{nickname} {number}" for number in itertools.count(1))
    return next(name for name in names if name.casefold() not in taken)


def rename(member: Member, typed: str) -> None:
    """Give a member another nickname, as the teacher. Raises RoomError."""
    own, nickname = seat(), read_nickname(typed)
    if own is None or not own.teaches:
        return
    if not nickname:
        raise RoomError("A nickname has at least one letter or digit: enter another one.")
    store().join(own.code, replace(member, nickname=_free(own.code, member.id, nickname)))
    teach(lambda room: room)  # a new version: the member's screen reads it


def remove(member: str) -> None:
    """Remove a member from the room, as the teacher. Raises RoomError."""
    own = seat()
    if own is not None and own.teaches:
        store().remove(own.code, member)
        teach(lambda room: room)  # as above


def _sit(own: Seat, found: Room) -> None:
    st.session_state.pop(_CHANGES, None)  # of another room
    st.session_state.pop(_ENDED, None)
    if (was := st.session_state.get(_WAS)) is not None and was.code != own.code:
        st.session_state.pop(_WAITING, None)  # as these answers
    st.session_state[_SEAT], st.session_state[_ROOM] = own, found
    if state.has_begun():
        state.put(RoomParams.code, own.code)


def leave(why: str = "", *, closed: bool = False) -> None:
    """Give the seat up. why: a sentence for the page; closed: whether the room is."""
    own = seat()
    for name in (_SEAT, _ROOM, _CHANGES):
        st.session_state.pop(name, None)
    st.session_state[_LEFT], st.session_state[_WAS] = True, own
    if state.has_begun():
        state.put(RoomParams.code, "")
    if own is not None and (own.wall or (closed and own.member)):
        _end(Ended(own.code, why, closed, own.wall))
    else:
        say(f"Room {own.code} is closed. {why}" if closed and own is not None else why)


def _end(end: Ended) -> None:
    """Show the end of a seat. A wall keeps its address, so a reload shows its end again, and no page of a teacher."""
    st.session_state[_ENDED] = end
    if not state.has_begun():
        return
    state.put(RoomParams.code, end.code if end.wall else "")
    if not end.wall:  # no question of the lesson is left on the page
        for param, value in ((LessonParams.lesson, ""), (LessonParams.number, 1), (LessonParams.path, "")):
            state.put(param, value)


def ended() -> Ended | None:
    """How this session's last seat ended, while its screen is shown."""
    return st.session_state.get(_ENDED)


def forget_end() -> None:
    """Go on without the class. For callbacks."""
    st.session_state.pop(_ENDED, None)


def has_left() -> bool:
    """Whether this session gave its last seat up, so that the browser forgets it."""
    return seat() is None and bool(st.session_state.get(_LEFT))


def follow(follows: bool, page: str = "") -> None:
    """Note whether this student follows, and where she is otherwise."""
    own = seat()
    if own is None or not own.member:
        return
    now = room()
    st.session_state[_SEAT] = replace(own, follows=follows, recalled=now.recalled if now and follows else own.recalled)
    attempt(store().join, own.code, Member(own.member, own.nickname, follows, "" if follows else page))


def teach(edit: Callable[[Room], Room]) -> bool:
    """Change the room as its teacher, and nobody else; whether it is changed. Errors become a sentence.

    While the store is away the change waits, and this session shows it; the run that reads the room again makes it.
    """
    own = seat()
    if own is None or not own.teaches:
        return False

    return _make((*st.session_state.get(_CHANGES, ()), edit), room(), (edit,))


def _make(edits: Edits, now: Room | None, unseen: Edits) -> bool:
    """Make the teacher's changes in their order, the ones that wait and a new one, in one step; whether it is done.

    now: the room that this session knows, None without one; unseen: the changes that it does not have yet. The session
    shows both while the changes wait.
    """
    own = seat()
    assert own is not None
    refused: list[RoomError] = []

    def checked(found: Room) -> Room:
        if not found.is_taught_with(own.key):
            raise RoomError("Only the teacher changes a room.")
        found, refused[:] = _applied(found, edits)
        if len(refused) == len(edits):
            raise refused[-1]
        return found

    try:
        st.session_state[_ROOM] = store().change(own.code, checked)
    except StoreUnavailable as error:
        st.session_state[_STALE] = True
        if now is None or len(edits) > MOST_WAITING:
            say("The room store does not answer, and this change is not made. Try again when it is back.")
            return False
        st.session_state[_CHANGES], st.session_state[_ROOM] = edits, _applied(now, unseen)[0]
        say(str(error))
        return True
    except RoomGone as error:
        leave(str(error))
    except RoomError as error:
        say(str(error))
    else:
        events.changed(own.code)
        if refused:
            say(str(refused[-1]))
        st.session_state.pop(_CHANGES, None)
        return not refused
    st.session_state.pop(_CHANGES, None)
    return False


def _applied(room: Room, edits: Edits) -> tuple[Room, list[RoomError]]:
    """The room after the changes that are possible, and the errors of the others."""
    refused = []
    for edit in edits:
        try:
            room = edit(room)
        except RoomError as error:
            refused.append(error)
    return room, refused


def change(*, recalls: bool = False, **values: Any) -> None:
    """Change fields of the room as its teacher, see `Room`; recalls: also call everybody back. For callbacks."""
    teach(lambda found: replace(found, recalled=found.recalled + recalls, **values))


def attempt(action: Callable[..., object], *args: Any, **named: Any) -> None:
    """Do something with a room; an error becomes a sentence. For callbacks."""
    try:
        action(*args, **named)
    except RoomError as error:
        say(str(error))


def close() -> None:
    """Close the room for everybody, as its teacher. For callbacks."""
    own, now = seat(), room()
    if own is None or now is None or not now.is_taught_with(own.key):
        return
    try:
        store().close(own.code)
    except RoomError as error:
        say(str(error))
        return
    events.changed(own.code)
    leave(f"Room {own.code} is closed. Its answers are deleted.")


def answer(question: str, value: object) -> bool:
    """Give or change this student's answer; whether it came in time. Errors become a sentence. For callbacks.

    While the store is away the answer waits; the run that reads the room again sends it. Meanwhile the browser keeps
    it, since this session's process may stop, too.
    """
    own, text = seat(), json.dumps(value)
    if own is None or not own.member:
        return False
    in_time = True
    try:
        in_time = store().answer(own.code, question, own.member, text)
    except StoreUnavailable:
        st.session_state.setdefault(_WAITING, {})[question] = value
    except RoomError as error:
        say(str(error))
        return False
    given()[question] = text
    keep_draft(question, "")
    events.changed(own.code)
    if not in_time:
        say("The question was closed before your answer arrived. The teacher has it, marked as late.")
    return in_time


def activity(code: str) -> int:
    """The counter of the room's members and answers; 0 while the store is away, so that its return is a change."""
    try:
        return store().pulse(code).activity
    except RoomError:
        return 0


def given() -> dict[str, str | None]:
    """What this session knows of the student's answers: JSON by question, None for none."""
    return st.session_state.setdefault(_GIVEN, {})


def keep_draft(question: str, text: str) -> None:
    """Keep what stands unsent in the field of a question of this room; "" forgets it. For callbacks."""
    now = room()
    known = (*now.past, now.question) if now else ()
    asked = next((one for one in known if one is not None and one.id == question), None)
    if asked is not None and not (text and given().get(question)):  # it is sent
        st.session_state.setdefault(_DRAFTS, {})[str(asked.definition.get("ask"))] = text.strip()


def draft(asked: Asked) -> str:
    """What this student typed as an answer and did not send, "" without it."""
    return str(st.session_state.get(_DRAFTS, {}).get(str(asked.definition.get("ask")), ""))


def waiting() -> dict[str, Any]:
    """The answers that wait until the store is back, by question."""
    return dict(st.session_state.get(_WAITING, {}))


# --- a new session of a browser that was here before ------------------------------------------------------------------


def awaits_seat() -> bool:
    """Whether the address names a room in which this session has not tried to take a seat."""
    code = state.get(RoomParams.code)
    return bool(code) and seat() is None and st.session_state.get(_TRIED) != code


def take_seat() -> bool:
    """Take the seat that the browser kept in the room of the address, or a new one where no nickname is needed.

    Without a room in the address it is that of the browser's last seat, if the browser names one. Returns whether there
    is something else to draw: a seat, or the door. Where the store does not answer, the address keeps the room, and the
    browser asks again.
    """
    own, typed = kept.seat(), state.get(RoomParams.code)
    code = typed or own.get("code", "")
    if not code or seat() is not None or st.session_state.get(_TRIED) == code:
        return False
    if own.get("code") != code:
        own = {}
    member, key = own.get("member", ""), own.get("key", "")
    member = member if _ID.fullmatch(member) else ""
    st.session_state[_STALE] = False
    try:
        found = find(code)
        known = store().members(found.code).get(member)
        if typed and state.get(RoomParams.wall):
            _sit(Seat(found.code, "", wall=True), found)
        elif key and found.is_taught_with(key):
            _sit(Seat(found.code, "", key), found)
        elif known is not None or (typed and not found.named):
            join(code, known.nickname if known else "", member)
            with contextlib.suppress(ValueError, RecursionError, TypeError):  # a browser may say anything
                st.session_state[_WAITING] = dict([*dict(json.loads(own.get("waiting", "{}"))).items()][:MOST_WAITING])
        elif typed:
            links.open_later(DESK)  # a nickname is needed
    except StoreUnavailable as error:
        st.session_state[_STALE] = True
        state.put(RoomParams.code, code)
        say(str(error))
        return False
    except RoomError as error:
        is_wall, is_gone = bool(typed) and state.get(RoomParams.wall), isinstance(error, RoomGone)
        state.put(RoomParams.code, "")
        if is_wall or (is_gone and typed and member and not key):  # a screen that comes back after the end
            _end(Ended(code, CLOSED if is_gone else str(error), is_gone, is_wall))
        elif typed:
            say(str(error))
            links.open_later(DESK)
    st.session_state[_TRIED] = code
    return True
