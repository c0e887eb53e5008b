"""An event that reached the server is heard once, whatever the browser sends next."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import StopException

from pages.base.work.whole_callbacks import Waiting, whole
from pages.components import events
from pages.components.button import button


class Session(dict[str, Any]):
    """A session that Streamlit ends once, where it is read next."""

    ends = False

    def get(self, key: str, default: Any = None) -> Any:
        if self.ends:
            self.ends = False
            raise StopException
        return super().get(key, default)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    kept = Session()
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def opened(*ids: int) -> dict[str, Any]:
    return {"grid": [{"event": "open", "layer": number, "head": 0, "id": number} for number in ids]}


def heard_now(session: Session) -> list[int]:
    heard: list[int] = []
    events.tell("grid", "grid", events.grid_event, lambda event: heard.append(event["layer"]))
    return heard


def test_events_that_are_sent_again_are_heard_once_and_in_their_order(session: Session) -> None:
    session["grid"] = opened(1, 2)
    assert heard_now(session) == [1, 2]
    session["grid"] = opened(1, 2, 3)
    assert heard_now(session) == [3]
    assert heard_now(session) == []
    session["grid"] = {"grid": {"event": "open", "layer": 7, "head": 0, "id": 7}}  # a trigger has one event
    assert heard_now(session) == [7]
    assert events.heard("grid") == 7


def test_events_of_several_names_in_one_message_are_heard_in_the_order_of_the_clicks(session: Session) -> None:
    """A drag of the window, then a switch, while the server is busy: the switch must not make the drag an old event."""
    header = {"layers": 2, "heads": 2, "count": 99, "width": 8, "neuronCount": 8}
    names = ("open", "select", "part", "switch", "pan")
    decoders = {name: partial(lambda name, value: events.model_event(name, value, header), name) for name in names}
    session["model"] = {"switch": [{"name": "causal", "on": True, "id": 6}], "pan": [{"first": 5, "id": 5}]}
    heard: list[dict[str, Any]] = []
    for _ in names:  # Streamlit calls back for each name that has changed
        events.tell_all("model", decoders, heard.append)
    assert [event["event"] for event in heard] == ["pan", "switch"]


def test_a_callback_that_streamlit_ends_hears_its_event_first(session: Session) -> None:
    session["grid"] = opened(4)
    session.ends = True
    heard: list[int] = []
    with pytest.raises(StopException):
        events.tell("grid", "grid", events.grid_event, lambda event: heard.append(event["layer"]))
    assert heard == [4]


@pytest.mark.parametrize("value", [None, [], [None], "x", [{"event": "open", "layer": -1, "head": 0, "id": 9}], 3])
def test_anything_else_is_no_event(session: Session, value: object) -> None:
    session["grid"] = {"grid": value}
    assert heard_now(session) == []


def test_a_click_on_a_button_is_done_although_another_request_has_come(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed: list[str] = []

    def press() -> None:
        session.get("seat")  # here Streamlit would end the callback
        pressed.append("shown")

    drawn: dict[str, Any] = {}
    monkeypatch.setattr(st, "button", lambda _, on_click, **look: drawn.update(press=on_click))
    button("Next", "arrow_forward", "next", press)
    session.ends = True
    with pytest.raises(StopException):
        drawn["press"]()
    assert pressed == ["shown"]


def test_what_the_browser_says_waits_while_a_callback_runs(session: Session) -> None:
    came: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        came.append((await receive())["type"])

    async def receive() -> dict[str, str]:
        return {"type": "websocket.receive"}

    async def run() -> None:
        with whole():
            reading = asyncio.create_task(Waiting(app)({"type": "websocket"}, receive, receive))
            await asyncio.sleep(0.05)
            assert came == []
        await asyncio.wait_for(reading, 10)

    asyncio.run(run())
    assert came == ["websocket.receive"]
