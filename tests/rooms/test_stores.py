"""The same suite for every store of rooms."""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.base.access import limits
from pages.teaching.rooms import (
    Asked,
    Member,
    MemoryStore,
    Room,
    RoomError,
    RoomGone,
    RoomStore,
    StoreUnavailable,
    ask,
    new_room,
    new_secret,
    read_code,
)
from pages.teaching.rooms.redis_store import RedisStore
from pages.teaching.rooms.room import ALPHABET, CODE_LENGTH, PRESENT, end_question
from pages.teaching.rooms.store import late_answers, late_times
from tests.rooms.conftest import RedisServer

VIEW = {"page": "heads", "text": "Das Café — 北京", "layer": "2"}


@pytest.fixture
def room(store: RoomStore) -> Room:
    room = new_room("key", view=VIEW)
    assert store.open(room)
    return room


def test_a_room_is_found_as_it_was_opened(store: RoomStore, room: Room) -> None:
    assert store.find(room.code) == room
    assert room.is_taught_with("key")
    assert not room.is_taught_with("Key")
    assert "key" not in room.to_json().replace("key_hash", "")
    assert not store.open(dataclasses.replace(new_room("other", view={}), code=room.code))
    assert store.find(room.code) == room


def test_a_change_gives_the_next_version_and_keeps_code_and_key(store: RoomStore, room: Room) -> None:
    before = store.pulse(room.code)
    new = store.change(room.code, lambda one: dataclasses.replace(one, view={"page": "qkv"}, code="x", key_hash="y"))
    assert (new.view, new.version) == ({"page": "qkv"}, 2)
    assert (new.code, new.key_hash, new.opened) == (room.code, room.key_hash, room.opened)
    assert store.find(room.code) == new
    assert store.pulse(room.code) == (before.version + 1, before.activity)


