"""The outcome before and after the edits."""

from __future__ import annotations

import streamlit as st

from encoder import causal
from encoder.causal import Outcome
from encoder.trace.trace import Trace
from pages.core.view.view import View
from pages.core.widgets import class_head
from pages.core.widgets.outcomes import unit
from pages.core.words.formulas import number
from pages.core.words.markdown import plain


def show(view: View, edited: Trace | None, outcome: Outcome) -> None:
    """The outcome before and after the edits, with the difference. Raises EncoderError where it does not fit."""
    before, *after = causal.outcomes_of(view.loaded, view.trace, [] if edited is None else [edited], outcome)
    with st.container(horizontal=True, gap="medium"):
        st.metric("Before", number(before), width="content")
        if after:
            st.metric("After", number(after[0]), width="content")
            st.metric("Difference", number(after[0] - before), width="content")
    class_head.draw(view, edited)
    st.caption(f"{plain(unit(outcome))}." if after else f"{plain(unit(outcome))}. Add an edit to see what it changes.")
