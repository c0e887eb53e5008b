"""What a connection begins with, and that no click is lost after a reconnect: of the browser, and of the server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import deno
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from encoder.drawing.javascript import joined
from pages.core.server.reconnect import SCRIPT, Reconnected
from pages.state import kept
from tests.pages.apps import visit

TOKEN = re.compile(rb"kept=([\w-]+)")
given: list[dict[str, object]] = []


def asks(*clicked: str, text: str = "", query: str = "") -> dict[str, object]:
    message = BackMsg()
    message.rerun_script.page_script_hash = "of an earlier page"
    message.rerun_script.query_string = query
    for one in clicked:
        message.rerun_script.widget_states.widgets.add(id=one, trigger_value=True)
    message.rerun_script.widget_states.widgets.add(id="field", string_value=text)
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def begins(**said: object) -> dict[str, object]:
    return {"type": "websocket.receive", "bytes": b"begins " + json.dumps(said).encode()}


def heard(*messages: dict[str, object]) -> list[dict[str, object]]:
    """What an app hears of these messages."""
    found, rest = [], [*messages, {"type": "websocket.disconnect"}]

    async def app(_: object, receive: Callable, __: object) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            found.append(message)
            if token := TOKEN.search(message.get("bytes") or b""):
                given.append(dict(kept._given[token[1].decode()]))

    async def receive() -> dict[str, object]:
        return rest.pop(0)

    given.clear()
    asyncio.run(Reconnected(app)({"type": "websocket"}, receive, None))
    assert not kept._given, "nothing is kept after the connection"
    return found


def test_the_first_request_after_a_reconnect_has_no_clicks() -> None:
    again = begins(address="heads?room=ACD347&head=3", heard=17, seat={"code": "ACD347", "member": "m"})
    first, second = heard(again, asks("a", text="x", query="of the page before"), asks("b", text="y"))
    state = BackMsg.FromString(first["bytes"]).rerun_script
    assert [one.id for one in state.widget_states.widgets] == ["field"]
    assert (state.page_name, state.page_script_hash) == ("heads", "")
    assert re.fullmatch("room=ACD347&head=3&kept=[^&]+", state.query_string)
    assert [(one["heard"], one["seat"]["member"]) for one in given] == [(17, "m")]
    assert second == asks("b", text="y")


def test_after_a_long_gap_the_sentence_of_the_address_is_on_every_page() -> None:
    """After two minutes the server has forgotten the session and its widgets; the address names the view."""
    (first,) = heard(begins(address="heads?text=A+quiet+lake&head=3"), asks("a"))
    state = BackMsg.FromString(first["bytes"]).rerun_script
    app = visit(state.page_name, **dict(parse_qsl(state.query_string)))
    for page in ("norms", "positions"):
        assert app.text_area(key="view:text").value == "A quiet lake"
        app.switch_page(f"pages/{page}/page.py").run()
    assert app.text_area(key="view:text").value == "A quiet lake"


def test_a_first_visit_gets_what_the_browser_kept() -> None:
    (first,) = heard(begins(texts={"d": "long"}, seat={}), asks("a", query="kept_text=d"))
    state = BackMsg.FromString(first["bytes"]).rerun_script
    assert len(state.widget_states.widgets) == 2
    assert (state.page_script_hash, state.query_string.partition("&")[0]) == ("of an earlier page", "kept_text=d")
    assert given[0]["texts"] == {"d": "long"}


def test_other_messages_are_left_alone() -> None:
    sent = [{"type": "websocket.connect"}, asks("a", text="a"), asks("b")]
    assert heard(*sent) == sent
    for nothing in (b"begins {", b"begins []", b'begins {"seat": {}, "texts": {}}', b"begins " + b"[" * 100_000):
        said = {"type": "websocket.receive", "bytes": nothing}
        assert heard(said, asks("a")) == [asks("a")]


def test_a_repeated_request_says_what_its_person_changed() -> None:
    """What the browser had drawn may be older than the view that the session shows since."""
    again = {"type": "websocket.receive", "bytes": b"again"}
    _, second, third, fourth = heard(
        begins(address="heads?"), asks("a", text="x"), again, asks("a", text="x"), again, asks(text="y"), asks(text="x")
    )
    changed = [
        [(one.id, one.string_value) for one in BackMsg.FromString(sent["bytes"]).rerun_script.widget_states.widgets]
        for sent in (second, third)
    ]
    assert changed == [[("a", "")], [("field", "y")]]
    assert fourth == asks(text="x"), "it is no repetition"


def test_a_repeated_request_names_no_message_that_the_browser_may_have_lost() -> None:
    """Streamlit's client ends its connection for good over a message that it no longer has."""
    request = BackMsg.FromString(asks("a", text="x")["bytes"])
    request.rerun_script.cached_message_hashes.append("of a message")
    sent = {"type": "websocket.receive", "bytes": request.SerializeToString()}
    again = {"type": "websocket.receive", "bytes": b"again"}
    assert heard(asks("b"), sent, again, sent) == [asks("b"), sent, asks("a", text="x")]


