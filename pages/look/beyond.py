"""Beyond the weight: what attention moves, rollout, queries and keys in one plane, and whether weights explain."""

from __future__ import annotations

import streamlit as st

from pages.shared import deletion, moves, qk_plane, rollout
from pages.shared.beyond_params import PARTS
from pages.shared.frame import current_view
from pages.shared.take_pages import take_moved, take_rollout, take_vectors
from pages.shared.view import state

view = current_view()

st.header("Beyond the weight", anchor=False)
part = state.bound(
    st.segmented_control,
    "beyond",
    "What is asked",
    list(PARTS),
    required=True,
    format_func=PARTS.get,
    label_visibility="collapsed",
)
{"moves": moves.show, "rollout": rollout.show, "plane": qk_plane.show, "deletion": deletion.show}[part](view)
if part != "deletion":
    {"moves": take_moved, "rollout": take_rollout, "plane": take_vectors}[part](view)
