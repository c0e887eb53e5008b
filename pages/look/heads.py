"""Heads: every head as a small map, one of them large; what a token attends to, in words and numbers."""

from __future__ import annotations

import streamlit as st

from encoder import figures
from pages.shared import attention_view, controls
from pages.shared.components import head_grid, plot
from pages.shared.frame import current_view

view = current_view()
config = view.loaded.config
trace = view.trace


def _on_grid(event: dict) -> None:
    if event["event"] == "open":
        controls.open_head(event["layer"], event["head"])


def _on_map(event: dict) -> None:
    controls.select_from(event, attention_view.shown_block(trace, "map"))


st.header("Heads", anchor=False)
st.markdown(
    f"Each small map is one of the {config.n_layers} × {config.n_heads} heads of **{view.loaded.name}**: row *i*, "
    "column *j* says how much token *i* attends to token *j*. Choose a head to see it large, then a cell or a token."
)
grid_side, map_side = st.columns([5, 6], gap="medium")

# The large map comes first: in a long text the small ones take their time.
with map_side:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader(f"L{view.layer} H{view.head}", anchor=False, width="content")
        options = st.popover("Options", icon=":material/tune:", width="content")
    special, scale, span = attention_view.options(options)
    figure, caption = attention_view.head_map(view, "map", special, scale, span)
    plot(
        figure,
        key="map",
        alt=f"Attention map of layer {view.layer}, head {view.head}: {trace.n_tokens} query tokens downwards, as many "
        "key tokens to the right.",
        height=500,
        selected=(view.i, view.j),
        on_event=_on_map,
    )
    st.caption(caption)

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
    attention_view.what_is_seen(view, special)
