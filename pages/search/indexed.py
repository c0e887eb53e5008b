"""An index for a large collection, on request."""

import streamlit as st

from encoder import search
from encoder.search import Collection, Index
from encoder.trace import gradual
from pages.core.stores import results


def of(found: Collection) -> Collection | Index:
    """The collection, or its index if the reader has built one. Below `search.WORTH_IT` texts there is none."""
    if len(found) < search.WORTH_IT:
        return found
    if not search.is_installed():
        st.caption('Every query compares all texts. For an index: pip install "encoderscope[index]".')
        return found
    index = results.of_work(
        "search-index", found,
        lambda: gradual.reported(search.iter_index(found), lambda share: (share, f"Texts in the index: {share:.0%}")),
        label="Build an index",
        ask="Every query compares all texts. An index takes minutes once, and makes queries faster:", own=True, most=1,
    )  # fmt: skip
    if index is not None:
        st.caption("Index: approximate neighbours, exact cosines.")
    return index or found