def test_a_request_after_back_or_forward_has_the_address_of_its_entry() -> None:
    """Streamlit's client may say that of an answer to the entry before."""
    moved = {"type": "websocket.receive", "bytes": b"moved layer=4&move=17"}
    sent = heard(asks("a"), moved, asks("b", text="y", query="layer=9"), asks("c", query="layer=9"))
    assert sent == [asks("a"), asks("b", text="y", query="layer=4&move=17"), asks("c", query="layer=9")]


@pytest.mark.parametrize(
    "sent",
    [{"bytes": b"\xff\xff"}, {"bytes": b"\x5a\x03\x0a\x01\xff"}, {"text": "no message of Streamlit"}, begins(heard=3)],
    ids=["no message", "no characters", "a frame of text", "a second beginning"],
)
def test_a_visitor_whose_message_cannot_be_read_has_left(sent: dict[str, object]) -> None:
    """Streamlit would write a traceback into the log for each."""
    assert heard(asks("a"), {"type": "websocket.receive", **sent}, asks("b")) == [asks("a")]


def test_a_session_takes_only_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "st", SimpleNamespace(session_state={}))
    token = kept.give({"texts": {"a": "b", "c": 3}, "seat": {"code": "ACD347", "key": None}, "heard": "x"})
    assert kept.take("guessed") == {}
    assert kept.take(token) == {"a": "b"}
    assert (kept.seat(), kept.heard()) == ({"code": "ACD347"}, 0)
    assert kept.take(token) == {}
    kept.take(kept.give({"texts": 3, "seat": [1], "heard": 5}))
    assert (kept.seat(), kept.heard()) == ({}, 5)


#: A socket, and what a page says over three connections.
BROWSER = """
const wire = [];
globalThis.window = globalThis;
globalThis.location = { pathname: "/x/heads", search: "?head=3", hash: "" };
globalThis.__streamlit = { BACKEND_BASE_URL: "http://a.test/x/" };
globalThis.WebSocket = class {
  constructor(url) { this.url = url; this.on = {}; }
  addEventListener(name, call) { (this.on[name] ??= []).push(call); }
  tell(name, data) { for (const call of this.on[name] ?? []) call({ data }); }
  // The connection ends; what else listens hears it when it is told again.
  ends() { this.tellAll({ type: "close", isTrusted: true, constructor: Ended, stopImmediatePropagation() {} }); }
  tellAll(event) { for (const call of this.on[event.type] ?? []) call(event); }
  dispatchEvent(event) { wire.push(`heard ${event.type}`); this.tellAll(event); }
  send(data) {
    if (data.length === 2) return void wire.push(data[1]);
    const text = new TextDecoder().decode(data);
    if (/^(again$|moved )/.test(text)) return void wire.push(text);
    const said = JSON.parse(text.slice("begins ".length));
    wire.push({ ...said, heard: said.heard > 1e12 });
  }
};
const storage = () => {
  const map = new Map();
  return {
    getItem: (key) => map.get(key) ?? null,
    setItem: (key, value) => void map.set(key, value),
    removeItem: (key) => void map.delete(key),
  };
};
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(globalThis, name, { value: storage(), configurable: true });
}
class Ended { constructor(type) { this.type = type; } }
const classes = new Set();
const classList = {
  contains: (name) => classes.has(name),
  add: (name) => void classes.add(name),
  remove: (name) => void classes.delete(name),
};
const app = { dataset: { testScriptState: "notRunning" } };
globalThis.document = { documentElement: { classList }, querySelector: () => app };
const pointer = {};
globalThis.addEventListener = (name, call) => void (pointer[name] = call);
globalThis.history = { replaceState() { location.hash = ""; } };
const waits = [];
globalThis.setTimeout = (call, ms) => void waits.push([ms, call]);
const wait = (most = 1000) => waits.splice(0).forEach(([ms, call]) => ms > most ? waits.push([ms, call]) : call());
"""
SAYS = """
const connect = () => {
  const one = new window.WebSocket("ws://a.test/x/_stcore/stream");
  one.tell("open");
  return one;
};
const bytes = (text) => Uint8Array.from(text.split(","));
const asks = (socket, number) => socket.send(new Uint8Array([0x5a, number]));
const runs = (socket, ...messages) => messages.forEach((one) => socket.tell("message", bytes(one)));
const first = connect();
asks(first, 1);
runs(first, STARTED, DRAWN, ENDED);
location.search = "?head=4";
asks(first, 2);
runs(first, STARTED, EARLY, STARTED, DRAWN, ENDED);
first.send(new Uint8Array([0x60, 9]));
location.search = "?head=5";
asks(first, 3);
location.pathname = "/x/norms"; // of the page that was asked for
location.search = "";
runs(first, ENDED); // of the run before
new window.WebSocket("ws://a.test/x/_stcore/stream"); // nobody answers
const second = connect();
asks(second, 4); // waits for the first run
runs(second, STARTED, DRAWN);
wait();
runs(second, EARLY, STARTED, ENDED);
classes.add("enc-joins");
wait();
asks(second, 5); // of the room's line
classes.clear();
app.dataset.testScriptState = "running"; // the page has not drawn this run
runs(second, STARTED, ENDED);
wait();
app.dataset.testScriptState = "notRunning";
wait();
wire.push("one by one");
runs(second, STARTED, ENDED); // of 3
wait();
runs(second, STARTED, ENDED); // of 4
wait();
runs(second, STARTED, ENDED); // of 5
wait();
const third = connect();
asks(third, 6);
runs(third, STARTED); // and this run takes long
wait(1e6);
new window.WebSocket("ws://a.test/other").tell("open");
console.log(JSON.stringify(wire));
"""


