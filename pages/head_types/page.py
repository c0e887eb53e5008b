"""Find heads: every head's measures as a table, heads by role, and heads as points by how alike they attend."""

from __future__ import annotations

import streamlit as st

from pages.core.frame import current_view, heading
from pages.core.lazy import popover
from pages.core.view import state
from pages.head_types import parts
from pages.head_types.export import export_find
from pages.head_types.params import PARTS

view = current_view()
config = view.loaded.config

heading()
st.markdown(
    f"**{view.loaded.name}** has {config.n_layers} × {config.n_heads} heads. Measured on this sentence, some show a "
    "role: they look at the token before, at themselves, or rest on [CLS]. Another sentence may show another one."
)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    part = state.bound(
        st.segmented_control, "find", "Show", list(PARTS), required=True, format_func=PARTS.get
    )  # fmt: skip
    parts.role_filter()
    thresholds = popover("Thresholds", "thresholds", icon=":material/tune:")
    if thresholds is not None:
        parts.threshold_controls(thresholds)

found = parts.Heads.of(view)
left, right = st.columns([5, 2], gap="medium")
with left:
    drawn = {"table": parts.table, "roles": parts.strips, "map": parts.head_map}[part](view, found)
with right:
    parts.selected_head(view, found)
export_find(view, found, part, drawn)
