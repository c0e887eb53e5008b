"""Thirty visitors on Texts, each with queries of their own: the waits for a hit, a query, a part.

All have the lines with which the page begins, as a class does; then each has texts that no other has.
"""

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlencode

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks import serving
from benchmarks.load import ACTIONS, CORES, P95_SECONDS, THINKING, VISITORS, limit, percentile, spread
from benchmarks.protocol import Run
from benchmarks.report import Figure
from benchmarks.visitor import words
from tests.soak.visitor import Visitor

#: A visitor's actions and their probabilities; words of a query, texts of a collection, words of each.
HABITS = {"another hit": 0.7, "another part": 0.2, "another query": 0.1}
QUERY, TEXTS, LENGTH = 6, 16, 8
PARTS = ("Words", "Pairs", "Two hits", "Why not found?", "All hits")


class Engineer(Visitor):
    """A visitor of Texts, who waits for a busy server."""

    run_seconds = 120.0

    async def explain(self, part: str) -> Run:
        """Another part of the explanation."""
        state = WidgetState(id=self.ids[_named(self, "explain")])
        state.string_array_value.data.append(part)
        return await self._widget(state)


def run(*, visitors: int = VISITORS, thinking: float = THINKING, actions: int = ACTIONS) -> Iterator[Figure]:
    """The 95th percentile of all actions, and of each kind."""
    for own in (False, True):
        with serving.app() as app:
            limit(app, CORES)
            waits, work = asyncio.run(_waits(app, visitors, thinking, actions, own))
            if app.log():
                raise RuntimeError(f"the app's log is not empty:\n{app.log()}")
        yield from _figures(f"{visitors} visitors on Texts, {'own' if own else 'same'} texts", waits, work, visitors)


def _figures(what: str, waits: dict[str, list[float]], work: float, visitors: int) -> Iterator[Figure]:
    every = [one for kind in waits.values() for one in kind]
    aim = P95_SECONDS.get(visitors)
    yield Figure(
        "texts", f"{what}: 95th percentile", "", percentile(every, 95), unit="s", target=aim, raw=spread(every)
    )
    yield Figure("texts", f"{what}: server's work for one action", "", 1000 * work / len(every), unit="ms")
    for name, some in waits.items():
        yield Figure("texts", f"{what}: {name}", "", percentile(some, 95), unit="s", raw=spread(some))


async def _waits(
    app: serving.App, visitors: int, thinking: float, actions: int, own: bool
) -> tuple[dict[str, list[float]], float]:
    """Kind of action -> seconds of each, and the server's processor time, from when all visitors are there."""
    found: dict[str, list[float]] = defaultdict(list)
    async with contextlib.AsyncExitStack() as stack:
        people = []
        for number in range(visitors):
            person = Engineer(app.url, "texts", urlencode({"query": words(QUERY, seed=number)}))
            people.append(await stack.enter_async_context(person))
            await person.open()
            if own:
                lines = (words(LENGTH, seed=1_000 * number + place) for place in range(TEXTS))
                await person.fill("search:lines", "\n".join(lines))

        async def one(number: int, person: Engineer) -> None:
            chance = random.Random(number)
            await asyncio.sleep(thinking * chance.random())
            for turn in range(actions):
                name = chance.choices(list(HABITS), weights=list(HABITS.values()))[0]
                found[name].append((await _act(person, name, chance, 1000 * number + turn)).seconds)
                await asyncio.sleep(thinking * chance.uniform(0.6, 1.4))

        before = app.cpu_seconds()
        async with asyncio.TaskGroup() as group:
            for number, person in enumerate(people):
                group.create_task(one(number, person))
        return found, app.cpu_seconds() - before


async def _act(person: Engineer, name: str, chance: random.Random, seed: int) -> Run:
    if name == "another hit":
        return await person.press(f"texts:rank:{chance.randrange(TEXTS)}")
    if name == "another query":
        return await person.fill(_named(person, "query"), words(QUERY, seed=100_000 + seed))
    return await person.explain(chance.choice(PARTS))


def _named(person: Visitor, name: str) -> str:
    """The key of the widget of a value of the address."""
    return next(key for key in person.ids if key.rpartition(":")[2] == name)
