"""Messages of a run reach the browser in groups.

A page has about 70 messages. Streamlit 1.67 wakes the server's event loop twice for each, waits for a turn of the loop
after each, and hands each to the system by itself: five calls of the system, and as many changes between threads. Here
the script's messages wait some milliseconds until the loop takes all of them, and a group is one write of the socket.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.web.server.starlette import starlette_server
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

#: Seconds for which a message waits for the next ones: about a run. The end of a run waits for nothing.
WAIT = 0.02
#: Events of a run that goes on.
_GO_ON = (ScriptRunnerEvent.SCRIPT_STARTED, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG)
#: Bytes that wait for the end of a turn of the loop; more are written at once, so that a slow browser is noticed.
MOST_WAITING = 65_536


class Calls:
    """Calls from other threads, run in a loop in their order; the loop is woken once or twice for all that wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []
        self._is_woken = False
        self._lock = threading.Lock()

    def soon(self, call: Callable[[], None], *, at_once: bool = True) -> None:
        """Run a call in the loop, `at_once` or in WAIT seconds. Raises RuntimeError if the loop is closed."""
        with self._lock:
            self._waiting.append(call)
            is_first, wakes = len(self._waiting) == 1, at_once and not self._is_woken
            self._is_woken |= at_once
        try:
            if wakes:
                self._loop.call_soon_threadsafe(self._run)
            elif is_first:
                self._loop.call_soon_threadsafe(self._loop.call_later, WAIT, self._run)
        except RuntimeError:
            with self._lock:
                self._waiting.clear()
                self._is_woken = False
            raise

    def _run(self) -> None:
        with self._lock:
            calls, self._waiting, self._is_woken = self._waiting, [], False
        for number, call in enumerate(calls):
            try:
                call()
            except BaseException:
                for later in calls[number + 1 :]:
                    self._loop.call_soon(later)
                raise


class Group(list[ForwardMsg]):
    """Messages that are sent without a wait between them."""


class JoinedWrites:
    """A transport whose small writes of one turn of the loop are one; everything else is the transport's own."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        self._n_bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write at the end of this turn."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)
        self._n_bytes += len(data)
        if self._n_bytes > MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting, self._n_bytes = self._waiting, [], 0
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))

    def close(self) -> None:
        """Write what waits, then close."""
        self.flush()
        self._transport.close()


class Protocol(WebSocketsSansIOProtocol):
    """Uvicorn's websocket over JoinedWrites."""

    def connection_made(self, transport: Any) -> None:
        """Take the connection."""
        super().connection_made(transport)
        self.transport = JoinedWrites(transport, self.loop)  # type: ignore[assignment]


def begin() -> None:
    """Change Streamlit's delivery; before the server starts. Raises AttributeError for a Streamlit without it."""
    AppSession._on_scriptrunner_event, AppSession._enqueue_forward_msg  # noqa: B018
    handle, call_soon = AppSession._handle_scriptrunner_event_on_event_loop, AppSession._call_soon_on_event_loop
    flush, send = AppSession.flush_browser_queue, Runtime._send_message
    Runtime._enqueued_some_message, starlette_server._get_websocket_protocol  # noqa: B018

    def grouped_event(
        self: AppSession, sender: Any, event: ScriptRunnerEvent, forward_msg: ForwardMsg | None = None, **named: Any
    ) -> None:
        def take() -> None:
            if event is not ScriptRunnerEvent.ENQUEUE_FORWARD_MSG or forward_msg is None:
                handle(self, sender, event, forward_msg, **named)
            elif sender is self._scriptrunner:  # an older run may still be ending
                self._enqueue_forward_msg(forward_msg)

        grouped_call(self, take, at_once=event not in _GO_ON)

    def grouped_call(self: AppSession, callback: Callable[[], None], *, at_once: bool = True) -> None:
        calls = self.__dict__.get("_encoderscope_calls")
        if calls is None:
            calls = self.__dict__.setdefault("_encoderscope_calls", Calls(self._event_loop))
        try:
            calls.soon(callback, at_once=at_once)
        except RuntimeError:
            call_soon(self, callback)  # which knows a closed loop

    def grouped_flush(self: AppSession) -> list[Any]:
        messages = flush(self)
        return [Group(messages)] if len(messages) > 1 else messages

    def send_group(self: Runtime, session: Any, message: Any) -> None:
        for one in message if isinstance(message, Group) else (message,):
            send(self, session, one)

    def wake(self: Runtime) -> None:
        objects = self._get_async_objs()
        try:
            is_loop = asyncio.get_running_loop() is objects.eventloop
        except RuntimeError:
            is_loop = False
        if is_loop and objects.need_send_data.is_set():
            return
        if is_loop:
            objects.need_send_data.set()
        else:
            objects.eventloop.call_soon_threadsafe(objects.need_send_data.set)

    AppSession._on_scriptrunner_event = grouped_event  # type: ignore[method-assign]
    AppSession._call_soon_on_event_loop = grouped_call  # type: ignore[method-assign]
    AppSession.flush_browser_queue = grouped_flush  # type: ignore[method-assign]
    Runtime._send_message = send_group  # type: ignore[method-assign]
    Runtime._enqueued_some_message = wake  # type: ignore[method-assign]
    starlette_server._get_websocket_protocol = lambda: Protocol
