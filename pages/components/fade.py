"""When a drawing fades over its former picture: the model's placement of the norms is another one."""

import streamlit as st

_PLACEMENT = "_drawn_norm_placement"


def remember(placement: str) -> None:
    """The placement of the norms in the model whose numbers this session's drawings show from now on."""
    st.session_state[_PLACEMENT] = placement


def shown(picture: str | None) -> str | None:
    """What a drawing shows: the placement, and what its page says; None where neither is known."""
    return " ".join(filter(None, (st.session_state.get(_PLACEMENT), picture))) or None
