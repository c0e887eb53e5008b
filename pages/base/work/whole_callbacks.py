"""A callback of a component or a button runs to its end, although the browser has sent another message.

For such a message Streamlit ends a callback where it next reads the session's state, and what it had not done yet is
lost. So a message waits while a callback runs; one that came just before it is heard when the callback ends.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Seconds for which a message waits at most, and between two looks.
MOST, LOOK = 0.5, 0.002
_lock = threading.Lock()
_running = 0


@contextmanager
def whole() -> Iterator[None]:
    """Inside, a callback changes the session."""
    global _running
    with _lock:
        _running += 1
    try:
        # Streamlit's exception for an earlier message comes here, before anything is changed, and goes on at the end.
        try:
            st.session_state.get("_")
        finally:
            yield
    finally:
        with _lock:
            _running -= 1


class Waiting:
    """ASGI middleware: what a browser says by a websocket waits while callbacks run, of any session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return

        async def later() -> Message:
            message = await receive()
            ends = asyncio.get_running_loop().time() + MOST
            while _running and asyncio.get_running_loop().time() < ends:
                await asyncio.sleep(LOOK)
            return message

        await self._app(scope, later, send)
