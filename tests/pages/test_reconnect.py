"""After a reconnect no click is lost: what the browser repeats, and what the server lets through when."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import deno
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.core.server.reconnect import Reconnected

IDS = [f"$$ID-{number:032x}-key" for number in range(3)]


def asks(*clicked: str, text: str = "") -> dict[str, object]:
    message = BackMsg()
    message.rerun_script.page_script_hash = "of an earlier page"
    for one in clicked:
        message.rerun_script.widget_states.widgets.add(id=one, trigger_value=True)
    message.rerun_script.widget_states.widgets.add(id="field", string_value=text)
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def heard(message: dict[str, object]) -> tuple[str, set[str]]:
    """The text of the field, and what is clicked."""
    widgets = BackMsg.FromString(message["bytes"]).rerun_script.widget_states.widgets
    clicked = {one.id for one in widgets if one.WhichOneof("value") == "trigger_value"}
    return next(one.string_value for one in widgets if one.id == "field"), clicked


class Page:
    """An app that hears messages, and draws and ends runs when a test says so."""

    def __init__(self) -> None:
        self.heard: list[dict[str, object]] = []

    async def __call__(self, scope, receive, send) -> None:
        self.send = send
        while (message := await receive())["type"] != "websocket.disconnect":
            self.heard.append(message)

    async def draws(self, *ids: str) -> None:
        for one in ids:
            message = ForwardMsg()
            message.delta.new_element.button.id = one
            await self.send({"type": "websocket.send", "bytes": message.SerializeToString()})

    async def ends(self, how: int = ForwardMsg.FINISHED_SUCCESSFULLY) -> None:
        message = ForwardMsg(script_finished=how)
        await self.send({"type": "websocket.send", "bytes": message.SerializeToString()})


async def said(page: Page, *messages: dict[str, object]):
    """A connection whose browser has said this: how it goes on saying, and the task."""
    queue: asyncio.Queue = asyncio.Queue()
    for one in messages:
        queue.put_nowait(one)

    async def send(message) -> None:
        pass

    task = asyncio.ensure_future(Reconnected(page)({"type": "websocket"}, queue.get, send))
    await settle()
    return queue, task


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_click_after_a_reconnect_waits_until_its_widget_is_drawn() -> None:
    async def whole() -> None:
        page = Page()
        again = {"type": "websocket.receive", "bytes": b"again heads?room=ACD347&head=3"}
        queue, task = await said(page, again, asks(IDS[0], text="a"), asks(IDS[1], text="b"), asks(IDS[2], text="c"))
        assert [heard(one) for one in page.heard] == [("a", set())], "the first run has no clicks"
        state = BackMsg.FromString(page.heard[0]["bytes"]).rerun_script
        assert (state.page_name, state.query_string, state.page_script_hash) == ("heads", "room=ACD347&head=3", "")
        await page.draws(IDS[0], IDS[2])
        await page.ends(ForwardMsg.FINISHED_EARLY_FOR_RERUN)
        await settle()
        assert len(page.heard) == 1
        await page.ends()
        await settle()
        assert [heard(one) for one in page.heard[1:]] == [("c", {IDS[2]})]
        await page.draws(IDS[1])
        await settle()
        assert len(page.heard) == 2, "a run is not interrupted"
        await page.ends()
        await settle()
        assert [heard(one) for one in page.heard[2:]] == [("b", {IDS[1]})]
        queue.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(task, 5)

    asyncio.run(whole())


def test_other_connections_are_left_alone() -> None:
    async def whole() -> None:
        page = Page()
        sent = [{"type": "websocket.connect"}, asks(IDS[0], text="a"), asks(IDS[1], text="b")]
        queue, task = await said(page, *sent)
        assert page.heard == sent
        queue.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(task, 5)
        page = Page()
        broken = {"type": "websocket.receive", "bytes": b"\xff\xff"}
        again = {"type": "websocket.receive", "bytes": b"again heads"}
        queue, task = await said(page, again, broken, asks(text="a"))
        assert page.heard[0] == broken
        assert heard(page.heard[1]) == ("a", set())
        queue.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(task, 5)

    asyncio.run(whole())


#: A socket, and what a page says over three connections.
BROWSER = """
const wire = [];
globalThis.window = globalThis;
globalThis.location = { pathname: "/x/heads", search: "?head=3" };
globalThis.__streamlit = { BACKEND_BASE_URL: "http://a.test/x/" };
globalThis.WebSocket = class {
  constructor(url) { this.url = url; this.on = {}; }
  addEventListener(name, call) { (this.on[name] ??= []).push(call); }
  tell(name, data) { for (const call of this.on[name] ?? []) call({ data }); }
  send(data) { wire.push(data.length === 2 ? data[1] : new TextDecoder().decode(data)); }
};
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
asks(first, 2);
runs(first, STARTED, EARLY, STARTED, DRAWN, ENDED);
first.send(new Uint8Array([0x60, 9]));
asks(first, 3);
runs(first, ENDED); // of the run before
new window.WebSocket("ws://a.test/x/_stcore/stream"); // nobody answers
const second = connect();
runs(second, STARTED, DRAWN);
asks(second, 4);
runs(second, STARTED, ENDED);
connect();
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


def test_a_browser_repeats_what_no_run_has_answered(tmp_path: Path) -> None:
    script = tmp_path / "page.js"
    own = Path(__file__).parents[2] / "pages/core/server/reconnect.js"
    script.write_text(f"{BROWSER}{messages()}{{{own.read_text(encoding='utf-8')}}}{SAYS}", encoding="utf-8")
    done = subprocess.run(
        [deno.find_deno_bin(), "run", "--no-remote", "--no-config", "--no-prompt", str(script)],
        env={**os.environ, "DENO_DIR": str(tmp_path / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    address = "again heads?head=3"
    assert json.loads(done.stdout) == [1, 2, 9, 3, address, 2, 3, 4, address, 4]
