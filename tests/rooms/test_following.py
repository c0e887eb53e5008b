"""One order for all: two teachers and two followers whose requests come in any order, without Streamlit's runtime."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest
import streamlit as st

from pages.base.work.page_slots import Slots
from pages.core.frame import frame
from pages.state import links, url_state
from pages.state.url_state import state
from pages.teaching.params import RoomParams
from pages.teaching.rooms import Member, MemoryStore, Room, follow, new_room, session
from pages.teaching.rooms.session import Seat

PAGES = ("heads", "norms", "positions", "interventions", "model")
KEY = "key"


class Parameters(dict[str, str]):
    """The values of an address, as Streamlit gives them to a run."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, values: dict[str, str]) -> None:
        self.clear()
        self.update(values)


@pytest.fixture(autouse=True, scope="module")
def _values() -> None:
    """As the app before its first run: no value is registered while one takes."""
    frame.import_params()


class Browser:
    """A browser of a class and its session: what it asks for, and a run in pieces, between which others run.

    page, query: what it has drawn, which its next request names; version: of the room, as its line says; said: messages
    that are on their way to it.
    """

    def __init__(self, room: Room, seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
        self.code, self.seat, self.monkeypatch = room.code, seat, monkeypatch
        self.session: dict[str, object] = {}
        self.page, self.query, self.version = "heads", Parameters(), 0
        self.waits = self.clicks = False  # for the answer to a request; to a click
        self.run: Iterator[None] | None = None
        self.said: deque[Callable[[], None]] = deque()
        self.lost: list[str] = []
        monkeypatch.setattr(st, "session_state", self.session)
        monkeypatch.setattr(st, "query_params", self.query)
        state.begin()
        state.put(RoomParams.code, room.code)
        state.end()
        self.session[session._SEAT] = seat
        if seat.member:
            session.current_store().join(room.code, Member(seat.member))
        self.ask("heads", self.query)
        while self.step():
            pass

    def ask(self, page: str, query: Parameters, *, clicked: bool = False, news: bool = False) -> None:
        """A request, which interrupts the run before. clicked: a person opens a page; its name has no values."""
        self.waits, self.clicks = True, clicked
        if clicked:
            self.query = query
        self.run = self._run(page, Parameters(query), clicked, news)

    def step(self) -> bool:
        """The next piece of the run, or else the next message; False: there is neither."""
        if self.run is None and not self.said:
            return False
        if self.run is None:
            self.said.popleft()()
            return True
        self.monkeypatch.setattr(st, "session_state", self.session)
        try:
            next(self.run)
        except StopIteration:
            self.run = None
        return True

    def _run(self, page: str, query: Parameters, clicked: bool, news: bool) -> Iterator[None]:
        """A run of the app, as app.py and the frame make it."""
        asked = page
        self.monkeypatch.setattr(st, "query_params", query)
        if news:
            follow.hear_news()
        while True:
            follow.before(page)
            if (later := links.opened_later()) is None:
                break
            page = later
            query.clear()
        self.said.append(lambda: setattr(self, "page", page))
        yield
        self.monkeypatch.setattr(st, "query_params", query)
        state.begin()
        follow.note_own_way(page)
        yield
        self.monkeypatch.setattr(st, "query_params", query)
        state.end()
        follow.after(page)
        now = session.room()
        assert now
        if clicked and now.view["page"] != asked:
            self.lost.append(asked)
        self.said.append(lambda: self._drawn(query, now.version))

    def _drawn(self, query: Parameters, version: int) -> None:
        self.query, self.version = query, version
        if self.run is None and len(self.said) == 0:
            self.waits = self.clicks = False


@pytest.mark.slow("two teachers race in every order")
@pytest.mark.parametrize("part", range(8))
def test_of_two_teachers_the_last_one_wins_in_any_order_of_requests(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "ORDER", Slots(at_once=100))
    monkeypatch.setattr(url_state, "get_script_run_ctx", lambda: None)
    for seed in range(50 * part, 50 * part + 50):
        chance, store = random.Random(seed), MemoryStore()
        monkeypatch.setattr(session, "current_store", lambda store=store: store)
        room = new_room(KEY, view={"page": "heads"})
        assert store.open(room)
        seats = [Seat(room.code, "", KEY), Seat(room.code, "", KEY), Seat(room.code, "ada"), Seat(room.code, "eve")]
        browsers = [Browser(room, seat, monkeypatch) for seat in seats]
        teachers, order, left = browsers[:2], [], 6
        while left:
            one = chance.choice(browsers)
            act = chance.random()
            if act < 0.15 and one in teachers:
                here = one.page, one.session.get(follow._PAGE), one.session.get(follow._APPLIES, {}).get("page")
                order.append(chance.choice([page for page in PAGES if page not in here]))
                one.ask(order[-1], Parameters(), clicked=True)
                left -= 1
            elif act < 0.25 and one.query:
                one.ask(one.page, one.query)  # an event of a part of a drawn page, which may be left meanwhile
            else:
                listen(one, store, chance)
        for _ in range(2_000):
            for one in browsers:
                listen(one, store, chance)
            if all(has_nothing_to_do(one, store) for one in browsers):
                break
        now = store.find(room.code)
        assert now
        shown = [one.page for one in browsers]
        assert set(shown) == {now.view["page"]}, (seed, shown, dict(now.view))
        assert now.version - 1 <= len(order), (seed, "nobody publishes without a click")
        assert not [one for browser in teachers for one in browser.lost], seed
        assert now.view["page"] in order
        assert all(one.session[session._SEAT].follows for one in browsers)  # type: ignore[attr-defined]


def has_nothing_to_do(one: Browser, store: MemoryStore) -> bool:
    """Whether `listen` changes nothing any more."""
    has_news = store.pulse(one.code).version > one.version
    return one.run is None and not one.said and (one.waits or not has_news)


def listen(one: Browser, store: MemoryStore, chance: random.Random) -> None:
    """What a browser does by itself: it draws, and asks for news that it has not drawn when it waits for nothing."""
    if chance.random() < 0.5 and one.step():
        return
    if not one.waits and store.pulse(one.code).version > one.version:
        one.ask(one.page, one.query, news=True)


@pytest.mark.parametrize("news", [True, False])
def test_only_a_change_of_her_own_leads_a_follower_away(news: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With news, the contents of her browser may be older than what her session has applied."""
    monkeypatch.setattr(follow, "ORDER", Slots(at_once=100))
    monkeypatch.setattr(url_state, "get_script_run_ctx", lambda: None)
    store, room = MemoryStore(), new_room(KEY, view={"page": "heads"})
    monkeypatch.setattr(session, "current_store", lambda: store)
    assert store.open(room)
    one = Browser(room, Seat(room.code, "ada"), monkeypatch)
    one.session[follow._SHOWN] = {"page": "heads", "layer": "2"}
    if news:
        follow.hear_news()
    follow.note_own_way("heads")
    seat = one.session[session._SEAT]
    assert isinstance(seat, Seat)
    assert seat.follows == news


@pytest.mark.parametrize("key", ["", KEY], ids=["student", "teacher"])
@pytest.mark.parametrize("later", [False, True])
def test_what_a_browser_asked_while_it_reconnected_leads_nobody_away(
    key: str, later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit's client then asks for the first page, with the values of the address. Later it is a person's Back."""
    monkeypatch.setattr(follow, "ORDER", Slots(at_once=100))
    monkeypatch.setattr(url_state, "get_script_run_ctx", lambda: None)
    store, room = MemoryStore(), new_room(KEY, view={"page": "heads"})
    monkeypatch.setattr(session, "current_store", lambda: store)
    assert store.open(room)
    one = Browser(room, Seat(room.code, "" if key else "ada", key), monkeypatch)
    if later:
        now = follow.time.monotonic()
        monkeypatch.setattr(follow.time, "monotonic", lambda: now + 2 * follow.UNSEEN)
    one.ask("model", one.query)
    while one.step():
        pass
    seat, now = one.session[session._SEAT], store.find(room.code)
    assert isinstance(seat, Seat)
    assert now
    assert (one.page, seat.follows or bool(key)) == (("model", bool(key)) if later else ("heads", True))
    assert now.view["page"] == ("model" if later and key else "heads")
