"""The sidebar's norm toggle and the page "Pre / post, side by side": "both" leads there, any other placement away."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.view import state

PAGE = "pre_post"
SCRIPT, HOME = "pages/pre_post/page.py", "pages/heads/page.py"
_LAST, _PREVIOUS, _BEFORE = "_last_page", "_previous_page", "_norm_before_both"


def before_sidebar(page: StreamlitPage) -> Callable[[], None]:
    """Make the toggle say what the page shows; to be called before the sidebar is drawn.

    Returns what is to be called once the sidebar is drawn, and its values are kept: it may open another page.
    """
    last, st.session_state[_LAST] = st.session_state.get(_LAST), page.url_path
    st.session_state[_PREVIOUS] = last
    norm = state.newest("norm")
    if page.url_path == PAGE:
        if norm == "both":
            return _stay
        if last == PAGE:  # another placement was chosen here
            return lambda: st.switch_page(HOME)
        st.session_state[_BEFORE] = norm
        state.put("norm", "both")
    elif norm == "both":
        if last != PAGE:  # it was chosen just now, or stands in a link
            before = state.get("norm")
            st.session_state[_BEFORE] = before if before != "both" else "trained"
            return lambda: st.switch_page(SCRIPT)
        state.put("norm", st.session_state.pop(_BEFORE, "trained"))  # the page was left by the navigation
    return _stay


def was_here() -> bool:
    """Whether the run before this one showed the same page: it was not left in between."""
    return st.session_state.get(_PREVIOUS) == st.session_state.get(_LAST)


def _stay() -> None:
    return None