def messages() -> str:
    """What a server says, as JavaScript."""
    started, drawn = ForwardMsg(hash="of it"), ForwardMsg(hash="another")
    started.new_session.name, started.metadata.cacheable = "x" * 300, True
    drawn.delta.new_element.markdown.body = "0" * 300
    ended, early = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_EARLY_FOR_RERUN)
    said = {"STARTED": started, "DRAWN": drawn} | {
        name: ForwardMsg(script_finished=how) for name, how in (("ENDED", ended), ("EARLY", early))
    }
    return "".join(
        f"const {name} = {json.dumps(','.join(map(str, one.SerializeToString())))};" for name, one in said.items()
    )


def run(tmp_path: Path, script: str) -> object:
    """What a script writes, as JSON."""
    file = tmp_path / "page.js"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [deno.find_deno_bin(), "run", "--no-remote", "--no-config", "--no-prompt", str(file)],
        env={**os.environ, "DENO_DIR": str(tmp_path / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_a_browser_repeats_what_no_run_has_answered(tmp_path: Path) -> None:
    said = run(tmp_path, f"{BROWSER}{messages()}{SCRIPT}{SAYS}")
    new, nothing = {"texts": {}, "seat": {}, "heard": False}, {"texts": {}, "seat": {}, "heard": True}
    before, later = nothing | {"address": "heads?head=5"}, nothing | {"address": "norms?"}
    again = ["again", 3, "one by one", "again", 4, "again", 5]
    assert said == [new, 1, 2, 9, 3, before, 2, 5, *again, later, 5, "again", 6]


BETWEEN = """
const first = connect();
asks(first, 1);
runs(first, STARTED, ENDED);
asks(first, 2); // of the room's line
asks(first, 3); // a click before the browser has heard of that run
runs(first, STARTED, ENDED); // it did not know of the click
runs(first, STARTED);
wait();
first.ends(); // and the process is stopped in the run of the click
wait(); wait();
const second = connect();
runs(second, STARTED, ENDED);
wait();
runs(second, STARTED); // of the first, which takes long
wait(5000); // then the click is sent nevertheless
runs(second, EARLY, STARTED, ENDED); // one run for both
wait();
second.ends();
wait(); wait();
const third = connect();
runs(third, STARTED, ENDED);
wait();
console.log(JSON.stringify(wire.filter((one) => typeof one !== "object")));
"""
PRESSED = """
const first = connect();
asks(first, 1);
runs(first, STARTED, ENDED);
pointer.pointerdown();
first.ends();
wait();
wire.push(classes.has("enc-away"));
pointer.pointerup();
asks(first, 2); // the click, on a socket that sends nothing
wait();
wire.push(classes.has("enc-away"));
wait();
const second = connect();
wire.push(classes.has("enc-away"));
runs(second, STARTED, ENDED);
wait();
console.log(JSON.stringify(wire.filter((one) => typeof one !== "object")));
"""


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        # What each connection sends: the click is repeated once, and never again when a run has answered it.
        (BETWEEN, [1, 2, 3, "heard close", 1, "again", 2, "again", 3, "heard close", 3]),
        # Streamlit hears of the end when the button has come up, and the click is kept.
        (PRESSED, [1, False, 2, True, "heard close", 1, False, "again", 2]),
    ],
    ids=["in the run before", "pressed"],
)
def test_no_click_is_lost_at_the_moment_of_an_end(tmp_path: Path, says: str, expected: list[object]) -> None:
    connects = SAYS[: SAYS.index("const first")]
    assert run(tmp_path, f"{BROWSER}{messages()}{SCRIPT}{connects}{says}") == expected


