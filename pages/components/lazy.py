"""Closed parts of a page, drawn only when somebody opens them.

A third of a page's elements lie in closed expanders. Until one is open, it costs neither the server nor the browser
anything.
"""

from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.state.bare import is_bare

#: Prefix of the keys under which Streamlit remembers whether a part is open.
KEY = "lazy:"


def expander(label: str, key: str, *, icon: str | None = None) -> DeltaGenerator | None:
    """The part to draw into, or None while it is closed, or the page is bare. key: unique on the page."""
    if is_bare():
        return None
    part = st.expander(label, icon=icon, key=f"{KEY}{key}", on_change="rerun")
    return part if part.open else None


def popover(
    label: str, key: str, *, icon: str | None = None, type: Literal["secondary", "tertiary"] = "secondary"
) -> DeltaGenerator | None:
    """As `expander`, for a part that opens over the page. type: of its button.

    It also prevents a fault: a field that the browser first sees in a later run than the one that set its value shows
    its lowest value instead.
    """
    if is_bare():
        return None
    part = st.popover(label, icon=icon, type=type, width="content", key=f"{KEY}{key}", on_change="rerun")
    return part if part.open else None


def is_open(key: str) -> bool:
    """Whether the reader has opened the part of this key."""
    return bool(st.session_state.get(f"{KEY}{key}"))
