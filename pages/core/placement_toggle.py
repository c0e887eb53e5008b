"""The way to “Pre-norm vs post-norm”: the sidebar's link “Compare both”, and old links with norm=both."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.view import state

PAGE, SCRIPT = "pre_post", "pages/pre_post/page.py"
_LAST, _PREVIOUS = "_last_page", "_previous_page"


def compare_link() -> None:
    """The link “Compare both”, to be drawn below the sidebar's norm toggle."""
    st.page_link(SCRIPT, label="Compare both", icon=":material/compare:")


def before_sidebar(page: StreamlitPage) -> Callable[[], None]:
    """Turn norm=both into the page that compares both placements; to be called before the sidebar is drawn.

    Returns what to call after the sidebar is drawn, when its values are kept: it may open that page.
    """
    st.session_state[_PREVIOUS], st.session_state[_LAST] = st.session_state.get(_LAST), page.url_path
    if state.newest("norm") != "both":
        return _stay
    before = state.get("norm")
    state.put("norm", "trained" if before == "both" else before)
    return _stay if page.url_path == PAGE else lambda: st.switch_page(SCRIPT)


def was_here() -> bool:
    """Whether the run before this one showed the same page: nobody left it in between."""
    return st.session_state.get(_PREVIOUS) == st.session_state.get(_LAST)


def _stay() -> None:
    return None
