"""The drawer “Adjust” next to a page's title: controls of its picture that nobody needs in the first minute."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_ROW = "_title_row"


def next_to(row: DeltaGenerator) -> None:
    """Drawers of this run are drawn in this row. row: of the title; for the frame."""
    st.session_state[_ROW] = row


def drawer(key: str, label: str = "Adjust", icon: str = "tune") -> DeltaGenerator:
    """The container of the controls. key: of the page's part.

    They are drawn while it is closed, too: a widget is where its value is.
    """
    row: DeltaGenerator | None = st.session_state.pop(_ROW, None)
    popover = st.popover if row is None else row.popover
    return popover(label, icon=f":material/{icon}:", key=f"adjust-{key}", width="content")
