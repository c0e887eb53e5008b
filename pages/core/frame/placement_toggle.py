"""norm=both belongs to the page “Compare both”: choosing it opens the page, leaving the page undoes it."""

from collections.abc import Callable

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.view import ViewParams
from pages.state import state

PAGE, SCRIPT = "pre_post", "pages/pre_post/page.py"
_LAST, _PREVIOUS, _NORM = "_last_page", "_previous_page", "_norm_before_both"


def before_controls(page: StreamlitPage) -> Callable[[], None]:
    """Make page and norm agree; to be called before the controls are drawn.

    Returns what to call after the controls are drawn, when their values are kept: it may open the page of both.
    """
    last = st.session_state.get(_LAST)
    st.session_state[_PREVIOUS], st.session_state[_LAST] = last, page.url_path
    norm = state.newest(ViewParams.norm)
    if norm != "both":
        st.session_state[_NORM] = norm
    if page.url_path == PAGE:
        if norm != "both":
            state.put(ViewParams.norm, "both")
    elif norm == "both":
        if last != PAGE:  # chosen above the page, or in an old link
            return lambda: st.switch_page(SCRIPT)
        state.put(ViewParams.norm, st.session_state.get(_NORM, "trained"))
    return lambda: None


def was_here() -> bool:
    """Whether the run before this one showed the same page: nobody left it in between."""
    return st.session_state.get(_PREVIOUS) == st.session_state.get(_LAST)
