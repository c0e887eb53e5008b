"""A class that follows its teacher: how soon a change reaches everybody, and what it costs the server.

Followers by protocol count up to the end of the run with all that it sends. Followers in Chromium count up to the
address that says what the class sees.
"""

import asyncio
import contextlib
import dataclasses
import json
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from benchmarks import serving
from benchmarks.load import CORES, HEADS, LAYERS, TOKENS, limit, percentile, spread
from benchmarks.protocol import Run, Session, Template
from benchmarks.report import Figure
from benchmarks.visitor import words
from pages.teaching.rooms import Room, ask, new_room, new_secret
from tests.conftest import open_page

FOLLOWERS, MANY, CHANGES, PAUSE = 30, 100, 20, 3.0
#: Seconds within which 95% of all followers have a change: of a class, and of a lecture in two processes.
REACH, REACH_MANY = 1.0, 3.0
WORK_MS = 15.0
STUDENTS = 8
OFFLINE_SECONDS = 30
BACK_SECONDS = 3.0
#: Rounds of vote, second vote and result, and the name of all other changes.
ROUNDS, A_CHANGE = 3, "a change"


def run(*, followers: int = FOLLOWERS, many: int = MANY, changes: int = CHANGES) -> Iterator[Figure]:
    """All figures. The rooms are in Redis, where this program changes them as a teacher's session does.

    Raises RuntimeError at the end if a part failed: what was measured is given before.
    """
    failed = []
    with redis_server() as place:
        parts = [browser_figures(STUDENTS, changes), _protocol(place, 1, followers, changes, REACH)]
        if many:
            parts.append(_protocol(place, 2, many, max(3, changes // 2), REACH_MANY))
        for part in parts:
            try:
                yield from part
            except Exception as error:  # the other parts are still measured
                failed.append(f"{type(error).__name__}: {error}")
    if failed:
        raise RuntimeError("; ".join(failed))


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """A Redis or Valkey server without a file; gives its address. Raises FileNotFoundError if there is none."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise FileNotFoundError("no redis-server found: `python -m tests.ensure_servers` installs one")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait(timeout=20)


# --- by protocol ------------------------------------------------------------------------------------------------------


def _protocol(place: str, processes: int, followers: int, changes: int, target: float) -> Iterator[Figure]:
    from pages.teaching.rooms.redis_store import RedisStore

    store = RedisStore(place)
    room = new_room(new_secret(), view=_view(0))
    store.open(room)
    with contextlib.ExitStack() as stack:
        apps = [stack.enter_context(serving.app(ENCODERSCOPE_ROOMS=place)) for _ in range(processes)]
        for app in apps:
            limit(app, CORES)
        template = observed(apps[0], store, room)
        reached, work, missing = asyncio.run(
            lecture(apps, store, room, template, followers, [*_views(changes), *_votes(ROUNDS if processes > 1 else 0)])
        )
        logs = "".join(app.log() for app in apps)
    where = "one process" if processes == 1 else f"{processes} processes"
    note = "The followers are sessions of Streamlit's protocol on the same machine; the room is in Redis."
    for what, seconds in reached.items():
        if not seconds:
            continue
        yield Figure(
            "rooms",
            f"{followers} followers, {where}: {what} has reached 95%",
            "",
            percentile(seconds, 95),
            tokens=TOKENS,
            unit="s",
            target=target if what == A_CHANGE else REACH_MANY,
            raw=spread(seconds),
            note=note,
        )
    yield Figure(
        "rooms",
        f"server's work for a follower's redraw, {where}",
        "",
        1000 * work,
        tokens=TOKENS,
        unit="ms",
        target=WORK_MS if processes == 1 else None,
    )
    if missing:
        raise RuntimeError(f"{where}: {missing} redraws are missing")
    if logs:
        raise RuntimeError(f"the app's log is not empty:\n{logs}")


def _view(number: int) -> dict[str, str]:
    chance = random.Random(number)
    view = {"page": "heads", "text": words(TOKENS, seed=1), "layer": str(1 + chance.randrange(LAYERS - 1))}
    return view | {"head": str(number % HEADS), "i": str(number % TOKENS + 1)}


#: What a change of the room is, and the room after it.
Edit = tuple[str, Callable[[Room], Room]]


def _views(changes: int) -> Iterator[Edit]:
    for number in range(1, changes + 1):
        yield A_CHANGE, lambda found, number=number: dataclasses.replace(found, view=_view(number))


def _votes(rounds: int) -> Iterator[Edit]:
    """A question, the same one again after a discussion, and its result; everybody answers in between."""
    for number in range(rounds):
        definition = {"kind": "token", "ask": "To which word does this one attend most?", "query": number + 1}
        yield "a vote", lambda found, asked=definition: ask(found, asked, hides=True)
        yield "a second vote", lambda found, asked=definition: ask(found, asked, hides=True, before=found.question.id)
        yield (
            "a result",
            lambda found: dataclasses.replace(found, question=dataclasses.replace(found.question, revealed=True)),
        )


async def _answer(store: Any, room: Room, followers: Sequence["Follower"]) -> None:
    """Everybody answers the open question, if there is one."""
    question = (await asyncio.to_thread(store.find, room.code)).question
    if question is not None and not question.revealed:
        for place, one in enumerate(followers):
            await asyncio.to_thread(store.answer, room.code, question.id, one.member, str(2 + place % 3))


def observed(app: serving.App, store: Any, room: Room) -> Template:
    """What a follower's Chromium sends after it has joined and heard of a change."""
    frames: list[bytes] = []

    def listen(socket: Any) -> None:
        socket.on("framesent", lambda frame: frames.append(frame) if isinstance(frame, bytes) else None)

    with serving.chromium() as browser:
        page = browser.new_page()
        page.on("websocket", listen)
        page.goto(f"{app.url}/heads?room={room.code}")
        _wait_for(page, "layer", _view(0)["layer"])
        page.wait_for_timeout(3000)
        store.change(room.code, lambda found: dataclasses.replace(found, view=_view(5)))
        _wait_for(page, "head", _view(5)["head"])
        page.wait_for_timeout(1000)
    return Template.from_frames(frames)


class Follower(Session):
    """A student who follows: asks for a run whenever the room says that it has changed."""

    member = ""

    async def enter(self, code: str) -> None:
        """Join as a browser that opens the invitation for the second time."""
        self.code, self.member = code, new_secret()
        seat = {"code": code, "member": self.member}
        await self.socket.send(f"begins {json.dumps({'seat': seat})}".encode())
        await self.open()
        self.widgets = {}  # a follower's widgets have the values that the server set

    async def say(self, what: dict[str, Any]) -> Run:
        """One event of the strip."""
        value = {**what, "id": time.time_ns() // 1_000_000}
        return await self._trigger("strip", {"event": "said", "value": value})

    async def versions(self) -> AsyncIterator[int]:
        """The versions that the stream tells."""
        parts = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        path = f"/_rooms/{self.code}?member={self.member}&desk="
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        try:
            while line := await reader.readline():
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:]).get("version", 0)
        finally:
            writer.close()


async def lecture(
    apps: Sequence[serving.App], store: Any, room: Room, template: Template, followers: int, edits: Sequence[Edit]
) -> tuple[dict[str, list[float]], float, int]:
    """Seconds from each change to each follower's last byte of it, by what it is; CPU seconds of the server for one
    redraw; how many redraws did not come.
    """
    reached: dict[str, list[float]] = {what: [] for what, _ in edits}
    made: dict[int, tuple[str, float]] = {}
    present: list[Follower] = []
    ready = asyncio.Semaphore(0)

    async def one(number: int) -> None:
        await asyncio.sleep(number * 0.25)
        app = apps[number % len(apps)]
        async with Follower(app.url, template, f"room={room.code}") as session:
            await session.enter(room.code)
            present.append(session)
            ready.release()
            drawn: set[int] = set()
            async for version in session.versions():
                if version not in made or version in drawn:
                    continue
                drawn.add(version)
                await session.say({"event": "news"})
                what, began = made[version]
                reached[what].append(time.perf_counter() - began)

    tasks = [asyncio.create_task(one(number)) for number in range(followers)]
    for _ in range(followers):
        await asyncio.wait_for(ready.acquire(), 300)
    await asyncio.sleep(PAUSE)
    before = sum(app.cpu_seconds() for app in apps)
    for what, edit in edits:
        await _answer(store, room, present)
        version = (await asyncio.to_thread(store.find, room.code)).version + 1
        made[version] = what, time.perf_counter()
        await asyncio.to_thread(store.change, room.code, edit)
        await asyncio.sleep(max(PAUSE, followers / 10))  # the next change waits until this one has reached everybody
    for _ in range(1200):
        if sum(map(len, reached.values())) == followers * len(edits):
            break
        await asyncio.sleep(0.1)
    spent = sum(app.cpu_seconds() for app in apps) - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    count = sum(map(len, reached.values()))
    return reached, spent / max(1, count), followers * len(edits) - count


# --- in Chromium ------------------------------------------------------------------------------------------------------


def browser_figures(students: int, changes: int) -> Iterator[Figure]:
    """One teacher and her students in Chromium. Raises RuntimeError if anybody is left behind, or complains."""
    complaints: list[str] = []
    with serving.chromium() as browser, serving.app() as app:

        def visit(path: str, width: int = 1280, height: int = 720) -> Any:
            page = browser.new_context(viewport={"width": width, "height": height}).new_page()
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: _complain(message, complaints))
            page.goto(app.url + path)
            return page

        teacher = visit("/classroom")
        teacher.get_by_role("button", name="Open a room").click()
        teacher.wait_for_function("() => new URL(location).searchParams.get('room')")
        code = teacher.evaluate("new URL(location).searchParams.get('room')")
        class_ = [visit(f"/classroom?room={code}", *((390, 844) if k % 2 else (1280, 720))) for k in range(students)]
        open_page(teacher, "Heads")
        text = words(16, seed=499)  # the first change also loads the page's scripts
        _type(teacher, text)
        for page in class_:
            _wait_for(page, "text", text)
            page.locator('[aria-roledescription="heat map"]').first.wait_for()
        teacher.wait_for_timeout(3000)
        reached: list[float] = []
        for number in range(changes):
            text = words(16, seed=500 + number)
            began = _type(teacher, text)
            for page in class_:
                _wait_for(page, "text", text)
                reached.append(time.perf_counter() - began)
            teacher.wait_for_timeout(700)
        if complaints:
            raise RuntimeError("; ".join(complaints[:5]))
        note = (
            "From the teacher's Enter: the teacher's own run is part of it. All browsers run on the server's machine."
        )
        what = f"1 teacher, {students} students in Chromium: 95th percentile of {changes} changes"
        yield Figure("rooms", what, "", percentile(reached, 95), tokens=16, unit="s", raw=spread(reached), note=note)
        yield from _back(teacher, class_[0])


def _back(teacher: Any, student: Any) -> Iterator[Figure]:
    """A student who loses the network, and one who reloads."""
    student.context.set_offline(True)
    text = words(16, seed=900)
    _type(teacher, text)
    teacher.wait_for_timeout(OFFLINE_SECONDS * 1000)
    student.context.set_offline(False)
    began = time.perf_counter()
    _wait_for(student, "text", text)
    taken = {f"{OFFLINE_SECONDS} s without network": time.perf_counter() - began}
    reloads = []
    for number in range(3):
        text = words(16, seed=910 + number)
        _type(teacher, text)
        _wait_for(student, "text", text)
        student.goto(f"{student.url.split('?')[0]}?room={teacher.url.split('room=')[1][:6]}", wait_until="commit")
        began = time.perf_counter()
        _wait_for(student, "text", text)
        reloads.append(time.perf_counter() - began)
    taken["a reload"] = statistics.median(reloads)
    for name, seconds in taken.items():
        yield Figure("rooms", f"back in the class after {name}", "", seconds, tokens=16, unit="s", target=BACK_SECONDS)


def _type(page: Any, text: str) -> float:
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    began = time.perf_counter()
    field.press("Enter")
    return began


def _wait_for(page: Any, name: str, value: str) -> None:
    page.wait_for_function(
        "([name, value]) => new URL(location).searchParams.get(name) === value", arg=[name, value], polling=20
    )


def _complain(message: Any, complaints: list[str]) -> None:
    if message.type in ("error", "warning") and "_stcore" not in message.location.get("url", ""):
        complaints.append(f"{message.type}: {message.text}")
