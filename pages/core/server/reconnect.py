"""A connection begins with what its browser kept; after a reconnect the page runs before a click is heard.

reconnect.js says first what it kept (pages/state/kept.py). After a reconnect it repeats the last request whose run had
ended, and when the page has run, those whose run had not. A new session calls no callbacks in its first run, so the
first request runs the page without its clicks. A message that Streamlit cannot read ends the connection.

A request after Back or Forward says the address of its entry and the number of the move (pages/core/frame/moves.js):
what Streamlit's client takes for the address may be that of an answer to the entry before.

A repeated request is older than what the session has shown since. It says what its person changed, not what the browser
had drawn: that could take a student's page away from her class. And it names messages that the browser had: if one of
them is gone, Streamlit's client ends its connection for good, so the server sends them again.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from encoder.drawing.javascript import joined
from pages.state import kept

SCRIPT = "{" + joined(Path(__file__).with_suffix(".js")) + "}"
#: What the first message of a connection says before its JSON. No message of Streamlit begins so.
BEGINS = b"begins "
#: What comes before each request that a browser repeats.
AGAIN = b"again"
#: What comes before each request after Back or Forward that no run has answered, with the address of its entry.
MOVED = b"moved "
#: Bytes of what a browser kept, at most: more than one keeps.
MOST = 20_000_000
#: The code with which a connection ends that says what the protocol does not have (RFC 6455, 7.4.1).
UNREADABLE = 1003


class Reconnected:
    """ASGI middleware: gives the first request of a websocket what the browser kept. All else passes unchanged,
    but for a message that is none of the protocol's: there the visitor has left.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        address: str | None = None
        token, is_first = "", True
        contents: dict[str, WidgetState] = {}  # of the browser's widgets when it asked last

        async def heard() -> Message:
            nonlocal address, token, is_first, contents
            message = await receive()
            if is_first and (content := message.get("bytes") or b"").startswith(BEGINS):
                kept.forget(token)
                said = _said(content.removeprefix(BEGINS))
                token, address = kept.give(said), said.get("address")
                message = await receive()
            if is_again := message.get("bytes") == AGAIN:
                message = await receive()
            if has_moved := (entry := message.get("bytes") or b"").startswith(MOVED):
                message = await receive()
            if message["type"] != "websocket.receive":
                return message
            asked = _read(message.get("bytes"))
            if asked is None:  # Streamlit would log a traceback: such a visitor has left
                return {"type": "websocket.disconnect", "code": UNREADABLE}
            if asked.WhichOneof("type") != "rerun_script":
                return message
            if has_moved:
                asked.rerun_script.query_string = entry.removeprefix(MOVED).decode("utf-8", "replace")
                message = {**message, "bytes": asked.SerializeToString()}
            drawn, contents = contents, contents | _contents(asked) if isinstance(address, str) else {}
            if is_first:
                is_first = False
                return {**message, "bytes": _first(asked, address, token)}
            return {**message, "bytes": _repeated(asked, drawn)} if is_again else message

        try:
            await self._app(scope, heard, send)
        finally:
            kept.forget(token)


def _said(content: bytes) -> dict[str, Any]:
    """What the browser kept; nothing for a message that says nothing."""
    try:
        said = json.loads(content) if len(content) <= MOST else None
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _read(content: bytes | None) -> BackMsg | None:
    """A message of Streamlit's protocol; None for bytes that are none, and for text, which it does not have."""
    try:
        return None if content is None else BackMsg.FromString(content)
    except DecodeError:
        return None


def _is_click(widget: WidgetState) -> bool:
    return (widget.WhichOneof("value") or "").endswith("trigger_value")


def _contents(asked: BackMsg) -> dict[str, WidgetState]:
    """What the browser's widgets held when it asked, by id."""
    return {one.id: one for one in asked.rerun_script.widget_states.widgets if not _is_click(one)}


def _repeated(asked: BackMsg, drawn: Mapping[str, WidgetState]) -> bytes:
    """A request that a reconnected browser repeats, with what it changed. drawn: what its widgets held before."""
    _keep(asked, lambda one: drawn.get(one.id) != one)
    asked.rerun_script.ClearField("cached_message_hashes")
    return asked.SerializeToString()


def _keep(asked: BackMsg, stays: Callable[[WidgetState], bool]) -> None:
    """Leave of the widgets those that stay."""
    states = asked.rerun_script.widget_states
    kept_ones = [one for one in states.widgets if stays(one)]
    states.CopyFrom(WidgetStates(widgets=kept_ones))


def _first(asked: BackMsg, address: object, token: str) -> bytes:
    """The first request, with the token. address: of the page after a reconnect, where the request has no clicks."""
    state = asked.rerun_script
    if isinstance(address, str):
        state.page_name, _, state.query_string = address.partition("?")
        _keep(asked, lambda one: not _is_click(one))
        for name in ("page_script_hash", "fragment_id", "cached_message_hashes", "is_auto_rerun"):
            state.ClearField(name)
    if token:
        state.query_string = "&".join(filter(None, (state.query_string, f"{kept.TOKEN}={token}")))
    return asked.SerializeToString()
