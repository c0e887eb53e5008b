"""Beyond the weight: what attention moves, rollout, queries and keys in one plane, and whether weights explain."""

from __future__ import annotations

import streamlit as st

from pages.shared import deletion, moves, qk_plane, rollout
from pages.shared.beyond_params import PARTS
from pages.shared.frame import current_view
from pages.shared.take_pages import take_deletion, take_moved, take_plane, take_rollout
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
if part == "moves":
    take_moved(view, moves.show(view))
elif part == "rollout":
    take_rollout(view, rollout.show(view))
elif part == "plane":
    take_plane(view, *qk_plane.show(view))
elif tested := deletion.show(view):
    take_deletion(view, *tested, state.get("hide"), state.get("among"), deletion.SEEDS)
