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
}


def hide(names: Iterable[str]) -> None:
    """Hide these controls in this run."""
    selectors = ", ".join(CONTROLS[name][1] for name in names if name in CONTROLS)
    if selectors:
        st.html(f"<style>{selectors} {{ display: none !important; }}</style>")
