"""Presentation mode: the page alone, in type for a projector; `present=1` in the address. Keys are in page_keys.js."""

from __future__ import annotations

import streamlit as st

from pages.core.url_state import state
from pages.core.view import ViewParams

LEAVE_HELP = "Esc leaves; PageUp and PageDown turn a lesson's steps, or open the other pages"


def draw() -> None:
    """The button that opens and leaves the mode; presentation.css follows its key."""
    presenting = state.newest(ViewParams.present)
    st.button(
        "Leave" if presenting else "Present", key="leave-presentation" if presenting else "present", type="tertiary",
        icon=":material/close_fullscreen:" if presenting else ":material/slideshow:",
        help=LEAVE_HELP if presenting else "Presentation mode: press F",
        on_click=state.put, args=(ViewParams.present, not presenting),
    )  # fmt: skip
