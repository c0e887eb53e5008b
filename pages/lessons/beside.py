"""The open lesson next to every page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import streamlit as st

from pages.core.teaching.lessons import progress
from pages.lessons import panel

#: Widths of the lesson and of the page.
SHARES = (1, 2)


@contextlib.contextmanager
def beside() -> Iterator[bool]:
    """Draw the open lesson with the page next to it; False while the page waits for an answer."""
    opened = progress.current()
    if opened is None:
        yield True
        return
    left, right = st.columns(SHARES, gap="medium")
    with left, st.container(key="lesson-panel"):
        is_shown = panel.draw(opened)
    with right:
        if not is_shown:
            panel.wait(opened)
        yield is_shown
