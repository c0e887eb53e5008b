"""Where rooms are kept: the interface, and the store in this process's memory."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

from encoder import EncoderError
from pages.base.access import limits
from pages.teaching.rooms.room import Member, Room

_Kind = TypeVar("_Kind")
#: What all answers that did not come in time are kept under, in place of their question.
LATE = "late"


class RoomError(EncoderError):
    """Something about a room that its members can read: what happened, and what to do."""


class RoomGone(RoomError):
    """The room is closed, or there never was one."""


class StoreUnavailable(RoomError):
    """The store does not answer; the room goes on when it does."""


class Pulse(NamedTuple):
    """What says cheaply whether anything changed: counters of the room, and of its members and answers."""

    version: int
    activity: int


class RoomStore(Protocol):
    """Rooms with their members and answers. Every method is atomic; all raise `StoreUnavailable`.

    All but `open` and `find` raise `RoomGone` for a room that is closed.
    """

    def open(self, room: Room) -> bool:
        """Keep a new room. False: its code is taken. Raises RoomError if there are too many rooms."""

    def find(self, code: str) -> Room | None:
        """The room of a code, or None."""

    def pulse(self, code: str) -> Pulse:
        """The counters of a room."""

    def change(self, code: str, edit: Callable[[Room], Room]) -> Room:
        """Replace a room by `edit(room)` with the next version. `edit` has no side effects: it may run twice."""

    def close(self, code: str) -> None:
        """Forget a room with its members and answers."""

    def join(self, code: str, member: Member) -> None:
        """Add or replace a member. Raises RoomError if the room is full of others."""

    def remove(self, code: str, member: str) -> None:
        """Forget a member, whose answers stay."""

    def seen(self, code: str, members: Collection[str]) -> None:
        """Note that the browsers of these members gave a sign."""

    def members(self, code: str) -> dict[str, Member]:
        """All who joined, by id."""

    def answer(self, code: str, question: str, member: str, value: str) -> bool:
        """Keep a member's answer in place of an earlier one; whether it came in time. Raises RoomError for a stranger.

        An answer to a question that is not open is kept apart: see `late_answers`.
        """

    def answers(self, code: str, question: str) -> dict[str, str]:
        """The answers to a question, by member."""

    def times(self, code: str, question: str) -> dict[str, float]:
        """When these answers came, in seconds since 1970; not of those that an earlier version kept."""


@dataclass
class _Kept:
    """A room in memory."""

    room: Room
    activity: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)
    times: dict[str, dict[str, float]] = field(default_factory=dict)


class MemoryStore(RoomStore):
    """Rooms of this process; nothing to install, and gone when the process stops."""

    def __init__(self) -> None:
        self._rooms: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def _kept(self, code: str) -> _Kept:
        kept = self._rooms.get(code)
        if kept is None or kept.room.ends <= time.time():
            self._rooms.pop(code, None)
            raise gone(code)
        return kept

    def open(self, room: Room) -> bool:
        with self._lock:
            now = time.time()
            self._rooms = {code: kept for code, kept in self._rooms.items() if kept.room.ends > now}
            if len(self._rooms) >= limits.ROOMS.value:
                raise RoomError(
                    f"This server has {limits.ROOMS.value} open rooms, as many as it keeps. Close one, or try later."
                )
            return self._rooms.setdefault(room.code, _Kept(room)).room is room

    def find(self, code: str) -> Room | None:
        with self._lock:
            try:
                return self._kept(code).room
            except RoomGone:
                return None

    def pulse(self, code: str) -> Pulse:
        with self._lock:
            kept = self._kept(code)
            return Pulse(kept.room.version, kept.activity)

    def change(self, code: str, edit: Callable[[Room], Room]) -> Room:
        while True:
            with self._lock:
                before = self._kept(code).room
            new = changed(before, edit)  # without the lock of all rooms: an edit may read a lesson from the disk
            with self._lock:
                kept = self._kept(code)
                if kept.room is before:  # else another tab of the teacher was faster
                    kept.room = new
                    return new

    def close(self, code: str) -> None:
        with self._lock:
            self._kept(code)
            del self._rooms[code]

    def join(self, code: str, member: Member) -> None:
        with self._lock:
            kept = self._kept(code)
            make_room(code, kept.members, member)
            member = replace(member, seen=time.time())
            if kept.members.get(member.id) != member:
                kept.activity += 1
            kept.members[member.id] = member

    def remove(self, code: str, member: str) -> None:
        with self._lock:
            kept = self._kept(code)
            if kept.members.pop(member, None) is not None:
                kept.activity += 1

    def seen(self, code: str, members: Collection[str]) -> None:
        with self._lock:
            kept = self._kept(code)
            for one in kept.members.keys() & set(members):
                kept.members[one] = replace(kept.members[one], seen=time.time())

    def members(self, code: str) -> dict[str, Member]:
        with self._lock:
            return dict(self._kept(code).members)

    def answer(self, code: str, question: str, member: str, value: str) -> bool:
        with self._lock:
            kept = self._kept(code)
            under, name = place_of(kept.room, question, member, member in kept.members, value)
            kept.answers.setdefault(under, {})[name] = value
            kept.times.setdefault(under, {})[name] = time.time()
            kept.activity += 1
            return under == question

    def answers(self, code: str, question: str) -> dict[str, str]:
        with self._lock:
            return dict(self._kept(code).answers.get(question, {}))

    def times(self, code: str, question: str) -> dict[str, float]:
        with self._lock:
            return dict(self._kept(code).times.get(question, {}))


def gone(code: str) -> RoomGone:
    """The error for a room that is not there."""
    return RoomGone(f"No room {code} is open. Check the code, or ask your teacher to open a room.")


def full() -> str:
    """What a teacher reads whose room holds no more questions."""
    return (
        f"A room holds {limits.QUESTIONS.value} questions, fewer if they are about long texts. Save “Answers as CSV”, "
        "then open a new room for more."
    )


def changed(room: Room, edit: Callable[[Room], Room]) -> Room:
    """`edit(room)` with the next version. Raises RoomError beyond a limit; code, key and opening time stay."""
    new = edit(room)
    if new.asked > room.asked and room.is_full:
        raise RoomError(full())
    if len(replace(new, past=()).to_json()) > limits.ROOM_VIEW.value:
        raise RoomError(f"This view is too large for a room ({limits.ROOM_VIEW.value:,} bytes). Shorten the text.")
    return replace(new, code=room.code, key_hash=room.key_hash, opened=room.opened, version=room.version + 1)


def make_room(code: str, members: dict[str, Member], member: Member) -> list[str]:
    """Remove members who left if a new one needs a place; returns their ids. Raises RoomError if all are present."""
    if member.id in members or len(members) < limits.MEMBERS.value:
        return []
    now = time.time()
    absent = [one for one, other in members.items() if not other.is_present(now)]
    if not absent:
        raise RoomError(f"Room {code} is full: it holds {limits.MEMBERS.value} members.")
    for one in absent:
        del members[one]
    return absent


def place_of(room: Room, question: str, member: str, is_member: bool, value: str) -> tuple[str, str]:
    """Where a member's answer is kept: under its question, or under LATE. Raises RoomError for one that is not kept."""
    if not is_member:
        raise RoomError(f"You are not in room {room.code}. Join it again; your answer is kept on this page.")
    if len(value.encode("utf-8", "replace")) > limits.ANSWER.value:
        raise RoomError(f"An answer has at most {limits.ANSWER.value:,} bytes. Shorten it.")
    is_open = room.question is not None and room.question.id == question and not room.question.revealed
    return (question, member) if is_open else (LATE, f"{member} {question}")


def late_answers(store: RoomStore, code: str) -> dict[str, dict[str, str]]:
    """Question -> member -> an answer that came when the question was not open."""
    return _by_question(store.answers(code, LATE))


def late_times(store: RoomStore, code: str) -> dict[str, dict[str, float]]:
    """When these answers came: see `RoomStore.times`."""
    return _by_question(store.times(code, LATE))


def _by_question(late: Mapping[str, _Kind]) -> dict[str, dict[str, _Kind]]:
    found: dict[str, dict[str, _Kind]] = {}
    for place, value in late.items():
        member, _, question = place.partition(" ")
        found.setdefault(question, {})[member] = value
    return found