MOVED = """
const first = connect();
window.__encoderscopeMove = () => "layer=4&move=17";
asks(first, 1);
window.__encoderscopeMove = () => "";
asks(first, 2);
console.log(JSON.stringify(wire.slice(1)));
"""


def test_a_request_says_a_move_that_has_no_answer(tmp_path: Path) -> None:
    connects = SAYS[: SAYS.index("const first")]
    assert run(tmp_path, f"{BROWSER}{messages()}{SCRIPT}{connects}{MOVED}") == ["moved layer=4&move=17", 1, 2]


LATE = """
const first = connect();
asks(first, 1);
runs(first, STARTED, ENDED);
asks(first, 2); // and the process ends
const second = connect();
classes.add("enc-joins"); // the room store is away, too
runs(second, STARTED, ENDED);
for (let seconds = 0; seconds < 60; seconds += 15) wait(1e6);
wire.push("the store is back", Date.now() - window.__encoderscopeAsked() < 60_000);
classes.clear();
runs(second, STARTED, ENDED);
wait();
runs(second, STARTED, ENDED);
console.log(JSON.stringify([...wire, window.__encoderscopeAsked()]));
"""


def test_a_click_waits_for_the_room_store_however_long_it_is_away(tmp_path: Path) -> None:
    says = SAYS[: SAYS.index("const first")]
    said = run(tmp_path, f"{BROWSER}{messages()}{SCRIPT}{says}{LATE}")
    new = {"texts": {}, "seat": {}, "heard": False}
    again = new | {"heard": True, "address": "heads?head=3"}
    assert said == [new, 1, 2, again, 1, "the store is back", True, "again", 2, 0]


KEEPS = """
const own = { member: "own" };
keepText("d", "long");
for (let n = 0; n < 9; n++) keepText(`d${n}`, `long ${n}`);
const found = [Object.values(texts())];
keepSeat("AAA", own);
found.push(seat("heads", "AAA"), seat("classroom", ""), seat("classroom", "BBB"), seat("heads", ""));
sessionStorage = storage(); // another tab
found.push(seat("heads", "AAA"), seat("classroom", ""), seat("classroom", "AAA"));
keepSeat("AAA", { member: "of another student" });
found.push(seat("classroom", ""));
keepSeat("AAA", own);
forgetSeat();
keepSeat("BBB", { key: "k" });
sessionStorage = storage();
found.push(seat("classroom", ""), seat("heads", "BBB"));
location.hash = "#teach=guess";
found.push(seat("heads", "CCC"), location.hash, Object.keys(JSON.parse(localStorage.getItem("encoderscope:rooms"))));
localStorage = sessionStorage = { getItem() { throw 1; }, setItem() { throw 1; } };
keepText("d", "long");
keepSeat("AAA", own);
found.push(texts(), seat("heads", "AAA"));
console.log(JSON.stringify(found));
"""


def test_a_browser_keeps_texts_and_seats(tmp_path: Path) -> None:
    module = joined(Path(__file__).parents[2] / "pages/components/kept.js")
    browser = BROWSER.replace("{ value: storage(), configurable: true }", "{ value: storage(), writable: true }")
    own, nothing = {"code": "AAA", "member": "own"}, {}
    assert run(tmp_path, browser + module + KEEPS) == [
        [f"long {n}" for n in range(1, 9)],
        own,
        own,
        nothing,
        nothing,
        own,
        own,
        nothing,
        nothing,
        nothing,
        {"code": "BBB", "key": "k"},
        {"code": "CCC", "key": "guess"},
        "",
        ["BBB"],
        {},
        nothing,
    ]
