"""The pages of Learn as parts of one: lessons, a class, the layer by hand. Each has this row next to its title."""

import streamlit as st

from pages.state import controlled, links

PARTS = ("lessons", "classroom", "by_hand")


def choose(here: str) -> None:
    """The widget of the part. here: the folder of the open page."""
    controlled(
        st.segmented_control,
        "Part",
        [part for part in PARTS if links.exists(part)],
        key="learn-parts",
        value=here,
        required=True,
        take=links.open_later,
        format_func=links.title,
        label_visibility="collapsed",
    )
