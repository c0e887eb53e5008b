"""What others notice of three long jobs: the waits for clicks on Heads without them and with them, in one run.

The jobs are Probes, the pairs of two long texts on Texts, and Gradients; they share the turn for long work.
"""

import asyncio
import contextlib
import itertools
import random
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks import serving
from benchmarks.load import CORES, HEADS, LAYERS, limit, percentile, spread
from benchmarks.report import Figure
from benchmarks.visitor import words
from tests.soak.visitor import Visitor

VISITORS, SECONDS, THINKING, P95_SECONDS = 10, 30.0, 2.0, 0.5
#: Page -> the key of the button that begins; "" where the work begins by itself.
JOBS = {"probes": "probes:begin", "texts": "", "training": ""}
PLACE = re.compile(r"Place \d+ in the queue")


class Worker(Visitor):
    """A visitor with a long job. places: what the page has said of its place in the queue; share: of the work."""

    run_seconds = 600.0
    places, share = 0, 0

    def heard(self, message: ForwardMsg) -> None:
        """Learn as before, and note the place and the progress."""
        super().heard(message)
        self.places += len(PLACE.findall(str(message)))
        if message.WhichOneof("type") == "delta" and message.delta.new_element.WhichOneof("type") == "progress":
            self.share = max(self.share, message.delta.new_element.progress.value)


def run(*, visitors: int = VISITORS, seconds: float = SECONDS) -> Iterator[Figure]:
    """Figures of the clicks, and of the jobs."""
    with serving.app(ENCODERSCOPE_SHARED="1") as app:
        limit(app, CORES)
        yield from asyncio.run(both(app, visitors, seconds))
        if app.log():
            raise RuntimeError(f"the app's log is not empty:\n{app.log()}")


async def both(app: serving.App, visitors: int, seconds: float) -> list[Figure]:
    """Clicks before and during the jobs."""
    async with contextlib.AsyncExitStack() as stack:
        people = []
        for number in range(visitors):
            person = Visitor(app.url, "heads", urlencode({"text": words(24, seed=number)}))
            people.append(await stack.enter_async_context(person))
            await person.open()
        before = await clicks(people, seconds)
        workers = {}
        tasks = []
        for page, button in JOBS.items():
            workers[page] = await stack.enter_async_context(Worker(app.url, page, ""))
            tasks.append(asyncio.create_task(work(workers[page], button)))
        await asyncio.sleep(5.0)
        cpu, began = app.cpu_seconds(), time.perf_counter()
        during = await clicks(people, seconds)
        share = (app.cpu_seconds() - cpu) / (time.perf_counter() - began)
        failed = [task.exception() for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if any(failed):
        raise RuntimeError(f"a job failed: {failed}")
    what = f"{visitors} visitors, {THINKING:g} s of thinking: 95th percentile"
    note = f"The jobs run one after another, and begin again at their end; the server used {share:.0%} of a core."
    places = {page: f"at {one.share}%, place said {one.places} times" for page, one in workers.items()}
    values = [percentile([one for all_ in kind.values() for one in all_], 95) for kind in (before, during)]
    found = [
        Figure("jobs", f"{what}, without jobs", "", values[0], unit="s", raw=spread(flat(before))),
        Figure(
            "jobs",
            f"{what}, with three long jobs",
            "",
            values[1],
            unit="s",
            target=P95_SECONDS,
            raw=spread(flat(during)) | places,
            note=note,
        ),
        Figure("jobs", "the same, with jobs / without", "", values[1] / values[0], unit="x"),
    ]
    for name, waits in during.items():
        found.append(
            Figure("jobs", f"with three long jobs: {name}", "", percentile(waits, 95), unit="s", raw=spread(waits))
        )
    return found


def flat(waits: Mapping[str, list[float]]) -> list[float]:
    """The waits for all kinds of clicks."""
    return [one for kind in waits.values() for one in kind]


def variants(page: str) -> Iterator[dict[str, str]]:
    """Values in the address of a page, each with work that nobody has done yet."""
    for number in itertools.count():
        if page == "texts":
            other = words(60, seed=number + 500)
            yield {"query": words(60, seed=number), "similar_to": other, "explain": "pairs"}
        elif page == "probes":
            yield {"model": "scratch", "width": "384", "layers": "6", "seed": str(number)}
        else:
            width, setting = (256, 128, 64, 32)[number % 4], ("real", "theory")[number // 4 % 2]
            yield {
                "train_part": "gradients",
                "grad_setting": setting,
                "grad_width": str(width),
                "grad_seeds": "5",
                "grad_depths": "1,2,3,4,6,8,12,16,24",
            }


async def work(worker: Worker, button: str) -> None:
    """Open the page and begin, again and again."""
    for values in variants(worker.page):
        worker.query = urlencode(values)
        await worker.reloads()
        if button:
            await worker.press(button)


async def clicks(people: list[Visitor], seconds: float) -> dict[str, list[float]]:
    """Everybody acts for some time; returns the waits by kind."""
    waits: dict[str, list[float]] = {"another head": [], "a cell": [], "another sentence": []}
    ends = time.perf_counter() + seconds

    async def one(number: int, person: Visitor) -> None:
        chance = random.Random(number)
        await asyncio.sleep(THINKING * chance.random())
        while time.perf_counter() < ends:
            name = chance.choices([*waits], (7, 2, 1))[0]
            waits[name].append((await act(person, name, chance)).seconds)
            await asyncio.sleep(THINKING * chance.uniform(0.6, 1.4))

    await asyncio.gather(*(one(number, person) for number, person in enumerate(people)))
    return waits


def act(person: Visitor, name: str, chance: random.Random) -> Any:
    """One click."""
    if name == "another head":
        return person.open_head(chance.randrange(LAYERS), chance.randrange(HEADS))
    if name == "a cell":
        return person.select_cell(chance.randrange(20), chance.randrange(20))
    return person.fill("view:text", words(24, seed=chance.randrange(10**9)))
