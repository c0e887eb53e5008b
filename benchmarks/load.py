"""What one action costs the server; thirty and a hundred visitors with five seconds between actions, on two cores;
thirty who press Enter within one second.
"""

import asyncio
import contextlib
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from benchmarks import report, serving
from benchmarks.protocol import Run, Session, Template
from benchmarks.report import Figure
from benchmarks.visitor import SimulatedVisitor, words
from encoder.cli.app import find_app
from tests.conftest import settle

VISITORS, CROWD, THINKING, ACTIONS, CORES = 30, 100, 5.0, 12, 2
#: Visitors -> seconds that 95% of their actions take at most.
P95_SECONDS = {30: 0.2, 100: 0.6}
#: A visitor's actions and their probabilities.
HABITS = {"another head": 0.7, "a cell": 0.2, "another sentence": 0.1}
LAYERS, HEADS, TOKENS = 6, 12, 24


def run(*, visitors: int = VISITORS, thinking: float = THINKING, actions: int = ACTIONS) -> Iterator[Figure]:
    """Figures of a class. Each visitor opens the app and then acts `actions` times."""
    with serving.app() as app:
        limit(app, CORES)
        template = observed(app)
        yield from asyncio.run(one_visitor(app, template, actions))
        for ours in (False, True):
            yield empty_page(actions, ours=ours)
        yield from asyncio.run(burst(app, template, visitors))
        for many in (visitors, CROWD) if visitors == VISITORS else (visitors,):
            yield from figures(asyncio.run(lesson(app, template, many, thinking, actions)), many, thinking)
        if app.log():
            raise RuntimeError(f"the app's log is not empty:\n{app.log()}")


def empty_page(presses: int, *, ours: bool) -> Figure:
    """The server's work for a press of the only button of a Streamlit page.

    ours: with the settings of the app, which collect no garbage after each run; otherwise with Streamlit's own.
    """
    with tempfile.TemporaryDirectory() as folder, serving.chromium() as browser:
        script = Path(folder) / "empty.py"
        script.write_text('import streamlit as st\n\nst.button("Again", key="again")\n', encoding="utf-8")
        if ours:
            shutil.copytree(find_app().parent / ".streamlit", Path(folder) / ".streamlit")
        with serving.app(script) as served:
            page = browser.new_page()
            page.goto(served.url)

            def press(times: int) -> None:
                for _ in range(times):
                    page.locator(".st-key-again button").click()
                    page.wait_for_timeout(100)  # the run has begun
                    settle(page)

            press(presses)
            before = served.cpu_seconds()
            press(4 * presses)
            work = (served.cpu_seconds() - before) / (4 * presses)
    what = f"server's work for an empty page of one button, {'our' if ours else 'Streamlit’s'} settings"
    return Figure("load", what, "", 1000 * work, unit="ms")


def limit(app: serving.App, cores: int) -> None:
    """Let the server run on this many cores only, if the system supports that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(app.process.pid, sorted(os.sched_getaffinity(0))[:cores])


def observed(app: serving.App) -> Template:
    """What Chromium sends after a sentence was typed and a head selected."""
    frames: list[bytes] = []

    def listen(socket: Any) -> None:
        socket.on("framesent", lambda frame: frames.append(frame) if isinstance(frame, bytes) else None)

    with serving.chromium() as browser:
        visitor = SimulatedVisitor(browser, f"{app.url}/heads?text={quote(words(16, seed=2))}", listen)
        visitor.type_sentence(words(TOKENS, seed=3))
        visitor.next_head()
        visitor.page.locator(".heatmaplayer").first.click(force=True)
        visitor.settle()
        visitor.close()
    return Template.from_frames(frames)


@dataclass
class Series:
    """Measurements of one class."""

    opened: list[Run] = field(default_factory=list)
    runs: dict[str, list[Run]] = field(default_factory=lambda: {name: [] for name in HABITS})
    server_cpu: float = 0.0
    own_cpu: float = 0.0
    seconds: float = 0.0
    resident: int = 0

    def all(self) -> list[Run]:
        """All actions, without openings."""
        return [run for runs in self.runs.values() for run in runs]


async def lesson(app: serving.App, template: Template, visitors: int, thinking: float, actions: int) -> Series:
    """All visitors arrive within a few seconds; the measured time begins when the last one has."""
    series = Series()
    arrived = asyncio.Event()
    waiting = [visitors]

    async def one(number: int) -> None:
        chance = random.Random(number)
        head = {"layer": chance.randrange(LAYERS), "head": chance.randrange(HEADS)}
        query = urlencode({"text": words(TOKENS, seed=1000 + number), **head})
        await asyncio.sleep(number * 0.25)
        async with Session(app.url, template, query) as session:
            series.opened.append(await session.open())
            waiting[0] -= 1
            if not waiting[0]:
                arrived.set()
            await arrived.wait()
            await asyncio.sleep(thinking * chance.random())  # visitors do not act in step
            for turn in range(actions):
                name, act = next_action(session, chance, number, turn)
                series.runs[name].append(await act)
                await asyncio.sleep(thinking * chance.uniform(0.6, 1.4))

    async def clock() -> tuple[float, float, float]:
        await arrived.wait()
        return time.perf_counter(), app.cpu_seconds(), time.process_time()

    timer = asyncio.create_task(clock())
    async with asyncio.TaskGroup() as group:
        for number in range(visitors):
            group.create_task(one(number))
    began, server, own = await timer
    series.seconds = time.perf_counter() - began
    series.server_cpu, series.own_cpu = app.cpu_seconds() - server, time.process_time() - own
    series.resident = app.resident()
    return series


async def one_visitor(app: serving.App, template: Template, actions: int) -> list[Figure]:
    """The server's work for each kind of action of one visitor, when it has done each some times before."""
    found = []
    async with Session(app.url, template, urlencode({"text": words(TOKENS, seed=1)})) as session:
        await session.open()
        acts = {
            "another head": lambda turn: session.open_head(turn % LAYERS, turn % HEADS),
            "a cell": lambda turn: session.select_cell(turn % TOKENS, 3 * turn % TOKENS),
            "another sentence": lambda turn: session.type_text(words(TOKENS, seed=200_000 + turn)),
        }
        for name, act in acts.items():
            for turn in range(actions):
                await act(turn)
            before = app.cpu_seconds()
            for turn in range(actions, 5 * actions):
                await act(turn)
            work = (app.cpu_seconds() - before) / (4 * actions)
            target = 60.0 if name == "another sentence" else 20.0
            what = f"server's work for one visitor: {name}"
            found.append(Figure("load", what, "", 1000 * work, tokens=TOKENS, unit="ms", target=target))
    return found


