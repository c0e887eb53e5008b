"""Tells browsers that their room changed: one stream of server-sent events each, with little more than numbers.

The stores are asked ten times a second for each room that somebody listens to in this process, however many listen, and
at once after a change by this process. The same loop works for every store, and after a store was away.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.base.access import limits
from pages.teaching.rooms.room import read_code
from pages.teaching.rooms.store import Pulse, RoomGone, RoomStore, StoreUnavailable

PLACE = "/_rooms/"
#: Seconds between two questions to the store, between two signs of a member, and between two signs of the server.
POLL, SIGN, ALIVE = 0.1, 10.0, 5.0
#: Seconds after a change of this process in which further ones are told together.
FLOOR = 0.02
#: Milliseconds after which a browser connects again.
RETRY_MS = 1000
#: Streams of one room in one process: each member may have two tabs.
STREAMS = 2 * limits.MEMBERS.usual
#: The news while the store does not answer.
AWAY = '{"away":true}'
#: Addresses and codes that are remembered.
MOST_KNOWN = 10_000


class Tries:
    """Counts what an address does, so that nobody finds a room by trying codes, or opens all rooms of a server.

    limit: so many at once, and so many more in each `seconds`.
    """

    def __init__(self, limit: int, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._seconds, self._clock = limit, seconds, clock
        self._left: dict[str, tuple[float, float]] = {}  # an address' tries, and when they were counted
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def allows(self, address: str, code: str = "") -> bool:
        """Whether this address may try now; it always may where it found the room of a code before.

        So a class is not disturbed by somebody on its network who tries codes.
        """
        return (address, code) in self._known or self._tries(address) >= 1

    def found(self, address: str, code: str) -> None:
        """An address found the room of a code."""
        self._known[address, code] = None
        self._known.move_to_end((address, code))
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    def note(self, address: str) -> None:
        """An address tried, in vain or not, as it is counted."""
        if len(self._left) > 10_000:
            self._left = {one: left for one, left in self._left.items() if self._tries(one) < self._limit}
        self._left[address] = (self._tries(address) - 1, self._clock())

    def _tries(self, address: str) -> float:
        tries, counted = self._left.get(address, (float(self._limit), self._clock()))
        return min(self._limit, tries + (self._clock() - counted) * self._limit / self._seconds)


#: One count for this process: of unknown codes, for the streams and for the field where a code is typed.
MISSED = Tries(limits.MISSES.value)
#: Of rooms that were opened.
OPENED = Tries(limits.OPENINGS.value, 3600.0)


def changed(code: str) -> None:
    """This process has changed a room or its answers: those who listen here hear it at once."""
    for watch in tuple(_WATCHES):
        if watch.code == code:
            with contextlib.suppress(RuntimeError):  # its loop has just been closed
                watch.loop.call_soon_threadsafe(watch.changed_here.set)


#: All rooms that browsers of this process listen to.
_WATCHES: list["_Watch"] = []


class _Watch:
    """One room that browsers of this process listen to."""

    def __init__(self, store: RoomStore, code: str) -> None:
        self.store, self.code = store, code
        self.loop, self.changed_here = asyncio.get_running_loop(), asyncio.Event()
        self.streams = self.desks = 0
        self.members: Counter[str] = Counter()
        self.news = "{}"
        self.desk_news = "{}"
        self.is_open = True
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self._run())
        _WATCHES.append(self)

    async def _run(self) -> None:
        signed, counted, desk_counts = -SIGN, None, dict[str, int]()
        fails = False
        while self.is_open:
            try:
                pulse = await asyncio.to_thread(self.store.pulse, self.code)
                if time.monotonic() - signed >= SIGN:
                    signed, counted = time.monotonic(), None
                    await asyncio.to_thread(self.store.seen, self.code, [*self.members])
                if not self.desks:
                    counted = None
                elif pulse != counted:
                    desk_counts, counted = await asyncio.to_thread(self._count, pulse), pulse
                self._say(json.dumps({"version": pulse.version}), json.dumps(desk_counts))
                fails = False
            except RoomGone:
                self.is_open = False
                self._wake()
            except StoreUnavailable:
                self._say(AWAY, AWAY)
            except Exception:  # whatever it is: without this watch, the room's browsers would wait for news for ever
                if not fails:
                    logging.getLogger("encoderscope").exception("Room %s cannot be read; it is tried again", self.code)
                fails = True
                self._say(AWAY, AWAY)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.changed_here.wait(), POLL)
                await asyncio.sleep(FLOOR)
            self.changed_here.clear()

    def _count(self, pulse: Pulse) -> dict[str, int]:
        """What the teacher's desk hears: how many are here, follow, and have answered."""
        room, now = self.store.find(self.code), time.time()
        here = [one for one in self.store.members(self.code).values() if one.is_present(now)]
        asked = room.question if room else None
        answers = len(self.store.answers(self.code, asked.id)) if asked else 0
        counts = {"here": len(here), "follow": sum(one.follows for one in here), "answers": answers}
        return {"version": pulse.version, "activity": pulse.activity, **counts}

    def _say(self, news: str, desk_news: str) -> None:
        if (news, desk_news) != (self.news, self.desk_news):
            self.news, self.desk_news = news, desk_news
            self._wake()

    def _wake(self) -> None:
        waiting, self.changed = self.changed, asyncio.Event()
        waiting.set()

    async def stream(self, member: str, is_desk: bool) -> AsyncIterator[str]:
        """The events of one browser."""
        self.members[member] += bool(member)
        self.desks += is_desk
        try:
            yield f"retry: {RETRY_MS}\n\n"
            sent = "{}"
            while True:
                changed = self.changed
                news = self.desk_news if is_desk else self.news
                if not self.is_open:
                    yield "event: closed\ndata: {}\n\n"
                    return
                if news != sent:
                    yield f"data: {news}\n\n"
                    sent = news
                try:
                    await asyncio.wait_for(changed.wait(), ALIVE)
                except TimeoutError:
                    yield "event: alive\ndata: {}\n\n"
        finally:
            self.members[member] -= bool(member)
            self.desks -= is_desk
            self.members += Counter()  # forgets who has no stream left


