"""A server of two processes behind a real nginx: its visitors, and some seconds of `make soak`, a process killed."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest
from playwright.sync_api import expect

from pages.teaching.rooms import Room, new_room
from pages.teaching.rooms.redis_store import RedisStore
from tests import ensure_servers
from tests.conftest import PATIENCE, Server, query, settle
from tests.ensure_chromium import find
from tests.soak.__main__ import run
from tests.soak.classroom import Classroom
from tests.soak.people import FIRST, Reader, Teacher
from tests.soak.served import Served, serve
from tests.soak.soak import COMPARED, Soak

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow("starts nginx, Redis and two processes, which are killed")

CONNECTIONS: list[http.client.HTTPConnection] = []
UPGRADE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """One server for the module; told to end, it ends well, and all of its processes with it."""
    if ensure_servers.find() is None or ensure_servers.find(ensure_servers.FRONTS) is None:
        pytest.skip("no nginx or no Redis; `python -m tests.ensure_servers` installs them")
    with serve(2) as running:
        yield running
        while CONNECTIONS:
            CONNECTIONS.pop().close()
        process = running.server.process
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert not [one for one in children if one.is_running()]


def request(server: Server, path: str, process: int = 0, **headers: str) -> http.client.HTTPResponse:
    """The answer; `served` closes its connection. process: that the visitor's cookie names."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    CONNECTIONS.append(connection)
    cookie = {"Cookie": f"encoderscope={process}"} if process else {}
    method, body = ("PUT", bytes(5_000_000)) if path.endswith("/upload") else ("GET", None)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {**cookie, **named})
    return connection.getresponse()


def named(answer: http.client.HTTPResponse) -> str:
    """The process that the front's cookie names, "" where it stays."""
    answer.read()
    found = re.search(r"\bencoderscope=(\d+)", ", ".join(answer.headers.get_all("set-cookie", [])))
    return found[1] if found else ""


def test_visitors_stay_with_their_process_and_a_room_is_everywhere(served: Served) -> None:
    server = served.server
    deadline, given = time.monotonic() + 60, set()
    while given != {"1", "2"}:  # one may start later than the other
        assert time.monotonic() < deadline, given
        given.add(named(request(server, "/")))
    assert {named(request(server, "/_stcore/health", one)) for one in (1, 2)} == {""}
    opened = request(server, "/_stcore/stream", 1, **UPGRADE)
    assert opened.status == 101
    opened.close()
    refused = request(server, "/_stcore/upload_file/none/upload", 1)
    assert refused.headers["x-content-type-options"], "the app refused a session that it does not know, not the front"

    store, room = RedisStore(served.rooms), new_room("key", view={"page": "heads"})
    assert store.open(room)
    streams = [request(server, f"/_rooms/{room.code}?member=m{one}", one) for one in (1, 2)]
    store.change(room.code, lambda found: replace(found, frozen=True))
    for stream in streams:
        assert any(json.dumps({"version": 2}).encode() in stream.readline() for _ in range(20))
        stream.close()


def test_nothing_is_lost_when_a_process_ends(served: Served) -> None:
    async def some_seconds() -> Soak:
        soak = Soak(served, len(FIRST), seconds=5.0, thinking=0.5)
        await run(soak, every=3.0)
        return soak

    soak = asyncio.run(some_seconds())
    assert "Traceback" not in served.server.log()
    assert not soak.lost, "\n".join(soak.lost)
    assert soak.kills
    assert soak.memory
    assert len(soak.waits["opens a page"]) == len(FIRST)
    assert soak.waits["an untrained encoder"]
    assert len(soak.members) == 1


def test_a_class_in_real_browsers_loses_nothing(served: Served) -> None:
    if find() is None:
        pytest.skip("no Chromium; `python tests/ensure_chromium.py` installs one")

    async def some_steps() -> Classroom:
        classroom = Classroom(served, seconds=35.0, phones=2, every=15.0)
        await classroom.play()
        return classroom

    classroom = asyncio.run(some_steps())
    assert not classroom.lost, "\n".join(classroom.lost)
    assert classroom.counts["ends of processes"] + classroom.counts["ends of the room store"]
    assert {screen for _, screen in classroom.waits} == {"desk", "wall", "phone"}


def test_what_is_lost_late_or_larger_is_a_fault() -> None:
    soak = Soak.__new__(Soak)  # without a server
    soak.lost, soak.memory, soak.silences = [], [100] * 6 + [105] * 4, {"a head": 0.1}
    soak.counts = Counter(COMPARED)
    assert not soak.faults()
    soak.lose("a text")
    soak.silences["a head"] = 5.1
    soak.memory[-2:] = [111, 111]
    soak.counts["answers, in the store"] = 0
    assert len(soak.faults()) == 4


