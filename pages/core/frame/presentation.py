"""Presentation mode: the page only, in type for a projector; `present=1` in the address. Keys are in page_keys.js."""

from functools import partial

import streamlit as st

from pages.components.button import button
from pages.core.view import ViewParams
from pages.state import state

#: At 1,920 pixels the smallest type of Streamlit has 20 pixels. --enc-type: the same for the drawing components. Sent
#: in the mode only: a rule of the page that begins with html:has() costs milliseconds at each change of a drawing.
TYPE = """<style>
html {
  font-size: max(16px, 1.35vw) !important; --enc-type: 1.25;
  @media (min-width: 1300px) { --enc-type: 1.4; }
  @media (min-width: 1600px) { --enc-type: 1.85; }
  [data-testid="stHeader"], [data-testid="stLayoutWrapper"]:has(> .st-key-page-names),
  .st-key-input-more { display: none !important; }
  .stMainBlockContainer { padding: 1rem 3.5rem 1rem 2rem !important; }
  .stMain :is(p, li, label, small, button, summary, td, th, input, textarea) { font-size: max(1em, 0.875rem); }
}
</style>"""
LEAVE_HELP = "Esc leaves; PageUp and PageDown turn a lesson's steps, or open the other pages"


def draw() -> None:
    """The button that opens and leaves the mode; presentation.css follows its key."""
    presenting = state.newest(ViewParams.present)
    if presenting:
        st.html(TYPE)
    button(
        "Leave presentation" if presenting else "Present",
        "close_fullscreen" if presenting else "slideshow",
        "leave-presentation" if presenting else "present",
        partial(state.put, ViewParams.present, not presenting),
        type="tertiary",
        help=LEAVE_HELP if presenting else "Presentation mode: press F",
    )
