"""The parts of Pre/post-norm: those of its own page, and the page Norms. Both draw them in the same place."""

import streamlit as st

from pages.state import Param, controlled, links, state

PARTS = {"heads": "Same sentence", "stream": "Residual stream", "norms": "Norms"}
#: The part that is a page, and the page of the others.
NORMS, OTHERS = "norms", "pre_post"


def choose(sides: Param[str], here: str) -> str:
    """The widget of the part; returns the open one. sides: the part of OTHERS; here: the open one."""

    def take(part: str) -> None:
        if part == NORMS:
            links.open_later(NORMS)
            return
        state.put(sides, part)
        if here == NORMS:
            links.open_later(OTHERS)

    controlled(
        st.segmented_control,
        "Part",
        list(PARTS),
        key="norm-parts",
        value=here,
        required=True,
        take=take,
        format_func=PARTS.get,
        label_visibility="collapsed",
    )
    return here
