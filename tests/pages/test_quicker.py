"""What is quicker with Streamlit 1.67.0 does what Streamlit does, and any other version stays as it is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import RerunData, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web.server.starlette import starlette_server

from pages.core.server import quicker
from pages.core.server.quicker import MOST_WAITING, WAIT, Calls, JoinedWrites
from tests.conftest import collect_complaints, settle, wait_for_query
from tests.pages.apps import visit


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
    quicker._deliver_in_groups()

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


@pytest.mark.parametrize("ask", [ScriptRequests.request_stop, lambda requests: requests.request_rerun(RerunData())])
def test_a_run_that_is_asked_to_end_asks_what_for(ask: Any) -> None:
    heard: list[Any] = []
    check = quicker._asked_seldom(heard.append)
    run: Any = SimpleNamespace(_requests=ScriptRequests())
    check(run)
    assert not heard
    ask(run._requests)
    check(run)
    assert heard == [run]
    assert run._requests.on_scriptrunner_yield() is not None


def test_the_session_tells_its_values_one_by_one_as_streamlit_tells_all() -> None:
    told = quicker.UserState(visit("heads").session_state._state)
    all_at_once = SafeSessionState.filtered_state.fget(told)  # type: ignore[attr-defined]
    assert set(told) == set(all_at_once)
    assert {"view:text", "view:layer", "hide-special"} <= set(told)
    assert {key: told[key] for key in told if key.startswith("view:")} == {
        key: value for key, value in all_at_once.items() if key.startswith("view:")
    }
    assert "no such key" not in told


@pytest.mark.parametrize(
    ("version", "environment"), [("1.67.1", {}), ("1.68.0", {}), ("1.67.0", {quicker.SWITCH: "0"})]
)
def test_any_other_version_stays_as_it_is(version: str, environment: dict[str, str]) -> None:
    before = AppSession._on_scriptrunner_event, SafeSessionState.filtered_state
    assert not quicker.begin(version, environment)
    assert before == (AppSession._on_scriptrunner_event, SafeSessionState.filtered_state)


def test_a_name_that_is_gone_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(AppSession, "flush_browser_queue")
    before = AppSession._on_scriptrunner_event
    with pytest.raises(AttributeError):
        quicker.begin(quicker.VERSION, {})
    assert AppSession._on_scriptrunner_event is before


@pytest.mark.browser
def test_the_app_works_without_it(serve: Callable[..., Any], browser: Any) -> None:
    with serve(**{quicker.SWITCH: "0"}) as server:
        page = browser.new_page()
        complaints: list[str] = []
        collect_complaints(page, server.url, complaints)
        page.goto(f"{server.url}/heads?layer=0&head=0")
        settle(page)
        grid = page.locator('canvas[aria-roledescription="grid of attention maps"]')
        box = grid.bounding_box()
        grid.click(position={"x": box["width"] - 20, "y": box["height"] - 20})
        wait_for_query(page, layer="5", head="11")
        page.get_by_role("heading", name="L5 H11").wait_for()
        page.context.close()
        assert not complaints
        assert not server.log()
