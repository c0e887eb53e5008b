"""Parts that are folded away at first, and made when they are opened.

What is inside an open expander is a third of a page's elements. As long as nobody opens it, it costs neither the server
nor the browser anything, with each click anew.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

#: Beginning of the keys under which Streamlit keeps whether a part is open.
KEY = "fold:"


def expander(label: str, key: str, *, icon: str | None = None) -> DeltaGenerator | None:
    """The part to draw into, or None while it is closed. key: one of its own on the page."""
    part = st.expander(label, icon=icon, key=f"{KEY}{key}", on_change="rerun")
    return part if part.open else None


def popover(label: str, key: str, *, icon: str | None = None) -> DeltaGenerator | None:
    """As `fold`, for what opens over the page.

    Not for speed alone: a field that the browser first sees in a later run than the one that gave it its value shows
    its lowest value instead.
    """
    part = st.popover(label, icon=icon, width="content", key=f"{KEY}{key}", on_change="rerun")
    return part if part.open else None
