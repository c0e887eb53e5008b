"""Beyond the weight: what attention moves, rollout, queries and keys in one plane, and whether weights explain."""

from __future__ import annotations

import streamlit as st

from pages.beyond_weights import deletion, norm_weighted, qk_space, rollout
from pages.beyond_weights.export import export_deletion, export_moved, export_plane, export_rollout
from pages.beyond_weights.params import PARTS
from pages.core.frame import current_view, heading
from pages.core.view import state

view = current_view()

heading()
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
    export_moved(view, norm_weighted.show(view))
elif part == "rollout":
    export_rollout(view, rollout.show(view))
elif part == "plane":
    export_plane(view, *qk_space.show(view))
elif tested := deletion.show(view):
    export_deletion(view, *tested, state.get("hide"), state.get("among"), deletion.SEEDS)
