"""Heads: every head as a small map, one of them large; what a token attends to, in words and numbers."""

from __future__ import annotations

import streamlit as st

from encoder import figures
from pages.shared import attention_view, controls
from pages.shared.components import head_grid, plot, plot_window
from pages.shared.frame import current_view
from pages.shared.view import state

view = current_view()
config = view.loaded.config
trace = view.trace


def _on_grid(event: dict) -> None:
    if event["event"] == "open":
        controls.open_head(event["layer"], event["head"])


def _on_map(event: dict) -> None:
    controls.select_from(event, attention_view.map_block(trace))


st.title("Heads", anchor=False)
st.markdown(
    f"Each small map is one of the {config.n_layers} × {config.n_heads} heads of **{view.loaded.name}**: row *i*, "
    "column *j* says how much token *i* attends to token *j*. Choose one to see it large."
)
grid_side, map_side = st.columns([5, 6], gap="medium")

with grid_side:
    head_grid(
        attention_view.thumbnails(view),
        layers=config.n_layers,
        heads=config.n_heads,
        selected=(view.layer, view.head),
        key="grid",
        alt=f"Attention maps of all {config.n_layers * config.n_heads} heads, layers downwards, heads to the right.",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=_on_grid,
    )

with map_side:
    st.subheader(f"L{view.layer} H{view.head}", anchor=False)
    special = state.bound(
        st.segmented_control,
        "special",
        "Special tokens",
        ["show", "zero", "renormalise"],
        required=True,
        format_func={"show": "shown", "zero": "zeroed", "renormalise": "left out, rows to 1"}.get,
        help="[CLS] and [SEP] take much of the attention in many heads. Zeroed: their cells are 0. Left out: "
        "the rest of each row is scaled to sum to 1. The model itself always sees them.",
    )
    left, right = st.columns(2)
    scale = state.bound(left.segmented_control, "scale", "Colour", ["linear", "log"], required=True)
    span = state.bound(
        right.segmented_control,
        "range",
        "Range",
        ["fixed", "head"],
        required=True,
        format_func={"fixed": "0 to 1", "head": "this head"}.get,
        help="0 to 1 makes heads comparable; this head's own range shows faint patterns.",
    )
    shown = attention_view.head_map(view, special, plot_window("map"))
    plot(
        figures.attention_heatmap(
            shown.weights,
            shown.labels,
            scale=span,
            log=scale == "log",
            colours=view.colours,
            selected=(view.i, view.j),
            block=shown.block,
            row_offset=shown.row_offset,
            column_offset=shown.column_offset,
        ),
        key="map",
        alt=shown.alt,
        height=520,
        selected=(view.i, view.j),
        on_event=_on_map,
    )
    st.caption(shown.caption)

with grid_side:
    attention_view.what_is_seen(view, special)