def test_two_tabs_of_a_teacher_lose_no_change(store: RoomStore, room: Room) -> None:
    def add(number: int) -> None:
        store.change(room.code, lambda one: dataclasses.replace(one, hidden=(*one.hidden, str(number))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    after = store.find(room.code)
    assert after
    assert sorted(after.hidden, key=int) == [str(number) for number in range(40)]
    assert after.version == 41


def test_a_slow_edit_of_one_room_holds_up_no_other_one(store: RoomStore, room: Room) -> None:
    other, reads, ends = new_room("key", view=VIEW), threading.Event(), threading.Event()
    assert store.open(other)

    def slow(one: Room) -> Room:  # as one that reads a lesson from the disk
        reads.set()
        assert ends.wait(20)
        return dataclasses.replace(one, frozen=True)

    with ThreadPoolExecutor(2) as pool:
        changing = pool.submit(store.change, room.code, slow)
        assert reads.wait(20)
        try:
            assert pool.submit(store.pulse, other.code).result(timeout=5).version == 1
            assert pool.submit(store.pulse, room.code).result(timeout=5).version == 1
        finally:
            ends.set()
        assert changing.result(timeout=20).frozen


def test_a_room_that_is_closed_during_an_edit_stays_closed(store: RoomStore, room: Room) -> None:
    def edit(one: Room) -> Room:
        if store.find(one.code) is not None:
            store.close(one.code)
        return one

    with pytest.raises(RoomGone):
        store.change(room.code, edit)
    assert store.find(room.code) is None


def test_a_closed_room_is_gone(store: RoomStore, room: Room) -> None:
    store.join(room.code, Member("a"))
    question = store.change(room.code, lambda one: ask(one, {"kind": "number"})).question
    assert question
    store.answer(room.code, question.id, "a", "1")
    store.close(room.code)
    assert store.find(room.code) is None
    for call in (
        lambda: store.pulse(room.code),
        lambda: store.change(room.code, lambda one: one),
        lambda: store.members(room.code),
        lambda: store.answers(room.code, question.id),
        lambda: store.answer(room.code, question.id, "a", "1"),
        lambda: store.join(room.code, Member("a")),
        lambda: store.close(room.code),
    ):
        with pytest.raises(RoomGone, match=room.code):
            call()
    assert store.open(room)
    assert store.members(room.code) == {}
    assert store.answers(room.code, question.id) == {}


def test_a_room_ends_by_itself(store: RoomStore) -> None:
    old = new_room("key", view={})
    old = dataclasses.replace(old, opened=old.opened - limits.ROOM_HOURS.value * 3600 - 1)
    assert store.open(old)
    assert store.find(old.code) is None
    with pytest.raises(RoomGone):
        store.join(old.code, Member("a"))


def test_members_join_move_and_return(store: RoomStore, room: Room) -> None:
    store.join(room.code, Member("a", "Ada"))
    store.join(room.code, Member("b"))
    activity = store.pulse(room.code).activity
    store.join(room.code, Member("b"))  # the same again: nobody needs to hear of it
    store.seen(room.code, ["a", "b", "a stranger"])
    assert store.pulse(room.code).activity == activity
    store.join(room.code, Member("b", follows=False, page="qkv"))
    assert store.pulse(room.code).activity == activity + 1
    members = store.members(room.code)
    assert {one: (member.nickname, member.follows, member.page) for one, member in members.items()} == {
        "a": ("Ada", True, ""),
        "b": ("", False, "qkv"),
    }
    now = max(member.seen for member in members.values())
    assert all(member.is_present(now) and not member.is_present(now + 2 * PRESENT) for member in members.values())


def test_a_member_is_removed_and_the_answers_stay(store: RoomStore, room: Room) -> None:
    asked = store.change(room.code, lambda one: ask(one, {"kind": "choice"})).question
    assert asked
    for name in ("a", "b"):
        store.join(room.code, Member(name))
        store.answer(room.code, asked.id, name, "1")
    before = store.pulse(room.code).activity
    store.remove(room.code, "a")
    assert [*store.members(room.code)] == ["b"]
    assert {*store.answers(room.code, asked.id)} == {"a", "b"}
    assert store.pulse(room.code).activity > before
    with pytest.raises(RoomError):
        store.answer(room.code, asked.id, "a", "2")


def test_a_full_room_makes_room_for_those_who_are_here(
    store: RoomStore, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(limits.MEMBERS.value):
        store.join(room.code, Member(str(number)))
    store.join(room.code, Member("0", "again"))
    with pytest.raises(RoomError, match=str(limits.MEMBERS.value)):
        store.join(room.code, Member("one more"))
    monkeypatch.setattr(Member, "is_present", lambda member, now: member.id != "7")
    store.join(room.code, Member("one more"))
    members = store.members(room.code)
    assert len(members) == limits.MEMBERS.value
    assert "7" not in members


def test_a_hundred_answers_at_once_are_all_kept_once(store: RoomStore, room: Room) -> None:
    members = [f"student {number}" for number in range(100)]
    for member in members:
        store.join(room.code, Member(member))
    question = store.change(room.code, lambda one: ask(one, {"kind": "number"})).question
    assert question
    start = store.pulse(room.code).activity
    ready = threading.Barrier(20)

    def answer(number: int) -> None:
        if number < 20:
            ready.wait(timeout=20)
        store.answer(room.code, question.id, members[number], f"answer {number}")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(answer, range(100)))
    assert store.answers(room.code, question.id) == {one: f"answer {number}" for number, one in enumerate(members)}
    assert store.pulse(room.code).activity == start + 100
    store.answer(room.code, question.id, members[0], "another")
    answers = store.answers(room.code, question.id)
    assert (len(answers), answers[members[0]]) == (100, "another")


def test_only_members_answer_and_what_comes_late_is_kept_apart(store: RoomStore, room: Room) -> None:
    began = time.time()
    store.join(room.code, Member("a"))
    first = store.change(room.code, lambda one: ask(one, {"kind": "number"})).question
    assert first
    with pytest.raises(RoomError):
        store.answer(room.code, first.id, "a stranger", "1")
    with pytest.raises(RoomError, match=f"{limits.ANSWER.value:,}"):
        store.answer(room.code, first.id, "a", "é" * (limits.ANSWER.value // 2 + 1))
    assert store.answer(room.code, first.id, "a", "é" * (limits.ANSWER.value // 2))
    store.change(room.code, lambda one: dataclasses.replace(one, question=Asked(first.id, {}, revealed=True)))
    assert not store.answer(room.code, first.id, "a", "2")
    with pytest.raises(RoomError):
        store.answer(room.code, first.id, "a stranger", "1")
    second = store.change(room.code, lambda one: ask(one, {"kind": "token"})).question
    assert second
    assert second.id != first.id
    assert store.answers(room.code, second.id) == {}
    assert store.answers(room.code, first.id) == {"a": "é" * (limits.ANSWER.value // 2)}
    assert not store.answer(room.code, "04-heads 5", "a", "3")
    assert late_answers(store, room.code) == {first.id: {"a": "2"}, "04-heads 5": {"a": "3"}}
    assert store.answer(room.code, second.id, "a", "4")
    times = late_times(store, room.code) | {second.id: store.times(room.code, second.id)}
    assert {question: [*who] for question, who in times.items()} == {
        first.id: ["a"], "04-heads 5": ["a"], second.id: ["a"]
    }  # fmt: skip
    assert all(began - 1 <= at <= time.time() + 1 for who in times.values() for at in who.values())
    store.close(room.code)
    assert store.open(room)
    assert late_answers(store, room.code) == {}, "they are deleted with the room"
    assert not store.times(room.code, second.id)
    assert not late_times(store, room.code)


def test_a_room_has_limits(store: RoomStore, room: Room) -> None:
    store.change(room.code, lambda one: dataclasses.replace(one, asked=limits.QUESTIONS.value))
    with pytest.raises(RoomError, match=str(limits.QUESTIONS.value)):
        store.change(room.code, lambda one: ask(one, {}))
    long = Asked("1", {}, {"text": "x" * (limits.ROOM_PAST.value // 3)})
    full = dataclasses.replace(room, asked=3, question=long, past=(long, long))
    assert end_question(full).past == (long,) * 3, "nothing is forgotten"
    store.change(room.code, lambda _: full)
    with pytest.raises(RoomError, match="CSV"):
        store.change(room.code, lambda one: ask(one, {}))
    with pytest.raises(RoomError, match=f"{limits.ROOM_VIEW.value:,}"):
        store.change(room.code, lambda one: dataclasses.replace(one, view={"text": "x" * limits.ROOM_VIEW.value}))
    after = store.find(room.code)
    assert after
    assert (after.version, after.asked) == (3, 3)


def test_an_edit_that_fails_changes_nothing(store: RoomStore, room: Room) -> None:
    def fail(one: Room) -> Room:
        raise RoomError("no")

    with pytest.raises(RoomError, match="no"):
        store.change(room.code, fail)
    assert store.find(room.code) == room


def test_a_room_outlives_its_server_and_a_pause_of_redis(redis_server: RedisServer) -> None:
    first = RedisStore(redis_server.url)
    room = new_room("key", view=VIEW)
    assert first.open(room)
    first.join(room.code, Member("a", "Ada"))
    redis_server.stop()
    try:
        with pytest.raises(StoreUnavailable):
            first.find(room.code)
    finally:
        redis_server.start()
    assert first.find(room.code) == room
    another_process = RedisStore(redis_server.url)
    assert another_process.find(room.code) == room
    assert another_process.members(room.code)["a"].nickname == "Ada"


def test_no_answer_is_lost_when_redis_is_killed_in_both_votes(redis_server: RedisServer) -> None:
    """What a session does: an answer waits while the store is away, and is sent when it is back."""
    store, room = RedisStore(redis_server.url), new_room("key", view=VIEW)
    assert store.open(room)
    members = [f"member-{number}" for number in range(40)]
    for one in members:
        store.join(room.code, Member(one))
    first = store.change(room.code, lambda one: ask(one, {"kind": "token"})).question
    assert first
    votes = [first]
    for number in range(2):
        if number:
            again = store.change(room.code, lambda one: ask(one, {"kind": "token"}, before=first.id)).question
            assert again
            votes.append(again)
        waits = []
        for place, one in enumerate(members):
            if place == 20:
                redis_server.kill()
            try:
                assert store.answer(room.code, votes[number].id, one, f"{number} {one}")
            except StoreUnavailable:
                waits.append(one)
            if place == 22:
                redis_server.start()
        assert waits == members[20:23]
        for one in waits:
            assert store.answer(room.code, votes[number].id, one, f"{number} {one}")
    for number, vote in enumerate(votes):
        assert store.answers(room.code, vote.id) == {one: f"{number} {one}" for one in members}


def test_codes_have_no_lookalikes_and_are_read_as_typed() -> None:
    codes = [new_room("key", view={}).code for _ in range(500)]
    assert len(set(codes)) == 500
    assert all(re.fullmatch(f"[{ALPHABET}]{{{CODE_LENGTH}}}", code) for code in codes)
    assert max(Counter("".join(codes)).values()) < 3000 / len(ALPHABET) * 2
    code = codes[0]
    assert read_code(f" {code[:3].lower()}-{code[3:]} ") == code
    assert [read_code(text) for text in ("", "ABC", "0O1IL2", code + "A", "../../")] == [""] * 5


@given(st.text(max_size=40))
def test_any_text_is_a_code_or_none(typed: str) -> None:
    code = read_code(typed)
    assert code == "" or (len(code) == CODE_LENGTH and set(code) <= set(ALPHABET))


@given(
    view=st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=4),
    hidden=st.lists(st.text(max_size=5), max_size=3),
    asked=st.booleans(),
)
def test_a_room_is_read_as_written(view: dict[str, str], hidden: list[str], asked: bool) -> None:
    room = dataclasses.replace(new_room(new_secret(), view=view), hidden=tuple(hidden))
    if asked:
        room = ask(room, {"kind": "order", "options": hidden})
    assert Room.from_json(room.to_json()) == room


def test_a_server_keeps_a_bounded_number_of_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROOMS", limits.Limit("", 2))
    store = MemoryStore()
    first = new_room("key", view={})
    assert store.open(first)
    assert store.open(new_room("key", view={}))
    with pytest.raises(RoomError, match="2"):
        store.open(new_room("key", view={}))
    store.close(first.code)
    assert store.open(new_room("key", view={}))
