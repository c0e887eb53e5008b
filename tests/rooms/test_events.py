"""The stream that tells a browser of its room, over a real connection."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import uvicorn
from starlette.applications import Starlette

from pages.teaching.rooms import Member, MemoryStore, Pulse, Room, StoreUnavailable, ask, new_room
from pages.teaching.rooms import events as events_module
from pages.teaching.rooms.events import RoomEvents, Tries


class Flaky(MemoryStore):
    """A store that can be away, or fail in a way that nobody foresaw."""

    away = False
    broken: Exception | None = None

    def pulse(self, code: str) -> Pulse:
        if self.broken:
            raise self.broken
        if self.away:
            raise StoreUnavailable("away")
        return super().pulse(code)


class Stream:
    """One browser's stream, read in a thread of its own."""

    def __init__(self, port: int, path: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", path)
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.lines: list[str] = []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self._read)
        if self.response.status == 200:
            self.reader.start()

    def _read(self) -> None:
        try:
            while line := self.response.readline():
                with self.arrived:
                    self.lines.append(line.decode().strip())
                    self.arrived.notify_all()
        except (OSError, http.client.HTTPException):  # closed in the middle
            return

    def wait(self, found: Callable[[list[str]], bool]) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: found(self.lines), timeout=20), self.lines

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the server closed it
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.reader.is_alive():
            self.reader.join(timeout=20)
        self.connection.close()


@pytest.fixture
def room() -> Room:
    return new_room("key", view={"page": "heads"})


@pytest.fixture
def store(room: Room) -> Flaky:
    store = Flaky()
    store.open(room)
    return store


@pytest.fixture
def connect(store: Flaky, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Stream]]:
    monkeypatch.setattr(events_module, "MISSED", Tries(60))
    monkeypatch.setattr(events_module, "SIGN", 0.0)
    app = RoomEvents(Starlette(), lambda: store, base_url="/school")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    streams: list[Stream] = []

    def open_stream(path: str) -> Stream:
        streams.append(Stream(port, f"/school/_rooms/{path}"))
        return streams[-1]

    yield open_stream
    for stream in streams:
        stream.close()
    server.should_exit = True
    thread.join(timeout=20)
    assert not thread.is_alive()


def data(**values: object) -> str:
    return f"data: {json.dumps(values)}"


def test_a_change_by_this_process_is_heard_without_a_wait(
    connect: Callable[[str], Stream], room: Room, store: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "POLL", 1e6)  # the store is asked after a change only
    stream = connect(f"{room.code}?member=m")
    stream.wait(lambda lines: data(version=1) in lines)
    store.change(room.code, lambda found: replace(found, frozen=True))
    events_module.changed("another")
    events_module.changed(room.code)
    stream.wait(lambda lines: data(version=2) in lines)


def test_every_browser_hears_of_a_change_and_of_the_end(
    connect: Callable[[str], Stream], store: Flaky, room: Room
) -> None:
    students = [connect(f"{room.code}?member=m{number}") for number in range(20)]
    for student in students:
        assert student.response.headers["content-type"].startswith("text/event-stream")
        student.wait(lambda lines: data(version=1) in lines)
    store.change(room.code, lambda one: replace(one, view={"page": "qkv"}))
    for student in students:
        student.wait(lambda lines: data(version=2) in lines)
    store.join(room.code, Member("m0"))
    store.close(room.code)
    for student in students:
        student.wait(lambda lines: "event: closed" in lines)
        assert not any("activity" in line for line in student.lines)


def test_the_desk_hears_of_members_and_answers(connect: Callable[[str], Stream], store: Flaky, room: Room) -> None:
    desk = connect(f"{room.code}?desk=1")
    desk.wait(lambda lines: data(version=1, activity=0, here=0, follow=0, answers=0) in lines)
    store.join(room.code, Member("a"))
    desk.wait(lambda lines: data(version=1, activity=1, here=1, follow=1, answers=0) in lines)
    store.join(room.code, Member("a", follows=False))
    question = store.change(room.code, lambda one: ask(one, {"kind": "number"})).question
    assert question
    store.answer(room.code, question.id, "a", "1")
    desk.wait(lambda lines: data(version=2, activity=3, here=1, follow=0, answers=1) in lines)
    store.away = True
    desk.wait(lambda lines: 'data: {"away":true}' in lines)
    store.away = False
    desk.wait(lambda lines: lines.count(data(version=2, activity=3, here=1, follow=0, answers=1)) == 2)


def test_an_open_stream_is_a_sign_of_its_member(connect: Callable[[str], Stream], store: Flaky, room: Room) -> None:
    store.join(room.code, Member("a"))
    before = store.members(room.code)["a"].seen
    connect(f"{room.code}?member=a").wait(lambda lines: data(version=1) in lines)
    deadline = time.monotonic() + 20
    while store.members(room.code)["a"].seen == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_store_that_was_away_is_heard_again(connect: Callable[[str], Stream], store: Flaky, room: Room) -> None:
    student = connect(room.code)
    student.wait(lambda lines: data(version=1) in lines)
    store.away = True
    student.wait(lambda lines: 'data: {"away":true}' in lines)
    store.away = False
    student.wait(lambda lines: lines.count(data(version=1)) == 2)


def test_an_unexpected_error_of_the_store_does_not_end_the_news(
    connect: Callable[[str], Stream], store: Flaky, room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    student = connect(room.code)
    student.wait(lambda lines: data(version=1) in lines)
    store.broken = KeyError("a field that another version wrote")
    student.wait(lambda lines: 'data: {"away":true}' in lines)
    time.sleep(5 * events_module.POLL)
    store.broken = None
    store.change(room.code, lambda one: replace(one, view={"page": "qkv"}))
    student.wait(lambda lines: data(version=2) in lines)
    said = [one for one in caplog.records if room.code in one.getMessage()]
    assert len(said) == 1, "one line for all tries"
    assert said[0].exc_info


def test_unknown_codes_are_refused_and_soon_not_looked_up(
    connect: Callable[[str], Stream], room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "MISSED", Tries(2))
    other = "334679" if room.code != "334679" else "334677"
    assert connect("../../etc").response.status == 404
    assert [connect(path).response.status for path in (other, other, other, room.code)] == [204, 204, 429, 429]


def test_tries_come_back_with_time() -> None:
    now = 0.0
    misses = Tries(limit=2, clock=lambda: now)
    assert misses.allows("a")
    misses.note("a")
    misses.note("a")
    assert not misses.allows("a")
    assert misses.allows("b")
    now = 30.0
    assert misses.allows("a")
    misses.note("a")
    assert not misses.allows("a")
    assert not misses.allows("a", "ACD347")
    misses.found("a", "ACD347")
    assert misses.allows("a", "ACD347")  # a class goes on, whoever on its network tries codes
    assert not misses.allows("a", "ACD349")


def test_a_room_takes_a_bounded_number_of_streams(
    connect: Callable[[str], Stream], room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "STREAMS", 2)
    first = connect(room.code)
    assert [connect(room.code).response.status for _ in range(2)] == [200, 503]
    first.wait(lambda lines: data(version=1) in lines)
    first.close()
    deadline = time.monotonic() + 20
    while connect(room.code).response.status != 200:  # the server notes that a browser left
        assert time.monotonic() < deadline
        time.sleep(0.05)
