"""Architecture: the encoder drawn from its configuration, each block opening into its tensor; and what it all costs."""

from __future__ import annotations

import streamlit as st

from encoder.explain.architecture import architecture
from encoder.explain.cost import BYTES
from pages.architecture import cost
from pages.architecture import diagram as parts
from pages.architecture.export import export_architecture, export_cost
from pages.core import selection
from pages.core.frame import current_view, heading
from pages.core.view import state

view = current_view()
config, trace = view.loaded.config, view.trace


def main() -> None:
    heading()
    shown = state.bound(
        st.segmented_control,
        "show",
        "Part of the page",
        ["diagram", "cost"],
        required=True,
        format_func={"diagram": "Diagram", "cost": "Cost"}.get,
        label_visibility="collapsed",
    )
    if shown == "cost":
        export_cost(view, *cost.show(view))
        return
    each = BYTES.get(str(view.loaded.encoder.dtype), 4)
    drawn = architecture(config, trace.n_tokens, each)
    placement = "post-norm" if config.norm_placement == "post" else "pre-norm"
    st.markdown(
        f"**{view.loaded.name}** as it runs here: {config.n_layers} layers, {placement}, {drawn.n_parameters:,} "
        "parameters. Violet lines are the residual stream, going around each sublayer. Click a block to open it."
    )
    place = selection.selection(view)
    says, stack, follow = st.columns([7, 4, 4], gap="medium")
    with says:
        what_blocks_say()
    with stack:
        layer_slider()
    with follow:
        selection.place_bar(view, place, query="Follow a token", columns=1)
    left, right = st.columns([6, 7], gap="medium")
    with left:
        opened = parts.open_block(drawn, view.layer)
        parts.diagram(view, drawn, opened, place.query)
        st.caption(
            f"The strip in each block holds the numbers of {selection.token(view, place.query)} there."
            if state.get("says") == "shape"
            else f"For {trace.n_tokens:,} tokens, with the share of the whole encoder; the bar in each block is that "
            "share. Of the layers that are not drawn in full, the sum."
        )
    with right:
        parts.details(view, drawn, opened, place.query)
    parts.all_blocks(drawn)
    export_architecture(view, drawn, each)


def what_blocks_say() -> None:
    """Shape, parameters, FLOPs or memory in each block."""
    state.bound(
        st.segmented_control,
        "says",
        "Each block shows its",
        ["shape", "parameters", "flops", "memory"],
        required=True,
        format_func={"shape": "shape", "parameters": "parameters", "flops": "FLOPs", "memory": "memory"}.get,
        help="A multiplication with its addition counts as two FLOPs. Memory: bytes of what a block hands on.",
    )


def layer_slider() -> None:
    """The stack as a slider; one layer needs none."""
    if config.n_layers == 1:
        return
    st.session_state["stack"] = view.layer
    st.slider("Layer drawn in full", 0, config.n_layers - 1, key="stack", on_change=_take_layer)


def _take_layer() -> None:
    selection.put(layer=st.session_state["stack"])


main()
