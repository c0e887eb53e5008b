"""A store of rooms that answers what no Redis does: each action says that the store is away, and soon."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pages.teaching.rooms import RoomError, new_room, redis_store
from pages.teaching.rooms.redis_store import RedisStore
from pages.teaching.rooms.room import Member
from tests.rooms.foreign import ANSWERS, foreign

ROOM = new_room("key", view={"page": "heads"})
ACTIONS: dict[str, Callable[[RedisStore], object]] = {
    "open": lambda store: store.open(ROOM),
    "find": lambda store: store.find(ROOM.code),
    "pulse": lambda store: store.pulse(ROOM.code),
    "change": lambda store: store.change(ROOM.code, lambda room: dataclasses.replace(room, frozen=True)),
    "close": lambda store: store.close(ROOM.code),
    "join": lambda store: store.join(ROOM.code, Member("a", "Ada")),
    "seen": lambda store: store.seen(ROOM.code, ["a"]),
    "members": lambda store: store.members(ROOM.code),
    "answer": lambda store: store.answer(ROOM.code, "1", "a", "3"),
    "answers": lambda store: store.answers(ROOM.code, "1"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_answer_is_a_sentence(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_store, "TIMEOUT", 0.02)
    said = set()
    with foreign(answer) as url:
        store = RedisStore(url)
        for name, act in ACTIONS.items():
            try:
                act(store)
            except RoomError:
                said.add(name)
    assert "change" in said
    assert {"members", "answers"} <= said
