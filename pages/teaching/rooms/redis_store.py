"""The store in Redis or Valkey: several processes serve one room, and a room survives a restart of any of them."""

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.client import Pipeline
from redis.retry import Retry

from pages.teaching.rooms.room import Member, Room, question_id
from pages.teaching.rooms.store import (
    LATE,
    Pulse,
    RoomError,
    RoomStore,
    StoreUnavailable,
    changed,
    gone,
    make_room,
    place_of,
)

#: Seconds for one answer of Redis, and how often a lost connection is tried again.
TIMEOUT, TRIES = 2.0, 2
#: What the client's and our own reading make of bytes that are not an answer of Redis.
NO_ANSWER = (ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError)


class RedisStore(RoomStore):
    """Rooms under `encoderscope:{CODE}:*`, each key with the room's end as its expiry.

    `room` is a hash of the room's JSON and its version; `activity` a counter; `members` a hash id -> JSON;
    `seen` a hash id -> seconds; `answers:QUESTION` a hash member -> answer, `times:QUESTION` one member -> seconds. A
    change that depends on the room watches it, and is tried again if somebody else was faster.
    """

    def __init__(self, url: str) -> None:
        # A lost connection is tried again; a store that hangs is not, since each try holds a page for TIMEOUT.
        retry = Retry(ExponentialBackoff(cap=0.2, base=0.02), TRIES, (redis.exceptions.ConnectionError,))
        self._redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=retry,
            health_check_interval=15,
        )

    def open(self, room: Room) -> bool:
        key = _key(room.code, "room")

        def write(pipe: Pipeline) -> bool:
            if pipe.exists(key):
                return False
            pipe.multi()
            _write_room(pipe, room)
            _expire(pipe, room, "room")
            return True

        return bool(self._transaction(write, key))

    def find(self, code: str) -> Room | None:
        with _available():
            text = self._redis.hget(_key(code, "room"), "json")
            return Room.from_json(text) if text else None

    def pulse(self, code: str) -> Pulse:
        with _available():
            pipe = self._redis.pipeline(transaction=False)
            pipe.hget(_key(code, "room"), "version")
            pipe.get(_key(code, "activity"))
            version, activity = pipe.execute()
            if version is None:
                raise gone(code)
            return Pulse(int(version), int(activity or 0))

    def change(self, code: str, edit: Callable[[Room], Room]) -> Room:

        def write(pipe: Pipeline) -> Room:
            room = changed(_room(pipe, code), edit)
            pipe.multi()
            _write_room(pipe, room)
            return room

        return self._transaction(write, _key(code, "room"))

    def close(self, code: str) -> None:

        def write(pipe: Pipeline) -> None:
            room = _room(pipe, code)
            questions = [LATE, *(question_id(room, number) for number in range(1, room.asked + 1))]
            answers = [f"{kind}:{question}" for question in questions for kind in ("answers", "times")]
            pipe.multi()
            pipe.delete(*(_key(code, name) for name in ("room", "activity", "members", "seen", *answers)))

        self._transaction(write, _key(code, "room"))

    def join(self, code: str, member: Member) -> None:
        members, seen = _key(code, "members"), _key(code, "seen")

        def write(pipe: Pipeline) -> None:
            room = _room(pipe, code)
            known = pipe.hget(members, member.id)
            left = [] if known else make_room(code, _members(pipe.hgetall(members), pipe.hgetall(seen)), member)
            pipe.multi()
            if left:
                pipe.hdel(members, *left)
                pipe.hdel(seen, *left)
            pipe.hset(members, member.id, member.to_json())
            pipe.hset(seen, member.id, time.time())
            if known is None or Member.from_json(known, 0) != member:
                pipe.incr(_key(code, "activity"))
            _expire(pipe, room, "members", "seen", "activity")

        self._transaction(write, _key(code, "room"), members)

    def remove(self, code: str, member: str) -> None:

        def write(pipe: Pipeline) -> None:
            room = _room(pipe, code)
            pipe.multi()
            pipe.hdel(_key(code, "members"), member)
            pipe.hdel(_key(code, "seen"), member)
            pipe.incr(_key(code, "activity"))
            _expire(pipe, room, "activity")

        self._transaction(write, _key(code, "room"))

    def seen(self, code: str, members: Collection[str]) -> None:
        if not members:
            return

        def write(pipe: Pipeline) -> None:
            room = _room(pipe, code)
            known = [one for one in members if pipe.hexists(_key(code, "members"), one)]
            pipe.multi()
            if known:
                pipe.hset(_key(code, "seen"), mapping=dict.fromkeys(known, time.time()))
                _expire(pipe, room, "seen")

        self._transaction(write, _key(code, "room"))

    def members(self, code: str) -> dict[str, Member]:
        with _available():
            return _members(*self._of_room(code, "members", "seen"))

    def answer(self, code: str, question: str, member: str, value: str) -> bool:

        def write(pipe: Pipeline) -> bool:
            room = _room(pipe, code)
            under, name = place_of(room, question, member, bool(pipe.hexists(_key(code, "members"), member)), value)
            pipe.multi()
            pipe.hset(_key(code, f"answers:{under}"), name, value)
            pipe.hset(_key(code, f"times:{under}"), name, time.time())
            pipe.incr(_key(code, "activity"))
            _expire(pipe, room, f"answers:{under}", f"times:{under}", "activity")
            return under == question

        return bool(self._transaction(write, _key(code, "room")))

    def answers(self, code: str, question: str) -> dict[str, str]:
        (answers,) = self._of_room(code, f"answers:{question}")
        return answers

    def times(self, code: str, question: str) -> dict[str, float]:
        (times,) = self._of_room(code, f"times:{question}")
        with _available():
            return {member: float(seconds) for member, seconds in times.items()}

    def _of_room(self, code: str, *names: str) -> list[dict[str, str]]:
        with _available():
            pipe = self._redis.pipeline()
            pipe.exists(_key(code, "room"))
            for name in names:
                pipe.hgetall(_key(code, name))
            is_open, *found = pipe.execute()
            if not is_open:
                raise gone(code)
            if not all(isinstance(one, dict) for one in found):
                raise TypeError(found)
            return found

    def _transaction(self, write: Callable[[Pipeline], Any], *watched: str) -> Any:
        with _available():
            return self._redis.transaction(write, *watched, value_from_callable=True)


def _key(code: str, name: str) -> str:
    return f"encoderscope:{{{code}}}:{name}"  # braces: a Redis cluster keeps a room in one place


def _room(pipe: Pipeline, code: str) -> Room:
    text = pipe.hget(_key(code, "room"), "json")
    if not text:
        raise gone(code)
    return Room.from_json(text)


def _write_room(pipe: Pipeline, room: Room) -> None:
    pipe.hset(_key(room.code, "room"), mapping={"json": room.to_json(), "version": room.version})


def _members(found: dict[str, str], seen: dict[str, str]) -> dict[str, Member]:
    return {one: Member.from_json(text, float(seen.get(one, 0))) for one, text in found.items()}


def _expire(pipe: Pipeline, room: Room, *names: str) -> None:
    for name in names:
        pipe.expireat(_key(room.code, name), math.ceil(room.ends))


@contextlib.contextmanager
def _available() -> Iterator[None]:
    """Errors of the connection, and of answers that are not Redis', as a sentence; errors about rooms pass."""
    try:
        yield
    except RoomError:
        raise
    except (redis.exceptions.RedisError, *NO_ANSWER) as error:
        raise StoreUnavailable(
            "The server has lost its room store for a moment. Nothing is lost: the room goes on when it is back."
        ) from error
