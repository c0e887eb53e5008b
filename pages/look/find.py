"""Find heads: every head's measures as a table, heads by role, and heads as points by how alike they attend."""

from __future__ import annotations

import streamlit as st

from pages.shared import find
from pages.shared.find_params import PARTS
from pages.shared.fold import popover
from pages.shared.frame import current_view
from pages.shared.take_find import take_find
from pages.shared.view import state

view = current_view()
config = view.loaded.config

st.header("Find heads", anchor=False)
st.markdown(
    f"**{view.loaded.name}** has {config.n_layers} × {config.n_heads} heads. Measured on this sentence, some show a "
    "role: they look at the token before, at themselves, or rest on [CLS]. Another sentence may show another one."
)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    part = state.bound(
        st.segmented_control, "find", "Show", list(PARTS), required=True, format_func=PARTS.get
    )  # fmt: skip
    find.role_filter()
    thresholds = popover("Thresholds", "thresholds", icon=":material/tune:")
    if thresholds is not None:
        find.threshold_controls(thresholds)

found = find.Heads.of(view)
left, right = st.columns([5, 2], gap="medium")
with left:
    drawn = {"table": find.table, "roles": find.strips, "map": find.head_map}[part](view, found)
with right:
    find.selected_head(view, found)
take_find(view, found, part, drawn)
