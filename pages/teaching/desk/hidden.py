"""Controls that a teacher hides from the class: by style, since they are hidden for calm and not for safety."""

from collections.abc import Iterable

import streamlit as st

#: Name in a room -> title, and what of the page it is.
CONTROLS = {
    "text": ("Sentence", ".st-key-input-itself, .st-key-lazy-input"),
    "model": ("Model", ".st-key-input-model"),
    "norms": ("Norm placement", ".st-key-view-norm"),
    "place": ("Layer and head", ".st-key-view-layer, .st-key-view-head"),
    "settings": ("Settings and device", ":is(.st-key-lazy-settings, .st-key-lazy-machine)"),
    "options": ("Options", ".st-key-lazy-options"),
    "export": ("Export and share", ".st-key-lazy-take"),
    "pages": ("Names of pages", ".enc-pages"),
    "bars": ("Bars on the wall before the result", ".enc-wall-options :is(i, b)"),
}
#: What of these is on the wall only, and on no student's screen.
ON_WALL = {"bars"}


def hide(names: Iterable[str], *, wall: bool = False) -> None:
    """Hide these controls in this run. wall: whether this is the wall."""
    selectors = ", ".join(CONTROLS[name][1] for name in names if name in CONTROLS and (name in ON_WALL) == wall)
    if selectors:
        st.html(f"<style>{selectors} {{ display: none !important; }}</style>")
