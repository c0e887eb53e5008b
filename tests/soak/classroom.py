"""A class in real browsers: a desk, a wall and phones play lessons while processes and the room store are killed.

Each change is timed on each screen, from the teacher's click to the moment at which the screen shows it and its run has
ended; each answer from the student's click until the wall and the desk count it. At the end of each question the room
must have every answer that was given.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from benchmarks.load import percentile
from pages.core.frame.frame import import_params
from pages.teaching.lessons import library
from pages.teaching.lessons.lesson import Lesson, Step
from pages.teaching.questions import Question
from pages.teaching.rooms import Room, StoreUnavailable
from pages.teaching.rooms.redis_store import RedisStore
from pages.teaching.rooms.store import LATE
from tests.conftest import CHROMIUM_FLAGS
from tests.ensure_chromium import find
from tests.soak.parts import NOTES, Parts, parts
from tests.soak.served import Served
from tests.soak.soak import AWAY

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK, WALL = {"viewport": {"width": 1280, "height": 800}}, {"viewport": {"width": 1920, "height": 1080}}
#: Seconds in which a change is to be on a screen, for SHARE % of them, and after which it counts as lost.
SOON, SHARE, PATIENCE = 1.0, 95, 60.0
#: Seconds after which nothing more is killed until the change is on all screens: on a slow machine kills in a row leave
#: a screen no time to come back, and what is lost for good is lost after them, too.
BEHIND = 30.0
#: Milliseconds between two looks at a screen: each frame would cost the browsers what they need for drawing.
LOOK = 50
#: Kinds that a phone answers here: a press of an option, or words and Enter. The others stay without an answer.
PRESSED, TYPED = ("token", "true or false", "choice", "concept"), ("number", "conclusion")
#: Before the scripts of each page: when the last button was pressed.
CLICKS = """addEventListener("click", (event) => {
  if (event.target.closest?.("button")) globalThis.__clickedAt = Date.now();
}, true);"""
#: What a screen shows of a change. Words are compared without signs, which Markdown may draw in another way.
SHOWN = """([screen, change]) => {
  const words = (text) => (text ?? "").replace(/[^\\p{L}\\p{N}]/gu, "");
  const all = (selector) => [...document.querySelectorAll(selector)];
  const printed = (one) => {  // a typeset formula has its letters for screen readers, too
    const copy = one.cloneNode(true);
    for (const hidden of copy.querySelectorAll(".katex-mathml")) hidden.remove();
    return words(copy.textContent);
  };
  const has = (selector, text) => all(selector).some((one) => printed(one).includes(words(text)));
  if (document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState !== "notRunning") return false;
  const ballot = '[class*="st-key-ballot"]';
  const unanswered = `${ballot} :is([class*="-give"], [class*="-again"])`;
  const follows = !has(".enc-room button", "Return to class");  // nobody here looks around
  const shows = {
    desk: {
      step: () => has(".stMain p", change.step),
      question: () => has(".stMain p", change.step) && has(".stMain button", "Show the result"),
      result: () => !has(".stMain button", "Show the result"),
    },
    wall: {
      step: () => has(".enc-wall-step", change.title) && !all(".enc-wall h1").length,
      question: () => has(".enc-wall h1", change.ask),
      result: () => has(".enc-wall h1", change.ask)
        && all(".enc-wall :is(.enc-wall-exhibit, .enc-wall-true, .enc-wall-why)").length,
    },
    phone: {
      step: () => follows && has(".stMain h3", change.title) && !all(ballot).length,
      question: () => has(`${ballot} p`, change.ask),
      result: () => has(`${ballot} p`, change.ask) && !all(unanswered).length,
    },
  };
  return shows[screen][change.kind]() && Date.now();
}"""
#: Whether a screen counts at least so many answers.
COUNTED = """([screen, count]) => {
  const selector = screen === "wall" ? ".enc-wall footer" : ".enc-room-counts";
  const said = document.querySelector(selector)?.textContent ?? "";
  const found = (screen === "wall" ? /(\\d+) of \\d+ answered/ : /(\\d+) answer/).exec(said);
  return found && Number(found[1]) >= count && Date.now();
}"""

#: What a screen that stays behind knows, for whoever looks for the cause.
KNOWS = """() => {
  const app = document.querySelector('[data-testid="stApp"]')?.dataset ?? {};
  const asked = globalThis.__encoderscopeAsked?.();
  return JSON.stringify({
    script: app.testScriptState, connection: app.testConnectionState, classes: document.documentElement.className,
    version: document.querySelector(".enc-room")?.dataset.version, heard: globalThis.__encoderscopeRoom?.heard,
    asked: asked && Date.now() - asked,
    fields: [...document.querySelectorAll("input, textarea")].map((one) => one.value),
    notes: globalThis.__notes.slice(-12).map(([at, what]) => `${what} ${Date.now() - at}`),
    said: [...document.querySelectorAll('[role="alert"], .enc-room-note')].map((one) => one.textContent),
    text: document.querySelector(".stMain")?.innerText.slice(0, 400),
  });
}"""


@dataclass(frozen=True)
class Change:
    """What the teacher changed: `kind` is step, question or result."""

    kind: str
    step: str
    title: str
    ask: str = ""


@dataclass
class Timed:
    """Waits of one kind on one screen, in seconds, those apart in which something was killed."""

    calm: list[float] = field(default_factory=list)
    killed: list[float] = field(default_factory=list)


class Classroom:
    """One class. phones: how many; minutes of `seconds` from the first step; every: seconds between two kills."""

    def __init__(self, served: Served, seconds: float, phones: int = 4, every: float = 60.0, seed: int = 0) -> None:
        self.served, self.seconds, self.phones, self.every = served, seconds, phones, every
        self.chance = random.Random(f"{seed} class")
        self.store = RedisStore(served.rooms)
        self.waits: dict[tuple[str, str], Timed] = defaultdict(Timed)
        self.parts = Parts()
        self.lost: list[str] = []
        self.counts: Counter[str] = Counter()
        self.asked: set[tuple[str, int]] = set()  # lesson and step: the room keeps the result for the next time
        self._killed_at, self._store_is_away = -PATIENCE, False
        self._waits_since = math.inf  # for a change to be on all screens
        self.processor: dict[str, float] = {}
        self.screens: dict[str, Page] = {}
        self.code = ""
        import_params()

    async def play(self) -> None:
        """The whole class, from the open room to the end of the time."""
        from playwright.async_api import async_playwright

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find(), args=CHROMIUM_FLAGS)
            try:
                await self._arrive(browser)
                before = self._processor()
                async with self._kills():
                    await self._lessons()
                self.processor = {name: spent - before[name] for name, spent in self._processor().items()}
                await self._agree()
            finally:
                await browser.close()

    async def _arrive(self, browser: Browser) -> None:
        async def screen(path: str, options: dict) -> Page:
            context = await browser.new_context(**options)
            context.set_default_timeout(1000 * PATIENCE)
            await context.add_init_script(CLICKS + NOTES)
            page = await context.new_page()
            await page.goto(self.served.server.url + path)
            return page

        desk = await screen("/classroom", DESK)
        await desk.get_by_role("button", name="Open a room").click()
        await desk.wait_for_url(re.compile(r"room=\w{6}"))
        self.code = desk.url.partition("room=")[2][:6]
        self.screens = {"desk": desk, "wall": await screen(f"/classroom?room={self.code}&wall=1", WALL)}
        for number in range(1, self.phones + 1):
            self.screens[f"phone {number}"] = await screen(f"/classroom?room={self.code}", PHONE)
        await desk.get_by_text(f"{self.phones} here · {self.phones} follow").wait_for()

    # --- the lesson ---------------------------------------------------------------------------------------------------

    async def _lessons(self) -> None:
        ends, names = time.monotonic() + self.seconds, [path.stem for path in sorted(library.SHIPPED.glob("*.md"))]
        self.chance.shuffle(names)
        while time.monotonic() < ends:
            for name in names:
                lesson = library.find(name)
                assert lesson
                for number, step in lesson.numbered():
                    if time.monotonic() > ends:
                        return
                    if not await self._turn(lesson, number) or not await self._step(lesson, number, step):
                        return  # a class whose screens stay behind goes no further

    async def _turn(self, lesson: Lesson, number: int) -> bool:
        """Go to a step at the desk. Returns whether it could be clicked."""
        from playwright.async_api import TimeoutError as Late

        try:
            await self._click(lesson, number)
            if (lesson.name, number) in self.asked:
                step = vars(Change("step", f"step {number} of {lesson.last}", ""))
                await self._when(self.screens["desk"], SHOWN, ["desk", step])
                await self.screens["desk"].get_by_role("button", name="Ask again").click()
                await self.screens["desk"].get_by_role("button", name="Begin a new vote").click()
        except Late:
            await self._lose(f"step {number} of {lesson.title} cannot be chosen", self.screens["desk"])
            return False
        return True

    async def _click(self, lesson: Lesson, number: int) -> None:
        desk = self.screens["desk"]
        if number != lesson.first:
            await desk.locator(f".st-key-desk-next-{number - 1} button").click()
            return
        await desk.get_by_role("combobox", name="Lesson").click()
        await desk.get_by_role("option", name=re.compile(re.escape(lesson.title))).click()
        await desk.get_by_role("button", name="Begin this lesson").click()

    async def _step(self, lesson: Lesson, number: int, step: Step) -> bool:
        """A step on all screens; a question is answered, and its result shown. Returns whether all have the step."""
        said, question = f"step {number} of {lesson.last}", step.question
        begun = Change("question" if question else "step", said, step.title, question.ask if question else "")
        if not await self._seen(begun):
            return False
        await asyncio.sleep(self.chance.uniform(1, 3))
        if question is None:
            return True
        self.asked.add((lesson.name, number))
        await self._answers(question)
        await self.screens["desk"].get_by_role("button", name="Show the result").click()
        await self._seen(Change("result", said, step.title, question.ask))
        await asyncio.sleep(self.chance.uniform(1, 3))
        return True

    async def _seen(self, change: Change) -> bool:
        """Time a change on every screen; whether all have it."""

        async def on(name: str, page: Page) -> bool:
            kind = name.partition(" ")[0]
            said = [kind, vars(change)]
            if (shown := await self._when(page, SHOWN, said)) is None:
                await self._lose(f"{change.kind} {change.step} “{change.title}” is not on {name}", page)
                return False
            what = f"a {change.kind}"
            if self._note(what, kind, clicked, shown):
                notes = await page.evaluate("globalThis.__notes.splice(0)")
                self.parts.add(what, kind, parts(notes, clicked, shown, clicks=kind == "desk"))
            return True

        clicked = await self.screens["desk"].evaluate("globalThis.__clickedAt")
        self._waits_since = time.monotonic()
        all_have_it = all(await asyncio.gather(*(on(name, page) for name, page in self.screens.items())))
        self._waits_since = math.inf
        return all_have_it

    async def _when(self, page: Page, condition: str, argument: object) -> float | None:
        """When the page has it, in milliseconds since 1970; None: it does not come."""
        from playwright.async_api import TimeoutError as Late

        try:
            return await (await page.wait_for_function(condition, arg=argument, polling=LOOK)).json_value()
        except Late:
            return None

    async def _lose(self, what: str, page: Page) -> None:
        """Something is not on a screen; says what the screen knows."""
        ago = time.time() - self._killed_at
        self.lost.append(f"{what}; {ago:.0f} s after the last kill. It knows: {await page.evaluate(KNOWS)}")

    def _note(self, what: str, screen: str, clicked: float, shown: float) -> bool:
        """Count a wait; returns whether nothing was killed in it."""
        timed = self.waits[what, screen]
        is_calm = shown / 1000 < self._killed_at or clicked / 1000 > self._killed_at + AWAY
        (timed.calm if is_calm else timed.killed).append((shown - clicked) / 1000)
        return is_calm

    # --- answers ------------------------------------------------------------------------------------------------------

    async def _answers(self, question: Question) -> None:
        """All phones answer at their own time; the k-th answer is there when a screen counts k."""
        if question.kind not in (*PRESSED, *TYPED):
            return
        phones = [page for name, page in self.screens.items() if name.startswith("phone")]
        counts = {
            (screen, count): asyncio.create_task(self._when(self.screens[screen], COUNTED, [screen, count]))
            for screen in ("wall", "desk")
            for count in range(1, len(phones) + 1)
        }
        given = await asyncio.gather(*(self._answer(page, question) for page in phones), return_exceptions=True)
        clicked = sorted(one for one in given if not isinstance(one, BaseException))
        for page, one in zip(phones, given, strict=True):
            if isinstance(one, Exception):
                await self._lose(f"a phone cannot answer “{question.ask}”: {one}", page)
        for (screen, count), task in counts.items():
            if count > len(clicked):
                task.cancel()
                continue
            if (shown := await task) is None:
                self.lost.append(f"{screen} does not count answer {count} to “{question.ask}”")
            else:
                self._note("an answer counted", screen, clicked[count - 1], shown)
        room = await self._room()
        kept = {} if room is None or room.question is None else self.store.answers(self.code, room.question.id)
        self.counts["answers, in the store"] += len(kept)
        if len(kept) < len(clicked):
            late = self.store.answers(self.code, LATE)
            self.lost.append(f"{len(clicked) - len(kept)} answers to “{question.ask}”; kept: {kept}; late: {late}")
            for page in phones:
                await self._lose(f"a phone after “{question.ask}”, of which the store lacks an answer", page)

    async def _answer(self, page: Page, question: Question) -> float:
        await asyncio.sleep(self.chance.uniform(0, 4))
        ballot = page.locator('[class*="st-key-ballot"]')
        if question.kind in PRESSED:
            options = ballot.locator('.stButtonGroup button, [role="radiogroup"] label')
            await options.first.wait_for()
            await options.nth(self.chance.randrange(await options.count())).tap()
        else:
            field = ballot.locator("textarea" if question.kind == "conclusion" else "input")
            await field.fill(f"{self.chance.randrange(2)}")  # which is a count, and a share
        give = ballot.locator('[class*="-give"] button')
        await give.and_(page.locator(":enabled")).tap()
        return await page.evaluate("globalThis.__clickedAt")

    # --- kills, and the end -------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _kills(self) -> AsyncIterator[None]:
        """Now and then a process or the room store ends; the store is back after some seconds."""

        async def kill() -> None:
            while True:
                await asyncio.sleep(self.every * self.chance.uniform(0.7, 1.3))
                while time.monotonic() - self._waits_since > BEHIND:
                    await asyncio.sleep(1)
                self._killed_at = time.time()
                if self.chance.random() < 0.25:
                    self.counts["ends of the room store"] += 1
                    self._store_is_away = True
                    await asyncio.to_thread(self.served.store.kill)
                    await asyncio.sleep(AWAY)
                    self._store_is_away = False
                    await asyncio.to_thread(self.served.store.start)
                    self._killed_at = time.time()
                elif await asyncio.to_thread(self.served.kill, self.chance.randrange(self.served.workers)):
                    self.counts["ends of processes"] += 1

        killing = asyncio.create_task(kill())
        try:
            yield
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
            if self._store_is_away:
                await asyncio.to_thread(self.served.store.start)

    def _processor(self) -> dict[str, float]:
        """Seconds of processor time so far, of the server's processes and of the browser's."""
        server = psutil.Process(self.served.server.process.pid).children(recursive=True)
        own = psutil.Process().children(recursive=True)
        return {
            "the server": sum(map(_seconds, server)),
            "the browsers": sum(_seconds(one) for one in own if one not in server),
        }

    async def _room(self) -> Room | None:
        while True:
            try:
                return await asyncio.to_thread(self.store.find, self.code)
            except StoreUnavailable:
                await asyncio.sleep(0.2)

    async def _agree(self) -> None:
        """At the end all screens have the room's version, and nobody is gone."""
        room = await self._room()
        if room is None:
            self.lost.append("the room")
            return
        shown = "(version) => document.querySelector('.enc-room')?.dataset.version === version"
        for name, page in self.screens.items():
            if await self._when(page, shown, str(room.version)) is None:
                await self._lose(f"{name} has not the room's last version", page)
        if len(self.store.members(self.code)) != self.phones:
            self.lost.append(f"{self.phones} phones are {len(self.store.members(self.code))} members")

    # --- what it found ------------------------------------------------------------------------------------------------

    def faults(self) -> list[str]:
        """Each promise that did not hold, as a sentence."""
        found = [f"lost: {what}" for what in self.lost]
        for what in sorted({what for what, _ in self.waits}):
            all_waits = [
                one for (kind, _), timed in self.waits.items() if kind == what for one in timed.calm + timed.killed
            ]
            if (late := percentile(all_waits, SHARE)) > SOON:
                found.append(f"{what}: {SHARE} % of the screens have it after {late:.2f} s")
        return found

    def table(self) -> str:
        """The waits by what changed and where, as text."""
        lines = [f"{'':34} {'number':>7} {'median':>8} {'95%':>8} {'longest':>8} {'in 1 s':>7}"]
        for (what, screen), timed in sorted(self.waits.items()):
            for when, waits in (("", timed.calm), (", killed", timed.killed)):
                if waits:
                    soon = sum(one <= SOON for one in waits) / len(waits)
                    figures = (statistics.median(waits), percentile(waits, SHARE), max(waits))
                    said = f"{what}, {screen}{when}"
                    lines.append(
                        f"{said:34} {len(waits):7,} " + " ".join(f"{one:7.2f}s" for one in figures) + f" {soon:7.0%}"
                    )
        lines += ["", self.parts.table(), ""]
        changes = sum(len(timed.calm) for (what, screen), timed in self.waits.items() if screen == "desk")
        if changes and not self.counts["ends of processes"]:  # what a process that is gone has spent is not known
            spent = ", ".join(f"{name} {seconds / changes:.2f} s" for name, seconds in self.processor.items())
            lines.append(f"processor time of all screens together for each change or answer: {spent}")
        lines += [f"{what}: {count:,}" for what, count in sorted(self.counts.items())]
        lines.append(f"lost: {len(self.lost)}")
        return "\n".join(lines)


def _seconds(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:2])
    except psutil.Error:  # it has just ended
        return 0.0