class RoomEvents:
    """ASGI middleware: GET /_rooms/CODE?member=ID&desk=1 is answered with a stream; all else goes to `app`.

    current_store: gives the store of this process, or None where rooms are switched off; base_url: the path that the
    app lies under. An event has the room's version; on the teacher's desk also how many are here, follow and answered.
    "away" says that the store does not answer; the event "closed" ends the stream; "alive" says that all is well.
    """

    def __init__(self, app: ASGIApp, current_store: Callable[[], RoomStore | None], base_url: str = "") -> None:
        self._app, self._current_store = app, current_store
        self._prefix = "/".join(["", *filter(None, base_url.split("/"))]) + PLACE
        self._watches: dict[str, _Watch] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        store = self._current_store()
        code = read_code(request.url.path.removeprefix(self._prefix))
        if store is None or not code or request.method != "GET":
            return Response(status_code=404)
        address = request.client.host if request.client else ""
        if not MISSED.allows(address, code):
            return Response("Too many unknown codes: wait a minute.", status_code=429)
        try:
            if await asyncio.to_thread(store.find, code) is None:
                MISSED.note(address)
                return Response(status_code=204)  # a browser does not try again
            MISSED.found(address, code)
        except StoreUnavailable:
            return Response(status_code=503)
        watch = self._watches.get(code) or _Watch(store, code)
        self._watches[code] = watch
        if watch.streams >= STREAMS:
            return Response("This room has as many connections as it allows.", status_code=503)
        watch.streams += 1
        member, is_desk = request.query_params.get("member", "")[:64], request.query_params.get("desk") == "1"
        return StreamingResponse(
            self._counted(watch, member, is_desk),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _counted(self, watch: _Watch, member: str, is_desk: bool) -> AsyncIterator[str]:
        try:
            async for event in watch.stream(member, is_desk):
                yield event
        finally:
            watch.streams -= 1
            if not watch.streams or not watch.is_open:
                watch.task.cancel()
                with contextlib.suppress(ValueError):  # another stream of it has ended
                    _WATCHES.remove(watch)
                if self._watches.get(watch.code) is watch:
                    del self._watches[watch.code]
