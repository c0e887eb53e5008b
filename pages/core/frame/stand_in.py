"""A page whose input the chosen model does not accept opens with a bundled model that fits; leaving it undoes that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from encoder.encoders.named import NamedEncoder
from pages.core.frame.navigation import Page
from pages.core.inputs.chosen_input import FIRST
from pages.core.stores import input_kinds
from pages.core.view import SOURCES, ViewParams
from pages.core.words import plain
from pages.state import links, state

#: Whether the next run has to choose the stand-in, before its widgets; the page before and this one.
_STANDS_IN, _ASKED, _PAGES = "_stand_in", "_stand_in_asked", "_page_before_and_page"
#: What a stand-in replaces: the model, and the place in it.
_REPLACED = (
    ViewParams.model, ViewParams.tower, ViewParams.norm, ViewParams.layer, ViewParams.head, ViewParams.i, ViewParams.j,
    ViewParams.more_queries, ViewParams.more_keys,
)  # fmt: skip


@dataclass(frozen=True)
class _StandIn:
    """page: its folder; model: the bundled model; before: the values that come back; why: the line about it."""

    page: str
    model: str
    before: Mapping[str, Any]
    why: str


def before_controls(folder: str) -> None:
    """Choose the stand-in of this page that the last run asked for; after another page is opened, undo that one's.

    A model that somebody chose in its place stays. folder: of the page.
    """
    found: _StandIn | None = st.session_state.get(_STANDS_IN)
    if st.session_state.pop(_ASKED, False) and found is not None:
        for param in _REPLACED:
            state.put(param, found.model if param is ViewParams.model else param.default)
    elif found is not None and found.page != folder:
        del st.session_state[_STANDS_IN]
        if state.newest(ViewParams.model) == found.model:
            state.put_named(**found.before)
    last = st.session_state.get(_PAGES, ("", ""))[1]
    if last != folder:
        st.session_state[_PAGES] = last, folder


def use(loaded: NamedEncoder, entry: Page) -> None:
    """Ask for a bundled model that fits the page. loaded: the one that does not. The page has to run again."""
    wanted = next(kind for kind in entry.takes if kind in FIRST)
    given, needed = input_kinds.NOUNS[loaded.takes], input_kinds.NOUNS[wanted]
    why = f": {entry.why[0].lower()}{entry.why[1:]}" if entry.why else "."
    sentence = (
        f"{plain(loaded.name)} {'holds' if given.endswith('maps') else 'uses'} {given}. This page needs {needed}{why} "
        f"Shown: {plain(SOURCES[FIRST[wanted]])}. Your model returns on other pages."
    )
    before = {param.name: state.newest(param) for param in _REPLACED}
    st.session_state[_STANDS_IN] = _StandIn(entry.folder, FIRST[wanted], before, sentence)
    st.session_state[_ASKED] = True


def say() -> None:
    """The line about the stand-in, and the way back to the page before."""
    found: _StandIn | None = st.session_state.get(_STANDS_IN)
    if found is None or found.model != state.get(ViewParams.model):
        return
    with st.container(key="stand-in", horizontal=True, vertical_alignment="center"):
        st.caption(f":material/swap_horiz: {found.why}", width="content")
        back = st.session_state[_PAGES][0]
        if back and links.exists(back):
            links.link(back, f"Back to {links.title(back)}", "arrow_back")
