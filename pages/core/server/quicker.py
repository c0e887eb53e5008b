"""Makes Streamlit 1.67.0 quicker, and leaves every other version as it is: the app works without this module.

It replaces private parts of Streamlit, and nothing else of the app does. Without it a head or a cell costs the server
1.3 to 1.4 times the work (docs/benchmarks.md).

- Messages of a run reach the browser in groups. A page has about 70. Streamlit wakes the server's event loop twice for
  each, waits for a turn of the loop after each, and hands each to the system by itself. Here the script's messages wait
  some milliseconds until the loop takes all of them, and a group is one write of the socket.
- What a run computes again and again is computed once, or when it is asked for. A selectbox, a text field and a number
  field each ask for all values of the session to find their own (0.35 ms, eight times in a run of Heads), the
  navigation hashes the address of each page three times, a link to a page asks for the current folder, the icon is
  looked for on the disk, the theme is read from the options, and two hundred times a run asks whether it has to end.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streamlit.commands import page_config
from streamlit.elements.widgets import button
from streamlit.navigation import page
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import is_element_id, is_keyed_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web.server.starlette import starlette_server
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

VERSION, SWITCH = "1.67.0", "ENCODERSCOPE_QUICKER"
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


class UserState(Mapping[str, Any]):
    """The values of a session under the keys that a page gave them. A value is looked up when it is asked for."""

    def __init__(self, of: SafeSessionState) -> None:
        self._lock, self._state = of._lock, of._state

    def __getitem__(self, key: str) -> Any:
        if is_element_id(key) or session_state._is_internal_key(key):
            raise KeyError(key)
        with self._lock:
            return self._state[key]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            by_id, keys = self._state._key_id_mapper.id_key_mapping, self._state._keys()
        for key in keys:
            if session_state._is_internal_key(key):
                continue
            if not is_element_id(key):
                yield key
            elif is_keyed_element_id(key) and key in by_id and by_id[key] in self:
                yield by_id[key]

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _kept_theme(populate: Callable[[CustomThemeConfig, str], None]) -> Callable[..., None]:
    """Fill a section of the theme as `populate` did before: the options never change while the server runs."""
    kept: dict[str, CustomThemeConfig] = {}

    def fill(message: CustomThemeConfig, section: str = "theme") -> None:
        if section not in kept:
            made = CustomThemeConfig()
            populate(made, section)
            kept[section] = made
        message.MergeFrom(kept[section])

    return fill


def _asked_seldom(ask: Callable[[ScriptRunner], None]) -> Callable[[ScriptRunner], None]:
    """What a run does between two messages: it ends if it is asked to. Usually nothing asks.

    Streamlit also looks each time for an error of a parallel fragment; the app has no such fragments.
    """

    def check(self: ScriptRunner) -> None:
        if self._requests._state is not ScriptRequestType.CONTINUE:
            ask(self)

    return check


def _deliver_in_groups() -> None:
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


def _look_up_less() -> None:
    asks = ScriptRunner._maybe_handle_execution_control_request
    ScriptRunner._maybe_handle_execution_control_request = _asked_seldom(asks)  # type: ignore[method-assign]
    SafeSessionState.filtered_state = property(UserState)  # type: ignore[method-assign, assignment]
    button.get_main_script_directory = functools.lru_cache(10)(button.get_main_script_directory)
    page.calc_hash = functools.lru_cache(1_000)(page.calc_hash)
    app_session._populate_theme_msg = _kept_theme(app_session._populate_theme_msg)
    page_config._get_favicon_string = functools.lru_cache(10)(page_config._get_favicon_string)  # type: ignore[assignment]


def begin(version: str, environment: Mapping[str, str]) -> bool:
    """Change Streamlit, if it is VERSION and the environment does not switch that off. Returns whether it was changed.

    Raises AttributeError, before it changes anything, for a build of this version without these parts.
    """
    if version != VERSION or environment.get(SWITCH) == "0":
        return False
    for name in ("_on_scriptrunner_event", "_enqueue_forward_msg", "_call_soon_on_event_loop", "flush_browser_queue"):
        getattr(AppSession, name)
    Runtime._enqueued_some_message, page.calc_hash, app_session._populate_theme_msg  # noqa: B018
    _deliver_in_groups()
    _look_up_less()
    return True
