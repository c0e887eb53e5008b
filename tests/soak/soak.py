"""What happened in a soak, and whether it is well: waits, memory, what was lost."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from benchmarks.load import percentile
from pages.teaching.rooms import Room, StoreUnavailable
from pages.teaching.rooms.redis_store import RedisStore
from tests.rooms.foreign import ANSWERS, foreign
from tests.soak.served import Served

#: Seconds for which a page that works shows nothing new, at most; the memory's growth from the middle to the end.
LONGEST, GROWTH = 5.0, 1.10
#: What is compared with what a visitor did: the address after a click, rooms and answers in the store.
COMPARED = (
    "clicks", "clicks sent again", "clicks of the teacher, in the room", "answers, in the store",
    "members who reloaded while the store was away", "lessons next to a broken one",
)  # fmt: skip
#: Seconds between two looks at the memory, and for which the store of rooms is away, or answers garbage.
LOOK, AWAY, GARBAGE = 1.0, 3.0, 10.0


@dataclass
class Soak:
    """One soak: `seconds` from the moment at which all visitors are there.

    thinking: seconds between two actions of a visitor, on average.
    """

    served: Served
    visitors: int
    seconds: float
    thinking: float = 5.0
    seed: int = 0
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    silences: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    memory: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    kills: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # what was compared, by its kind
    stops: int = 0  # of the store

    def __post_init__(self) -> None:
        self.store = RedisStore(self.served.rooms)
        self.room: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.away = asyncio.Event()
        self._all_here = asyncio.Barrier(self.visitors + 3)  # the watch and who kills wait, too
        self._ends = 0.0

    async def begin(self) -> None:
        """Wait until everybody is here."""
        await self._all_here.wait()
        self._ends = self._ends or time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds until the end, 0 afterwards."""
        return max(0.0, self._ends - time.monotonic())

    def note(self, what: str, seconds: float, silence: float | None = None) -> None:
        """A visitor waited. silence: the longest part of it in which the page showed nothing new, such as progress."""
        self.waits[what].append(seconds)
        self.silences[what] = max(self.silences[what], seconds if silence is None else silence)

    def count(self, what: str) -> None:
        """Something was compared with what a visitor did; `lose` says where it differs."""
        self.counts[what] += 1

    def lose(self, what: str) -> None:
        """Something that was kept is gone."""
        self.lost.append(what)

    async def watch(self) -> None:
        """Look at the memory of the first process, which is never killed."""
        await self.begin()
        while self.left:
            self.memory.append(await asyncio.to_thread(self.served.resident, 0))
            await asyncio.sleep(min(LOOK, self.left))

    async def kill(self, every: float) -> None:
        """End one of the other processes at random times, `every` seconds on average."""
        await self.begin()
        chance = random.Random(self.seed)
        while self.left:
            await asyncio.sleep(every * chance.uniform(0.7, 1.3))
            number = chance.randrange(1, self.served.workers)
            if self.left > every / 4 and await asyncio.to_thread(self.served.kill, number):
                self.kills += 1

    async def stop_store(self, every: float) -> None:
        """Kill the store of rooms at random times, and start it again with its data; members reload meanwhile.

        At every second time, something that is no store answers in its place until then.
        """
        await self.begin()
        chance = random.Random(f"{self.seed} store")
        while self.left:
            await asyncio.sleep(every * chance.uniform(0.7, 1.3))
            if self.left > every / 4:
                self.away.set()
                self.stops += 1
                await asyncio.to_thread(self.served.store.kill)
                if self.stops % 2:
                    await asyncio.sleep(AWAY)
                else:
                    await self._answer_garbage()
                await asyncio.to_thread(self.served.store.start)
                self.away.clear()

    async def _answer_garbage(self) -> None:
        answers = [*ANSWERS.values()]
        with foreign(answers[self.stops // 2 % len(answers)], self.served.store.port):
            await asyncio.sleep(GARBAGE)

    async def look(self) -> Room | None:
        """The room, as soon as its store answers."""
        while True:
            try:
                return await asyncio.to_thread(self.store.find, await self.room)
            except StoreUnavailable:
                await asyncio.sleep(0.2)

    async def check_room(self) -> None:
        """At the end: the room has everybody who joined."""
        members = await asyncio.to_thread(self.store.members, await self.room)
        if missing := set(self.members) - set(members):
            self.lose(f"{len(missing)} of {len(self.members)} members of the room")

    @property
    def growth(self) -> float:
        """Memory of the last fifth of the time over that of the third fifth."""
        fifth = max(1, len(self.memory) // 5)
        return statistics.median(self.memory[-fifth:]) / statistics.median(self.memory[2 * fifth : 3 * fifth] or [1])

    def faults(self) -> list[str]:
        """Each promise that did not hold, as a sentence."""
        found = [f"lost: {what}" for what in self.lost]
        for what, silence in self.silences.items():
            if silence > LONGEST:
                found.append(f"a page showed nothing new for {silence:.1f} s ({what})")
        if self.growth > GROWTH:
            found.append(f"the memory grew by {self.growth - 1:.0%}")
        if missing := [what for what in COMPARED if not self.counts[what]]:
            found.append(f"too short to compare: {', '.join(missing)}")
        return found

    def table(self) -> str:
        """The waits and the memory, as text."""
        lines = [f"{'':42} {'number':>7} {'median':>8} {'95%':>8} {'longest':>8} {'silent':>8}"]
        for what, waits in sorted(self.waits.items()):
            figures = (statistics.median(waits), percentile(waits, 95), max(waits), self.silences[what])
            lines.append(f"{what:42} {len(waits):7,} " + " ".join(f"{one:7.2f}s" for one in figures))
        fifth = max(1, len(self.memory) // 5)
        fifths = [statistics.median(self.memory[k * fifth : (k + 1) * fifth] or [0]) / 1e6 for k in range(5)]
        lines.append(f"memory of process 1 in each fifth of the time, MB: {', '.join(f'{one:.0f}' for one in fifths)}")
        lines.append(f"killed: other processes {self.kills} times, the room store {self.stops} times")
        lines.append(f"compared: {', '.join(f'{what}: {self.counts[what]:,}' for what in COMPARED)}")
        lines.append(f"lost: {len(self.lost)}")
        return "\n".join(lines)
