"""Presentation mode: the page alone, in type for a projector; `present=1` in the address. Keys are in page_keys.js."""

from __future__ import annotations

import streamlit as st

from pages.core.url_state import state
from pages.core.view import ViewParams

# Beside the names of the pages, an icon; its text is for screen readers.
_SMALL = """
.st-key-present [data-testid="stMarkdownContainer"] { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
"""
#: At 1,920 pixels the smallest type of Streamlit has 20 pixels. --enc-type: the same for the drawing components.
_LARGE = """
html { font-size: max(16px, 1.35vw) !important; }
:root { --enc-type: 1.25; }
@media (min-width: 1300px) { :root { --enc-type: 1.4; } }
@media (min-width: 1600px) { :root { --enc-type: 1.85; } }
[data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stExpandSidebarButton"],
[data-testid="stLayoutWrapper"]:has(> .st-key-page-names),
.stElementContainer:has(.enc-bar) { display: none !important; }
.stMainBlockContainer { padding: 1rem 2rem 4rem !important; }
.stMain :is(p, li, label, small, button, summary, td, th, input, textarea) { font-size: max(1em, 0.875rem); }
.st-key-present { top: auto; bottom: 0.75rem; right: 0.75rem; }
"""


def draw() -> None:
    """The button that opens and leaves the mode, and the look of the page in it."""
    presenting = state.newest(ViewParams.present)
    st.html(f"<style>{_LARGE if presenting else _SMALL}</style>")
    st.button(
        "Leave" if presenting else "Present", key="present", type="tertiary",
        icon=":material/close_fullscreen:" if presenting else ":material/slideshow:",
        help="Esc leaves; PageUp and PageDown open the other pages" if presenting else "Presentation mode: press F",
        on_click=state.put, args=(ViewParams.present, not presenting),
    )  # fmt: skip
