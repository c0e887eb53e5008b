"""Back and Forward while the model computes: no answer writes its address over the entry that one has moved to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from encoder.drawing.javascript import joined
from pages.state import url_state
from tests.pages.test_reconnect import run
from tests.pages.test_url_state import registered

MOVES = Path(url_state.__file__).parents[1] / "core" / "frame" / "moves.js"

#: A browser with its history; Streamlit's client, as far as it reads and writes addresses; a server that computes, and
#: reads and writes them as url_state.py does. A view is a page and one value, x.
WORLD = """
let [entries, index, listeners, wire, pending, running] = [];
const session = {};
const fake = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
const at = (part) => new URL(entries[index], "http://a.test")[part];
fake("location", { get href() { return at("href"); }, get pathname() { return at("pathname"); },
  get search() { return at("search"); }, get hash() { return at("hash"); } });
fake("window", { addEventListener(name, call, how) {
  listeners.push({ name, call, capture: how === true, once: how?.once });
} });
const short = (url) => String(url).replace("http://a.test", "");
const dispatch = (name) => [true, false].forEach((capture) =>
  listeners.filter((one) => one.name === name && one.capture === capture).forEach((one) => {
    if (one.once) listeners = listeners.filter((other) => other !== one);
    one.call();
  }));

// Streamlit's client.
let client;
function send(request, isMove = false) {
  const moved = knows && window.__encoderscopeMove();
  client.asked++;
  if (isMove) client.moved = client.asked;
  client.heard = false;
  pending = { change: pending?.change, ...request, ...(moved && { query: moved }) };
}
const takes = {
  started() {
    client.heard = true;
    if (client.moved !== client.asked) client.moved = null;
  },
  page(page) {
    client.page = page;
    const query = client.query || location.search.slice(1);
    if (location.pathname !== page) history.pushState({}, "", page + (query && `?${query}`));
  },
  address(query) {
    const url = location.pathname + (query && `?${query}`);
    if (query !== location.search.slice(1)) history[client.moved ? "replaceState" : "pushState"]({}, "", url);
    client.query = query;
  },
  ended(early) {
    if (client.heard && !early) client.moved = null;
  },
};

// The server: a run goes on with each step, and a request that came meanwhile ends it where it sends something.
const say = (what, value) => wire.push([what, value]);
function* compute({ page, query, change }) {
  const asked = new URLSearchParams(query);
  const move = asked.get("move") ?? "";
  say("started");
  if (pending) return;
  if (move) say("address", query);
  yield;
  if (pending) return;
  say("page", page);
  yield;
  asked.delete("move");
  const { written, last } = session;
  const moved = move > last;
  session.last = moved ? move : last;
  const x = asked.get("x");
  if (change !== undefined && !moved) session.x = change;
  else if (x !== null && (moved || x !== written)) session.x = x;
  else if (x === null && (moved || (query && written))) session.x = "";
  session.page = page;
  yield; // the model
  session.written = session.x;
  const wanted = session.x && `x=${session.x}`;
  if (wanted !== query) say("address", wanted);
}
function step() {
  if (!running) {
    if (!pending) return false;
    const request = pending;
    pending = undefined;
    running = compute(request);
  }
  if (running.next().done) {
    running = undefined;
    say("ended", Boolean(pending));
  }
  return true;
}
const deliver = () => wire.length > 0 && (([what, value]) => (takes[what](value), true))(wire.shift());

// What a person does. A number is a way through the history.
function act(what) {
  if (typeof what === "number") {
    if (!(index + what in entries)) return;
    index += what;
    arrived.set(index, entries[index]);
    dispatch("popstate");
    return;
  }
  dispatch("click");
  if (what.startsWith("/")) {
    client.query = "";
    send({ page: what, query: "" });
  } else send({ page: client.page, query: client.query || location.search.slice(1), change: what });
}
let arrived, knows;

// One order of events; returns what is wrong at its end.
function play(acts, random) {
  [entries, index, listeners, wire, pending, running] = [["/heads"], 0, [], [], undefined, undefined];
  Object.assign(session, { x: "", written: "", last: "", page: "/heads" });
  arrived = new Map();
  fake("history", {
    pushState(_state, _title, url) {
      entries = [...entries.slice(0, ++index), short(url)];
      for (const gone of arrived.keys()) if (gone >= index) arrived.delete(gone);
    },
    replaceState(_state, _title, url) { entries[index] = short(url); },
  });
  client = { query: "", page: "/heads", asked: 0, moved: null, heard: true };
  listenToMoves();
  window.addEventListener("popstate", () => {
    client.query = location.search.slice(1);
    send({ page: location.pathname, query: client.query }, true);
  });
  const rest = [...acts];
  while (rest.length) {
    const choice = random();
    if (choice < 0.3) act(rest.shift());
    else if (choice < 0.6) step();
    else deliver();
  }
  while (deliver() || step());
  const wrong = [...arrived].filter(([place, address]) => entries[place] !== address).map(([place]) => entries[place]);
  const shown = session.page + (session.x && `?x=${session.x}`);
  return entries[index] === shown ? wrong : [...wrong, `${entries[index]} shows ${shown}`];
}
function seeded(seed) {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647;
}
// How many of `count` orders end with something wrong. says: whether requests say their moves.
function wrongs(acts, count, says = true) {
  knows = says;
  const found = Array.from({ length: count }, (_, at) => play(acts, seeded(7919 * (at + 1))));
  return found.filter((one) => one.length).length;
}
"""
WAYS = {
    "Back and Forward": ["1", "2", -1, 1, -1],
    "through three entries": ["1", "2", "3", -2, 1, 1, -1],
    "to the address without values": ["1", -1, 1, -1],
    "over pages": ["1", "/norms", "2", -1, -1, 1, 1],
    "a click after Back": ["1", "2", -1, "3", -1],
    "another page after Back": ["1", "2", -1, "/norms", -1, 1],
}


@pytest.fixture(scope="module")
def wrongs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Of each way: orders that end wrong, with the number of each move, and without."""
    says = f"console.log(JSON.stringify({json.dumps(list(WAYS.values()))}.map((acts) => [wrongs(acts, 3000), "
    script = f"{{{joined(MOVES)}globalThis.listenToMoves = listenToMoves}}{WORLD}{says}wrongs(acts, 300, false)])));"
    return dict(zip(WAYS, run(tmp_path_factory.mktemp("moves"), script), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_whatever_the_order_each_entry_keeps_its_address_and_the_last_shows_it(
    way: str, wrongs: dict[str, list[int]]
) -> None:
    with_numbers, without = wrongs[way]
    assert with_numbers == 0
    assert without > 0, "this way has no late answer"


def test_the_mark_of_a_move_is_the_one_that_the_browser_adds() -> None:
    assert f'const MOVE = "{url_state.MOVE}"' in MOVES.read_text(encoding="utf-8")
    assert url_state.MOVE not in registered()
