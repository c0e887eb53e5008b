"""norm=both belongs to the page “Pre-norm vs post-norm”: choosing it opens the page, leaving the page undoes it.

The page opens on the trained twins in place of MiniLM, of which only one placement was trained. Leaving it undoes that,
too. A visitor who chooses MiniLM on the page keeps it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.view.view import ViewParams, state
from pages.state import not_chosen
from pages.state.params import Param, flag

PAGE, SCRIPT = "pre_post", "pages/pre_post/page.py"
TWIN = "twin-pre"
_LAST, _PREVIOUS, _NORM, _BEFORE = "_last_page", "_previous_page", "_norm_before_both", "_place_before_twins"
#: What the twins replace: the model, and the place in it.
_REPLACED = (ViewParams.model, ViewParams.layer, ViewParams.head, ViewParams.i, ViewParams.j)


@state.register
@dataclass(frozen=True)
class PlacementParams:
    """untrained_norm: whether the page of both placements shows MiniLM, whose norms can only be moved untrained."""

    untrained_norm: Param[bool] = flag(url="moved_norms")


def before_sidebar(page: StreamlitPage) -> Callable[[], None]:
    """Make page, norm and model agree; to be called before the sidebar is drawn.

    Returns what to call after the sidebar is drawn, when its values are kept: it may open the page of both placements.
    """
    last = st.session_state.get(_LAST)
    st.session_state[_PREVIOUS], st.session_state[_LAST] = last, page.url_path
    norm = state.newest(ViewParams.norm)
    if norm != "both":
        st.session_state[_NORM] = norm
    on_page = page.url_path == PAGE
    if on_page:
        _twins(arrives=last != PAGE, named=not_chosen.asked()[1] if last is None else frozenset())
        if norm != "both":
            state.put(ViewParams.norm, "both")
        return lambda: None
    _place_before()
    if norm == "both":
        if last != PAGE:  # chosen in the sidebar, or in an old link
            return lambda: st.switch_page(SCRIPT)
        state.put(ViewParams.norm, st.session_state.get(_NORM, "trained"))
    return lambda: None


def _twins(*, arrives: bool, named: frozenset[str]) -> None:
    """On arrival, the twins take MiniLM's place; later, MiniLM is the visitor's own choice.

    named: what the link says that opened the page; it stays.
    """
    is_default = state.newest(ViewParams.model) == ViewParams.model.default
    if not arrives:
        state.put(PlacementParams.untrained_norm, is_default)
    elif is_default and not state.newest(PlacementParams.untrained_norm):
        st.session_state[_BEFORE] = {param.name: state.newest(param) for param in _REPLACED}
        for param in _REPLACED:
            if param is not ViewParams.model and param.name in named:
                continue
            state.put(param, TWIN if param is ViewParams.model else param.default)


def _place_before() -> None:
    """After leaving the page: the model and the place before it, unless the visitor chose another model there."""
    before = st.session_state.pop(_BEFORE, None)
    if before is not None and state.newest(ViewParams.model) == TWIN:
        state.put_named(**before)


def was_here() -> bool:
    """Whether the run before this one showed the same page: nobody left it in between."""
    return st.session_state.get(_PREVIOUS) == st.session_state.get(_LAST)
