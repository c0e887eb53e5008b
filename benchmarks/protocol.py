"""A visitor without a browser, which uses Streamlit's protocol over a websocket as its frontend does.

Thirty Chromiums on the server's own two cores would measure Chromium. A session here sends what a real browser sent
(`Template`), changes one value, and reads every message up to the end of the run; like the frontend it keeps
large messages by their hash, so that the server may answer with a reference.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

#: The end of a run that another one follows.
EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN
#: The frontend forgets a cached message after this many runs without it.
KEPT_RUNS = 3
#: The longest run, usually.
RUN_SECONDS = 120
#: The id under which the events of a component arrive.
EVENTS = re.compile(r"\$\$STREAMLIT_INTERNAL_KEY_(.+)__events")


@dataclass(frozen=True)
class Template:
    """What a real browser sends: its newest complete request to run the script.

    components: key -> id of the components whose events it sent.
    """

    message: bytes
    components: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_frames(cls, frames: list[bytes]) -> Template:
        """Of the frames that a browser sent, the one with most widgets. Raises ValueError if none asks for a run."""
        runs, components = [], {}
        for frame in frames:
            if frame.startswith(b"begins "):  # what the browser kept, see pages/core/server/reconnect.js
                continue
            message = BackMsg.FromString(frame)
            if message.WhichOneof("type") == "rerun_script":
                widgets = message.rerun_script.widget_states.widgets
                runs.append((len(widgets), frame))
                for found in filter(None, (EVENTS.fullmatch(widget.id) for widget in widgets)):
                    components[found[1].rpartition("-")[2]] = found[1]
                states = (widget.id for widget in widgets if widget.WhichOneof("value") == "json_value")
                components |= {name.rpartition("-")[2]: name for name in states}
        if not runs:
            raise ValueError("the browser sent no request to run the script")
        return cls(max(runs, key=lambda run: run[0])[1], components)

    def request(self) -> BackMsg:
        """A copy without the values of one browser or one moment."""
        message = BackMsg.FromString(self.message)
        state = message.rerun_script
        for name in ("cached_message_hashes", "fragment_id"):
            state.ClearField(name)
        widgets = state.widget_states.widgets
        moments = ("trigger_value", "json_value")
        kept = [widget for widget in widgets if not (widget.WhichOneof("value") or "").endswith(moments)]
        del state.widget_states.widgets[:]
        state.widget_states.widgets.extend(kept)
        return message


@dataclass(frozen=True)
class Run:
    """The answer to one action: seconds to the end of the script, and bytes."""

    seconds: float
    received: int


class Session:
    """One visitor. Use as an async context manager. run_seconds: the longest run."""

    run_seconds: float = RUN_SECONDS

    def __init__(self, url: str, template: Template, query: str) -> None:
        parts = urlsplit(url)
        self.url = f"ws://{parts.netloc}/_stcore/stream"
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.template = template
        self.query = query
        self.widgets: dict[str, Any] = {}
        self.known: dict[str, int] = {}  # hash of a kept message -> the run that last used it
        self.parts: dict[str, str] = {}  # id of a component -> the only part of the page that its events run
        self.headers: dict[str, str] = {}  # of the request that opens the websocket
        self.runs = 0

    async def __aenter__(self) -> Session:
        from websockets.asyncio.client import connect

        self.socket = await connect(
            self.url,
            origin=self.origin,
            additional_headers=self.headers,
            subprotocols=["streamlit"],
            max_size=None,
            compression=None,
            ping_interval=None,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()

    async def open(self) -> Run:
        """The first run, as a browser asks for it before it has any widget."""
        message = self.template.request()
        del message.rerun_script.widget_states.widgets[:]
        message.rerun_script.query_string = self.query
        run = await self._send(message)
        for widget in self.template.request().rerun_script.widget_states.widgets:
            self.widgets[widget.id] = widget
        # This visitor's link has other values than the template's browser.
        for name, values in parse_qs(self.query).items():
            self._put(name, values[0])
        return run

    async def type_text(self, text: str) -> Run:
        """Another sentence, as Enter in its box sends it."""
        self._put("text", text)
        return await self._rerun(None)

    async def open_head(self, layer: int, head: int) -> Run:
        """A click on a head in the grid."""
        event = {"event": "open", "layer": layer, "head": head, "shift": False, "id": time.time_ns() // 1_000_000}
        return await self._tell("grid", "grid", event)

    async def select_cell(self, i: int, j: int) -> Run:
        """A click on a cell of the large map."""
        value = {"axis": "cell", "i": i, "j": j, "trace": 0, "shift": False, "id": time.time_ns() // 1_000_000}
        return await self._tell("map", "click", value)

    def heard(self, message: ForwardMsg) -> None:
        """A message of a run, for visitors that learn from the page."""

    def _put(self, name: str, value: str) -> None:
        for widget_id, widget in self.widgets.items():
            if widget_id.endswith(f"view:{name}"):
                kind = widget.WhichOneof("value")
                setattr(widget, kind, type(getattr(widget, kind))(value))

    async def _tell(self, key: str, name: str, event: dict[str, Any]) -> Run:
        """An event in a component's state, as `View.send` of encoder/drawing/shared.js puts it there."""
        base = self._component(key)
        self.widgets[base] = WidgetState(id=base, json_value=json.dumps({name: [event]}))
        return await self._rerun(None, self.parts.get(base, ""))

    async def _trigger(self, key: str, payload: dict[str, Any]) -> Run:
        name = f"$$STREAMLIT_INTERNAL_KEY_{self._component(key)}__events"
        return await self._rerun((name, json.dumps([payload])))

    def _component(self, key: str) -> str:
        if key not in self.template.components:
            raise LookupError(f"the browser sent no event of the component {key!r}")
        return self.template.components[key]

    async def _rerun(self, trigger: tuple[str, str] | None, part: str = "") -> Run:
        message = self.template.request()
        state = message.rerun_script
        state.fragment_id = part
        del state.widget_states.widgets[:]
        state.widget_states.widgets.extend(self.widgets.values())
        if trigger is not None:
            state.widget_states.widgets.add(id=trigger[0], json_trigger_value=trigger[1])
        state.query_string = self.query
        state.cached_message_hashes.extend(self.known)
        return await self._send(message)

    async def _send(self, message: BackMsg) -> Run:
        """Send, and read up to the end of the run.

        Raises RuntimeError for an exception on the page, and TimeoutError for no end within `run_seconds`.
        """
        self.runs += 1
        began = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        received = await self._hear()
        return Run(time.perf_counter() - began, received)

    async def _hear(self) -> int:
        """Read up to the end of a run; returns the bytes. Raises as `_send`.

        What is still to be read of a run before it, which was left early, is not its end.
        """
        received, has_begun = 0, False
        async with asyncio.timeout(self.run_seconds):
            while True:
                frame = await self.socket.recv()
                received += len(frame)
                answer = ForwardMsg.FromString(frame)
                kind = answer.WhichOneof("type")
                self.heard(answer)
                if kind == "ref_hash":
                    self.known[answer.ref_hash] = self.runs
                elif answer.metadata.cacheable:
                    self.known[answer.hash] = self.runs
                if kind == "delta" and answer.delta.new_element.WhichOneof("type") == "bidi_component":
                    self.parts[answer.delta.new_element.bidi_component.id] = answer.delta.fragment_id
                has_begun = has_begun or kind == "new_session"
                if kind == "page_info_changed":
                    self.query = answer.page_info_changed.query_string
                elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                    raise RuntimeError(f"an exception on the page: {answer.delta.new_element.exception.message}")
                elif kind == "script_finished" and has_begun and answer.script_finished != EARLY:
                    break
        self.known = {name: run for name, run in self.known.items() if run > self.runs - KEPT_RUNS}
        return received
