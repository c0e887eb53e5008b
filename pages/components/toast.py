"""A sentence in a corner of the page that a callback says: the run after it draws it.

What a callback draws itself, in a run of a part of the page, would take the place of the page's first element.
"""

import streamlit as st

_SAID = "_toast_said"


def say(sentence: str, icon: str) -> None:
    """Say a sentence. For callbacks. icon: the name of a Material symbol."""
    st.session_state[_SAID] = sentence, f":material/{icon}:"


def draw() -> None:
    """Draw what was said, once."""
    if (said := st.session_state.pop(_SAID, None)) is not None:
        st.toast(said[0], icon=said[1])
