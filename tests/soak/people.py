"""What the visitors do, and what each of them was promised."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from websockets.exceptions import WebSocketException

from benchmarks.protocol import Run
from benchmarks.rooms import Follower
from pages.core.words.markdown import plain
from pages.state import url_state
from pages.state.former import FORMER
from pages.teaching.rooms import StoreUnavailable, ask, new_secret
from tests.pages.apps import registered
from tests.soak.soak import Soak
from tests.soak.visitor import Visitor

WORDS = (
    "the a cat dog river bank light heavy green old young house garden writes reads sleeps runs finds keeps over under "
    "near after before seven letters music water bread stone window morning winter train teacher student question"
).split()
LAYERS, HEADS = 6, 12
#: What the teacher asks.
QUESTION = {"kind": "number", "ask": "Which weight?", "quantity": {"softmax": {"scores": [0, 0], "at": 0}}, "within": 1}
#: Numbers of the training's channel that this reader has: none, of two runs.
UNSEEN = "layer=0&head=0&mean=0&seen=0,0,0,0,0,0"


class Person:
    """One visitor with a habit. Subclasses say what comes next in `act`."""

    page, values = "heads", dict[str, str]()
    #: Values of the address that others may change meanwhile.
    shared: tuple[str, ...] = ()
    #: Share of the actions before which this visitor comes again without a cookie, to any process. Otherwise all would
    #: soon be in the process that is never killed.
    comes_again = 0.0

    def __init__(self, soak: Soak, number: int) -> None:
        self.soak, self.chance = soak, random.Random(f"{soak.seed} {number}")
        self.visitor = Visitor(soak.served.server.url, self.page, urlencode(self.values | {"text": self.sentence(9)}))

    def sentence(self, n: int) -> str:
        """n words that nobody has typed before."""
        return " ".join(self.chance.choices(WORDS, k=n))

    async def live(self) -> None:
        """Come, and act until the end."""
        await asyncio.sleep(self.soak.thinking * self.chance.random())
        await self.visitor.__aenter__()
        try:
            await self.does("opens a page", self.visitor.open)
            await self.arrive()
            await self.soak.begin()
            while True:
                await asyncio.sleep(self.soak.thinking * self.chance.uniform(0.6, 1.4))
                if self.chance.random() < self.comes_again:
                    self.visitor.forget_process()
                    self.soak.note("a reload", await self.visitor.reloads(), self.visitor.silence)
                if self.visitor.is_late:  # its controls are not there: she tries once more
                    self.soak.note("a reload of a page that takes long", await self.visitor.reloads())
                else:
                    await self.act()
                if not self.soak.left:
                    break
        finally:
            await self.visitor.socket.close()

    async def arrive(self) -> None:
        """Once, after the page has opened."""

    async def act(self) -> None:
        """The next action."""
        raise NotImplementedError

    async def does(self, what: str, act: Callable[[], Awaitable[Run]], **changes: object) -> bool:
        """Act, and note the wait; whether it came to its end. changes: the values of the address that this sets,
        None where another value may follow, as a token of a text that becomes shorter.

        Afterwards the address has them. If the process ended: return, and look for the values of before, too; the act
        is sent again. If the page works for long: leave it at that.
        """
        before = self.visitor.values
        try:
            run = await act()
        except TimeoutError:
            self.soak.note(f"{what}, left early", self.visitor.run_seconds, self.visitor.silence)
            return False
        except (WebSocketException, OSError):
            seconds = await self.visitor.returns()
            self.soak.note("returns after the process ended", seconds, self.visitor.silence)
            if not self.visitor.is_late:
                self._compare(what, with_changes(before, changes), sent_again=True)
            return False
        self.soak.note(what, run.seconds, self.visitor.silence)
        if changes:
            wanted = with_changes(before, changes)
            own = {*changes, *(f"{url_state.KEPT}{name}" for name in changes)}
            own &= {*before, *self.visitor.values}  # what the app chose stays out of the address if it is chosen again
            self._compare(what, {name: value for name, value in wanted.items() if name in own})
        return True

    def _compare(self, what: str, wanted: dict[str, str | None], *, sent_again: bool = False) -> None:
        """Whether the address has these values; None: any value."""
        self.soak.count("clicks sent again" if sent_again else "clicks")
        after = self.visitor.values
        kept = {name: value for name, value in wanted.items() if name not in self.shared and value is not None}
        if missing := {name: value for name, value in kept.items() if after.get(name, default(name)) != value}:
            how = "returned" if sent_again else "is"
            self.soak.lose(f"{type(self).__name__} ({what}) {how} without {missing}")


def with_changes(values: dict[str, str], changes: dict[str, object]) -> dict[str, str | None]:
    """An address after these changes: of a text that is too long for it, it has the digest."""
    wanted = values | {name: None if value is None else str(value) for name, value in changes.items()}
    if f"{url_state.KEPT}text" in values and changes.keys() & {"text", "i", "j"}:
        wanted |= dict.fromkeys(("i", "j"))  # a cell of its map is one of many tokens
    if "text" in changes:
        wanted.pop(f"{url_state.KEPT}text", None)
        if url_state._too_long(wanted["text"]):
            wanted[f"{url_state.KEPT}text"] = url_state._digest(wanted.pop("text"))
    return wanted


@functools.cache
def default(name: str) -> str | None:
    """What an address without this value means."""
    param = registered().get(name)
    return None if param is None or param.default is None else param.format(param.default)


class Reader(Person):
    """Heads: another head, a cell, a sentence."""

    comes_again = 0.1

    async def act(self) -> None:
        """One click."""
        visitor, chance = self.visitor, self.chance
        what = chance.choices(("head", "cell", "sentence"), (7, 2, 1))[0]
        if what == "head":
            layer, head = chance.randrange(LAYERS), chance.randrange(HEADS)
            await self.does("another head", lambda: visitor.open_head(layer, head), layer=layer, head=head)
        elif what == "cell":
            i, j = chance.randrange(9), chance.randrange(9)
            await self.does("a cell", lambda: visitor.select_cell(i, j), i=i, j=j)
        else:
            text = self.sentence(9)
            await self.does("a sentence", lambda: visitor.fill("view:text", text), text=text)


class LongReader(Reader):
    """Texts of up to 8,000 characters: the address has their digest, the browser keeps them."""

    async def act(self) -> None:
        """A long text, then clicks."""
        if self.chance.random() < 0.4:
            text = self.sentence(self.chance.choice((200, 900, 1_400)))
            await self.does("a long text", lambda: self.visitor.fill("view:text", text), text=text)
        else:
            await super().act()


class Walker(Person):
    """All pages, one after another, in one session."""

    comes_again = 0.1

    async def act(self) -> None:
        """Another page."""
        # An address of a former page is a link: it sets the values that it leaves out, too.
        names = [name for name in self.visitor.pages if name and name not in FORMER]
        page = self.chance.choice(names)
        if await self.does(f"the page {page}", lambda: self.visitor.go(page)) and page == "lessons":
            self.soak.count("lessons next to a broken one")
            if not any(text.startswith("Start “") for text in self.visitor.texts):
                self.soak.lose("the lessons, since one is broken")


class Builder(Person):
    """Untrained encoders, each with other weights: the server builds a model each time, and another has to go."""

    page, values = "heads", {"model": "scratch", "width": "256", "layers": "4"}

    async def act(self) -> None:
        """Another seed, in a link that is opened."""
        values = self.visitor.values | {"seed": str(self.chance.randrange(10**6))}
        self.visitor.query = urlencode(values)
        self.visitor.forget_process()
        self.soak.note("an untrained encoder", await self.visitor.reloads(), self.visitor.silence)


class Trainer(Person):
    """Training, watched through its channel; the address finds the runs again."""

    page, values = "training", {"steps": "60"}
    shared = ("training_run",)  # ends with its process, and the click that is sent again begins another one

    async def act(self) -> None:
        """One training from its start to its end, then a reload."""
        kills = self.soak.kills
        if not await self.does("a training starts", lambda: self.visitor.press("train")):
            return
        for _ in range(20):
            path = f"live/training/{self.visitor.values['training_run']}?{UNSEEN}"
            try:
                run, said = await self.visitor.fetch(path)
            except OSError:
                return  # the process ended; runs that were not saved end with it
            self.soak.note("news of a training", run.seconds)
            if said is None:
                break
            if not any(one["active"] for one in said["runs"]):
                break
            await asyncio.sleep(0.5)
        seconds = await self.visitor.reloads()
        self.soak.note("a reload", seconds, self.visitor.silence)
        try:
            _, found = await self.visitor.fetch(f"live/training/{self.visitor.values['training_run']}?{UNSEEN}")
        except OSError:
            return
        if found is None and self.soak.kills == kills:
            self.soak.lose("a training is gone after a reload")


class Uploader(Person):
    """A file of texts on the page Texts; the session keeps it while other pages are visited."""

    page, values = "texts", {"search_in": "file"}

    async def act(self) -> None:
        """Upload, search, leave the page, come back."""
        lines = [self.sentence(6) for _ in range(60)]
        file = "\n".join(lines).encode()
        visitor = self.visitor
        if not await self.does("a file", lambda: visitor.upload("search:file", "texts.txt", file)):
            return
        if "view:query" not in visitor.ids:  # the run was left before its end, as where the page works for long
            self.soak.note("a file, left early", visitor.run_seconds, visitor.silence)
            return
        wanted = self.chance.choice(lines)
        if not await self.does("a query", lambda: visitor.fill("view:query", wanted), query=wanted):
            return
        self._check(wanted)
        if await self.does("another page", lambda: visitor.go("heads")) and await self.does(
            "another page", lambda: visitor.go("texts")
        ):
            self._check(wanted)

    def _check(self, wanted: str) -> None:
        first = next((text for text in self.visitor.texts if text.startswith("1. ")), "")
        if not first.endswith(plain(wanted)):
            self.soak.lose(f"a file's text {wanted!r} is not the nearest to itself: {first!r}")


class Teacher(Reader):
    """Opens a room, and shows heads to it. After the process ended, the browser's key takes the room again."""

    page = "classroom"
    comes_again = 0.0

    async def arrive(self) -> None:
        """Open a room and go to a page."""
        while "room" not in self.visitor.values:
            await self.does("a room opens", lambda: self.visitor.press("classroom:open"))
        await self.does("another page", lambda: self.visitor.go("heads"))
        self.soak.room.set_result(self.visitor.values["room"])

    async def act(self) -> None:
        """One click; some freeze or release the class, which the room shows even if the process died meanwhile.

        Some ask a question; students answer it on their pages.
        """
        choice = self.chance.random()
        if choice < 0.4 or self.soak.away.is_set():
            await super().act()
            return
        if choice < 0.6:
            with contextlib.suppress(StoreUnavailable):
                code = await self.soak.room
                await asyncio.to_thread(self.soak.store.change, code, lambda room: ask(room, QUESTION))
            return
        before, stops = await self.soak.look(), self.soak.stops
        assert before
        frozen = not before.frozen
        press = {"event": "press", "name": "freeze" if frozen else "unfreeze"}
        await self.does("freezes", lambda: self.visitor.tell_room(press))
        room = await self.soak.look()
        if stops == self.soak.stops:  # else the line says that the store is away
            self.soak.count("clicks of the teacher, in the room")
            if room is None or room.frozen != frozen:
                self.soak.lose("a click of the teacher")


