"""After a reconnect the page runs before a click is heard, so that no click is lost with the process that died.

reconnect.js begins such a connection with the page's address, the last message whose run had ended, and the messages
whose run had not. A new session calls no callbacks in its first run. So the first message runs the page without its
clicks. Later ones wait for the end of that run, and a click until its widget has been drawn: a room is joined first.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

SCRIPT = "{" + Path(__file__).with_suffix(".js").read_text(encoding="utf-8") + "}"
#: What the first message of a connection says before the page's address. No message of Streamlit begins so.
AGAIN = b"again "
#: Seconds for which a message waits at most.
MOST = 15.0
#: The part of a widget's id that depends on its key and its options.
_ID = re.compile(r"\$\$ID-[0-9a-f]{32}")
#: A longer message from the server does not say that a run has ended.
_SHORT = 400


class Reconnected:
    """ASGI middleware: sessions that begin again hear clicks after their first run. Others pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        connection = _Connection(receive, send)
        try:
            await self._app(scope, connection.receive, connection.send)
        finally:
            await connection.close()


class _Connection:
    """One websocket. It changes nothing unless the first message says AGAIN."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._address: str | None = None
        self._waits_until: float | None = None
        self._is_first, self._runs = True, True
        self._drawn: set[str] = set()
        self._held: list[Message] = []
        self._changed = asyncio.Event()
        self._next: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        """The next message that the app may hear."""
        if not self._is_first and self._waits_until is None:
            return await self._receive()
        while True:
            if (ready := next(filter(self._may_pass, self._held), None)) is not None:
                self._held.remove(ready)
                self._runs = True
                return ready
            message = await self._arrived()
            if message is None:
                continue
            if message["type"] != "websocket.receive":
                return message
            content = message.get("bytes") or b""
            if self._is_first and content.startswith(AGAIN):
                self._address = content.removeprefix(AGAIN).decode("utf-8", "replace")
                self._waits_until = asyncio.get_running_loop().time() + MOST
                self._is_first = False
                continue
            self._is_first = False
            if self._waits_until is None:
                return message
            if not _asks_for_a_run(message):
                return message
            if self._address is not None:
                first, self._address = _without_clicks(message, self._address), None
                return first
            self._held.append(message)

    async def _arrived(self) -> Message | None:
        """The next message of the browser; None if something else has changed."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._receive())
        changed = asyncio.ensure_future(self._changed.wait())
        left = None if self._waits_until is None else self._waits_until - asyncio.get_running_loop().time()
        try:
            await asyncio.wait(
                {self._next, changed}, timeout=left if left is None else max(0.0, left),
                return_when=asyncio.FIRST_COMPLETED,
            )  # fmt: skip
        finally:
            changed.cancel()
        self._changed.clear()
        if not self._next.done():
            self._end_waiting()
            return None
        message, self._next = self._next.result(), None
        return message

    def _end_waiting(self) -> None:
        if self._waits_until is not None and asyncio.get_running_loop().time() >= self._waits_until:
            self._waits_until = None

    def _may_pass(self, message: Message) -> bool:
        return self._waits_until is None or (not self._runs and _clicked(message) <= self._drawn)

    async def send(self, message: Message) -> None:
        """Send, and note which widgets are drawn."""
        await self._send(message)
        content = message.get("bytes") if self._waits_until is not None else None
        if content:
            self._drawn.update(_ID.findall(content.decode("latin-1")))
            if len(content) < _SHORT and _ends_run(content):
                self._runs = False
                self._changed.set()

    async def close(self) -> None:
        """End what waits for the browser."""
        if self._next is not None:
            self._next.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._next


def _ends_run(content: bytes) -> bool:
    message = ForwardMsg.FromString(content)
    ended = message.WhichOneof("type") == "script_finished"
    return ended and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN


def _asks_for_a_run(message: Message) -> bool:
    return _read(message).WhichOneof("type") == "rerun_script"


def _read(message: Message) -> BackMsg:
    """What the browser says; nothing for bytes that say nothing: Streamlit says what is wrong with them."""
    try:
        return BackMsg.FromString(message.get("bytes") or b"")
    except DecodeError:
        return BackMsg()


def _is_click(kind: str | None) -> bool:
    return (kind or "").endswith("trigger_value")


def _clicked(message: Message) -> set[str]:
    """The ids of the widgets that a message clicks."""
    widgets = _read(message).rerun_script.widget_states.widgets
    return {found for one in widgets if _is_click(one.WhichOneof("value")) for found in _ID.findall(one.id)[:1]}


def _without_clicks(message: Message, address: str) -> Message:
    """A request for a run of the page at this address, with the contents of the browser's widgets."""
    asked = _read(message)
    page, _, query = address.partition("?")
    state = asked.rerun_script
    kept = [one for one in state.widget_states.widgets if not _is_click(one.WhichOneof("value"))]
    del state.widget_states.widgets[:]
    state.widget_states.widgets.extend(kept)
    state.query_string, state.page_name = query, page
    for name in ("page_script_hash", "fragment_id", "cached_message_hashes", "is_auto_rerun"):
        state.ClearField(name)
    return {**message, "bytes": asked.SerializeToString()}
