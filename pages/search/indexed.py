"""An index for a large collection, on request."""

from __future__ import annotations

import streamlit as st

from encoder import search
from encoder.search import Collection, Index
from encoder.trace import gradual
from pages.core.work import long_work

_KEPT = "search:index"


def of(found: Collection) -> Collection | Index:
    """The collection, or its index if the reader has built one. Below `search.WORTH_IT` texts there is none."""
    kept = st.session_state.get(_KEPT)
    if kept is not None and kept.collection is found:
        st.caption("Index: approximate neighbours, exact cosines.")
        return kept  # type: ignore[no-any-return]
    st.session_state.pop(_KEPT, None)
    if len(found) < search.WORTH_IT:
        return found
    if not search.is_installed():
        st.caption('Every query compares all texts. For an index: pip install "encoderscope[index]".')
        return found

    def work() -> long_work.Work[Index]:
        parts = search.iter_index(found)
        return (yield from gradual.reported(parts, lambda share: (share, f"Texts in the index: {share:.0%}")))

    index = long_work.result(
        "search-index", id(found), work, label="Build an index",
        ask="Every query compares all texts. An index takes minutes once, and makes queries faster:",
    )  # fmt: skip
    if index is not None:
        st.session_state[_KEPT] = index
    return index or found