class Student(Person):
    """Follows the teacher."""

    shared = ("text", "layer", "head", "i", "j")

    def __init__(self, soak: Soak, number: int) -> None:
        super().__init__(soak, number)
        self.member, self.answered = new_secret(), set[str]()

    async def live(self) -> None:
        """Join, and follow until the end."""
        self.code = self.visitor.code = await self.soak.room
        self.visitor.member, self.visitor.seat = self.member, {"code": self.code, "member": self.member}
        self.visitor.query = urlencode({"room": self.code})
        async with self.visitor:
            await self.does("opens a page", self.visitor.open)
            self.soak.members.append(self.member)
            await self.soak.begin()
            while self.soak.left:
                try:
                    async with asyncio.timeout(self.soak.left):
                        async for version in Follower.versions(self.visitor):
                            if self.soak.away.is_set():
                                await self._reload()
                            elif version:
                                await self._follow(version)
                except OSError:
                    await asyncio.sleep(1.0)  # as EventSource does
                except TimeoutError:
                    break

    async def _reload(self) -> None:
        """Reload while the store is away, and ask until it is back, as room_strip.js does."""
        began = time.perf_counter()
        self.soak.count("members who reloaded while the store was away")
        self.visitor.forget_process()
        await self.visitor.reloads()
        while not self.visitor.strip.get("member"):
            if time.perf_counter() - began > 30.0 or self.visitor.values.get("room") != self.code:
                self.soak.lose(f"a member who reloaded: {self.visitor.values}")
                return
            await self.does("asks for the seat", lambda: self.visitor.tell_room({"event": "news"}))
            await asyncio.sleep(1.0)
        self.soak.note("joins after the store was away", time.perf_counter() - began, self.visitor.silence)

    async def _follow(self, version: int) -> None:
        began = time.perf_counter()
        if await self.does("the teacher's change", lambda: self.visitor.tell_room({"event": "news"})):
            room, seen = await self.soak.look(), self.visitor.values
            if self.soak.away.is_set() or room is None:
                return
            if room.version == version and any(room.view.get(name) != seen.get(name) for name in self.shared):
                self.soak.lose(f"a student sees {seen}, the class {dict(room.view)}")
            self.soak.note("a change reaches a student", time.perf_counter() - began)
            if room.question and room.question.id not in self.answered:
                await self._answer(room.question.id)

    async def _answer(self, question: str) -> None:
        """Answer as a person does, and find the answer in the store, also if the store or the process was away."""
        key, number = f"room:{question}", self.chance.randrange(1, 1000) / 1000  # a weight
        if f"{key}:number" not in self.visitor.ids:
            return  # the page shows a newer question
        self.answered.add(question)
        if not await self.does("types an answer", lambda: self.visitor.fill(f"{key}:number", str(number))):
            return  # the field is empty after the process ended, and the person sees it
        await self.does("answers", lambda: self.visitor.press(f"{key}:give"))
        while self.soak.away.is_set():  # the page says that the answer waits
            await asyncio.sleep(0.2)
        await self.does("asks for news", lambda: self.visitor.tell_room({"event": "news"}))
        room = await self.soak.look()
        if room is None or room.question is None or room.question.id != question:
            return  # it may have come too late
        self.soak.count("answers, in the store")
        given = await asyncio.to_thread(self.soak.store.answers, self.code, question)
        kept = given.get(self.member)
        if kept is None or float(kept) != number:
            self.soak.lose(f"an answer: {number}, the store has {kept}")


#: One of each kind first; then the mixture of a class.
FIRST = (Teacher, Student, Trainer, Uploader, LongReader, Walker, Builder, Reader)
THEN = (Reader, Reader, Student, Reader, Walker, Reader, Student, Builder, LongReader, Reader, Trainer)


def people(soak: Soak) -> list[Person]:
    """All visitors."""
    registered()  # it imports all pages, which would hold up everybody at the first click
    kinds = [FIRST[i] if i < len(FIRST) else THEN[(i - len(FIRST)) % len(THEN)] for i in range(soak.visitors)]
    return [kind(soak, number) for number, kind in enumerate(kinds)]