async def burst(app: serving.App, template: Template, visitors: int) -> list[Figure]:
    """All visitors press Enter within one second, each with a sentence of their own: when the last one is served."""
    async with contextlib.AsyncExitStack() as stack:
        sessions = []
        for number in range(visitors):
            query = urlencode({"text": words(TOKENS, seed=300_000 + number)})
            sessions.append(await stack.enter_async_context(Session(app.url, template, query)))
            await sessions[-1].open()

        async def enter(number: int) -> Run:
            await asyncio.sleep(number / visitors)
            return await sessions[number].type_text(words(TOKENS, seed=400_000 + number))

        began = time.perf_counter()
        runs = await asyncio.gather(*map(enter, range(visitors)))
        last = time.perf_counter() - began
    what = f"{visitors} visitors press Enter within one second: all are served after"
    return [
        Figure("load", what, "", last, tokens=TOKENS, unit="s", target=2.0, raw=spread([run.seconds for run in runs]))
    ]


def next_action(
    session: Session, chance: random.Random, number: int, turn: int
) -> tuple[str, Coroutine[Any, Any, Run]]:
    """A random next action: its name, and the action."""
    name = chance.choices(list(HABITS), weights=list(HABITS.values()))[0]
    if name == "another head":
        return name, session.open_head(chance.randrange(LAYERS), chance.randrange(HEADS))
    if name == "a cell":
        return name, session.select_cell(chance.randrange(TOKENS), chance.randrange(TOKENS))
    return name, session.type_text(words(TOKENS, seed=100_000 + 1000 * number + turn))


def figures(series: Series, visitors: int, thinking: float) -> Iterator[Figure]:
    """The 95th percentile of all actions, and details of it."""
    every = [run.seconds for run in series.all()]
    what = f"{visitors} visitors, {thinking:g} s of thinking"
    note = (
        "The visitors are sessions of Streamlit's protocol, not browsers: each time is from a request to the end of "
        "the script with all that it sends. The program of the visitors runs on the same machine."
    )
    worst = percentile(every, 95)
    yield Figure(
        "load",
        f"{what}: 95th percentile",
        "",
        worst,
        tokens=TOKENS,
        unit="s",
        target=P95_SECONDS.get(visitors),
        raw=spread(every),
        note=note,
    )
    for name, runs in series.runs.items():
        if runs:
            taken = [run.seconds for run in runs]
            raw = spread(taken) | {"received": report.megabytes(statistics.mean(run.received for run in runs))}
            yield Figure("load", f"{what}: {name}", "", percentile(taken, 95), tokens=TOKENS, unit="s", raw=raw)
    raw = {
        "share of one core": f"{series.server_cpu / series.seconds:.0%}",
        "visitors' share": f"{series.own_cpu / series.seconds:.0%}",
        "server's memory": report.megabytes(series.resident),
    }
    work = 1000 * series.server_cpu / len(every)
    yield Figure("load", "server's work for one action", "", work, tokens=TOKENS, unit="ms", raw=raw)
    opened = [run.seconds for run in series.opened]
    what = f"{visitors} visitors arrive, four a second"
    yield Figure("load", what, "", percentile(opened, 95), tokens=TOKENS, unit="s", raw=spread(opened))


def percentile(values: Sequence[float], share: int) -> float:
    """The smallest value that at least `share` % of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-share * len(ordered) // 100) - 1)]


def spread(values: Sequence[float]) -> dict[str, str]:
    """Median, 95th percentile and largest, for the table."""
    found = {"median": statistics.median(values), "p95": percentile(values, 95), "worst": max(values)}
    return {name: report.seconds(value) for name, value in found.items()}
