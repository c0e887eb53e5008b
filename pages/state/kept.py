"""What a browser kept for a session that begins, since no address holds it: long texts, and its seat in a room.

The browser says it before the first request of a connection (pages/core/server/reconnect.js). That request gets a token
for it in its address, and the session takes it when it reads the address. The session keeps the seat and `heard`.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import streamlit as st

#: The token's name in an address. No link has it.
TOKEN = "kept"
_SEAT, _HEARD = "_kept_seat", "_kept_heard"
_given: dict[str, Mapping[str, Any]] = {}


def give(said: Mapping[str, Any]) -> str:
    """Keep what a browser said for its session; returns the token, "" for nothing."""
    if not any(said.get(name) for name in ("texts", "seat", "heard")):
        return ""
    token = secrets.token_urlsafe()
    _given[token] = said
    return token


def forget(token: str) -> None:
    """The connection has ended."""
    _given.pop(token, None)


def take(token: str) -> dict[str, str]:
    """Take what a token names, once. Returns the texts by their digests, as the browser says them."""
    said = _given.pop(token, {})
    st.session_state[_SEAT], st.session_state[_HEARD] = _strings(said.get("seat")), said.get("heard")
    return _strings(said.get("texts"))


def seat() -> dict[str, str]:
    """The browser's seat: `code` of the room, and `member` or `key`; each may be missing, and anything."""
    return dict(st.session_state.get(_SEAT, {}))


def heard() -> int:
    """Number of the newest event that an earlier session of this page has handled, 0 without one."""
    number = st.session_state.get(_HEARD)
    return number if isinstance(number, int) else 0


def _strings(said: object) -> dict[str, str]:
    found = said.items() if isinstance(said, Mapping) else ()
    return {name: value for name, value in found if isinstance(value, str)}