def test_every_click_whose_process_died_is_there_with_all_else(served: Served) -> None:
    long = "attention " * 900
    clicks = {
        "a head": lambda visitor: (visitor.open_head(3, 7), {"layer": 3, "head": 7}),
        "a cell": lambda visitor: (visitor.select_cell(2, 0), {"i": 2, "j": 0}),
        "a sentence": lambda visitor: (visitor.fill("view:text", "three new words"), {"text": "three new words"}),
        "a long text": lambda visitor: (visitor.fill("view:text", long), {"text": long}),
        "a page": lambda visitor: (visitor.go("norms"), {}),
    }

    async def whole() -> tuple[Soak, Room | None]:
        soak = Soak(served, 1, seconds=60.0)
        people = [Reader(soak, number) for number in range(2 * len(clicks))]
        teacher = Teacher(soak, len(people))
        await asyncio.to_thread(takes_over, served, 2)
        for number, person in enumerate([*people, teacher]):
            person.visitor.choose_process(2)
            await person.visitor.__aenter__()
            await person.visitor.open()
            if person is teacher:
                await teacher.arrive()
                continue
            if number >= len(clicks):
                await person.visitor.fill("view:text", long + str(number))
            await person.visitor.open_head(1, 1)
            await person.visitor.select_cell(1, 1)
        served.kill(1)
        for person, name in zip(people, [*clicks, *clicks], strict=True):
            act, changes = clicks[name](person.visitor)
            await person.does(name, lambda act=act: act, **changes)
            assert person.visitor.page == ("norms" if name == "a page" else "heads")
            await person.visitor.socket.close()
        await teacher.does("freezes", lambda: teacher.visitor.tell_room({"event": "press", "name": "freeze"}))
        await teacher.visitor.socket.close()
        assert len(soak.waits["returns after the process ended"]) == len(people) + 1
        return soak, soak.store.find(await soak.room)

    soak, room = asyncio.run(whole())
    assert not soak.lost, "\n".join(soak.lost)
    assert room
    assert (room.frozen, room.recalled) == (True, 1), "the teacher's click is heard once"


# Not marked as a browser test: those run in processes of their own, which would start this server again.
def test_a_click_at_the_moment_of_a_kill_arrives_and_the_console_is_silent_again(
    served: Served, browser: Browser
) -> None:
    said: list[str] = []
    for number in (1, 2):
        takes_over(served, number)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{served.server.url}/classroom")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".enc-room-words").get_by_text("teacher").wait_for()
    settle(page)
    code = query(page)["room"]
    answers = next(one["value"] for one in page.context.cookies() if one["name"] == "encoderscope")
    assert not said
    served.kill(int(answers) - 1)
    page.get_by_role("button", name="Freeze", exact=True).click()
    page.locator(".enc-room button[data-name=unfreeze]").wait_for()
    expect(page.locator(".enc-room-note")).to_have_text("")
    settle(page)
    room = RedisStore(served.rooms).find(code)
    assert room
    assert (room.frozen, room.recalled) == (True, 1)
    ended = [one for one in said if not re.search("502|INCOMPLETE|CONNECTION|WebSocket", one)]
    said.clear()
    page.wait_for_timeout(3000)
    page.context.close()
    assert not ended + said


def takes_over(served: Served, number: int) -> None:
    """Wait until a process answers visitors."""
    deadline = time.monotonic() + 60
    while named(request(served.server, "/_stcore/health", number)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_who_comes_to_a_process_that_is_back_is_not_refused(served: Served) -> None:
    takes_over(served, 1)
    takes_over(served, 2)
    died = time.monotonic()
    served.kill(1)
    assert named(request(served.server, "/_stcore/health", 2)) == "1", "another process takes the visitor over"
    while served.process(1) is None or not listens(served.worker + 1):
        assert time.monotonic() < died + PATIENCE / 1000
        time.sleep(0.1)
    time.sleep(max(0.0, died + 11 - time.monotonic()))  # nginx forgets a failure after ten seconds
    opened = request(served.server, "/_stcore/stream", 2, **UPGRADE)  # a request that does not end
    assert opened.status == 101
    served.kill(0)
    assert {request(served.server, "/_stcore/health", 2).status for _ in range(3)} == {200}
    assert "process 2 ended with -9" in served.server.log()
    opened.close()


def listens(port: int) -> bool:
    """Whether a program of this machine answers at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
