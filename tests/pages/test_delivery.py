"""Messages in groups: nothing is lost, and everything keeps its order."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.web.server.starlette import starlette_server

from pages.core import delivery
from pages.core.delivery import MOST_WAITING, WAIT, Calls, JoinedWrites


def test_calls_of_a_thread_run_in_their_order_and_wake_the_loop_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    n_woken = 0

    async def listen() -> None:
        nonlocal n_woken
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        wake = loop.call_soon_threadsafe

        def counted(*given: Any) -> Any:
            nonlocal n_woken
            n_woken += 1
            return wake(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        calls = Calls(loop)

        def speak() -> None:
            for number in range(500):
                calls.soon(lambda number=number: heard.append(number), at_once=False)  # type: ignore[misc]
            calls.soon(done.set)

        thread = threading.Thread(target=speak)
        thread.start()
        await asyncio.wait_for(done.wait(), 30)
        thread.join()

    asyncio.run(listen())
    assert heard == list(range(500))
    assert n_woken < 100


def test_a_call_that_fails_leaves_the_others() -> None:
    heard: list[str] = []

    async def listen() -> None:
        loop = asyncio.get_running_loop()
        failed: list[Any] = []
        loop.set_exception_handler(lambda loop, context: failed.append(context["exception"]))
        calls = Calls(loop)
        for one in (lambda: heard.append("before"), lambda: 1 // 0, lambda: heard.append("after")):
            calls.soon(one)  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        assert [type(error) for error in failed] == [ZeroDivisionError]

    asyncio.run(listen())
    assert heard == ["before", "after"]


class Transport:
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_small_writes_of_a_turn_are_one_and_none_is_lost_by_closing() -> None:
    async def write() -> None:
        transport = Transport()
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"a")
        joined.write(b"b")
        assert transport.writes == []
        await asyncio.sleep(0)
        assert transport.writes == [b"ab"]
        large = bytes(MOST_WAITING + 1)
        joined.write(large)
        assert transport.writes[1:] == [large], "a slow browser is noticed at once"
        joined.write(b"c")
        joined.close()
        joined.write(b"d")
        await asyncio.sleep(0)
        assert transport.writes[2:] == [b"c"]
        assert joined.closed

    asyncio.run(write())


def message(number: int) -> ForwardMsg:
    return ForwardMsg(hash=str(number))


def test_messages_reach_the_queue_as_streamlit_hands_them_over(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = (
        (AppSession, "_on_scriptrunner_event"), (AppSession, "_call_soon_on_event_loop"),
        (AppSession, "flush_browser_queue"), (Runtime, "_send_message"), (Runtime, "_enqueued_some_message"),
        (starlette_server, "_get_websocket_protocol"),
    )  # fmt: skip
    for owner, name in changed:
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back after the test
    delivery.begin()

    async def run() -> None:
        now, before = object(), object()
        session = SimpleNamespace(
            _event_loop=asyncio.get_running_loop(), _scriptrunner=now, _browser_queue=ForwardMsgQueue(),
            _message_enqueued_callback=None, _state="as it was",
        )  # fmt: skip
        session._enqueue_forward_msg = lambda msg: AppSession._enqueue_forward_msg(session, msg)  # type: ignore[arg-type]
        event = ScriptRunnerEvent.ENQUEUE_FORWARD_MSG
        for sender, number in ((now, 1), (before, 2), (now, 3)):
            AppSession._on_scriptrunner_event(session, sender, event, forward_msg=message(number))  # type: ignore[arg-type]
        assert session._browser_queue.is_empty()
        await asyncio.sleep(5 * WAIT)
        # Streamlit's own way does nothing else.
        AppSession._handle_scriptrunner_event_on_event_loop(session, now, event, forward_msg=message(4))  # type: ignore[arg-type]
        AppSession._handle_scriptrunner_event_on_event_loop(session, before, event, forward_msg=message(5))  # type: ignore[arg-type]
        assert [one.hash for one in session._browser_queue.flush()] == ["1", "3", "4"]
        assert session._state == "as it was"

    asyncio.run(run())
