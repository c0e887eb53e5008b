"""Architecture: the encoder as a diagram of blocks, the tensor of each block, and the cost of a forward pass."""

import streamlit as st

from encoder.explain.architecture import Architecture, architecture
from encoder.explain.cost import BYTES
from pages.architecture import block, cost, diagram
from pages.architecture.export import export_architecture, export_cost
from pages.architecture.params import Params
from pages.core.frame.frame import current_view, heading
from pages.core.view import selection
from pages.core.view.view import View, ViewParams, state
from pages.core.widgets import answer
from pages.core.words.glossary import linked
from pages.state.links import next_page, open_later
from pages.state.url_state import controlled

PARTS = {"diagram": "Diagram", "cost": "Cost"}
OPENINGS = {
    "diagram": "Look for the violet lines, the residual connections around each sublayer. Select a block to open it."
    "  \n"
    "Every block is a computation on your input, with its shape and its cost.",
    "cost": "Look for the parts with n²: their work grows fastest with the length of the input.  \n"
    "The cost decides which inputs and models fit a machine.",
}
CONTENTS = {"shape": "Shape", "parameters": "Parameters", "flops": "FLOPs", "memory": "Memory"}


def main() -> None:
    if state.get(Params.part) == "stream":  # an old link: the picture of the model shows the residual stream
        state.put(Params.part, "diagram")
        open_later("start")
        st.rerun()
    heading()
    view = current_view()
    config, bytes_each = view.loaded.config, BYTES.get(str(view.loaded.encoder.dtype), 4)
    drawn = architecture(config, view.trace.n_tokens, bytes_each)
    opening = st.container()
    part = state.segmented(Params.part, "Part of the page", PARTS, label_visibility="collapsed")
    opening.markdown(
        linked(
            f"You see **{view.loaded.name}**: {config.n_layers} layers, {config.norm_placement}-norm, "
            f"{drawn.n_parameters:,} parameters.  \n{OPENINGS[part]}"
        )
    )
    if part == "cost":
        export_cost(view, cost.show(view, bytes_each), bytes_each)
    else:
        show_diagram(view, drawn)
        export_architecture(view, drawn, bytes_each)
    if view.loaded.takes == "text":
        next_page("forward_pass", "Forward pass, step by step, the numbers inside the blocks")
    else:
        next_page("heads", "Heads, what each head attends to")


def show_diagram(view: View, drawn: Architecture) -> None:
    """The controls, the diagram with the open block beside it, and the table of all blocks."""
    place = selection.selected_place(view)
    contents, layer, follow = st.columns([7, 4, 4], gap="medium")
    with contents:
        state.segmented(
            Params.says, "In each block", CONTENTS,
            help="A multiplication and an addition count as two FLOPs. Memory: bytes of the block's output.",
        )  # fmt: skip
    with layer:
        layer_slider(view)
    with follow:
        selection.place_bar(view, place, query="Token", columns=1)
    params = state.read(Params)
    opened = diagram.open_block(drawn, view.layer, params.block)
    with answer.area():
        answer.draw(block.sentence(opened))
        left, right = st.columns([6, 7], gap="medium")
        with left:
            diagram.show(view, drawn, opened, place.query, params.says)
            st.caption(how_to_read(view, place.query, params.says))
        with right:
            block.show(view, opened, place.query)
    block.table(drawn)


def how_to_read(view: View, token: int, says: str) -> str:
    """What the blocks of the diagram show."""
    if says == "shape":
        return f"The strip in a block shows the numbers of {selection.token(view, token)}."
    return (
        f"For {view.trace.n_tokens:,} tokens, with the share of the whole encoder as text and as a bar. A stack of "
        "layers shows their sum."
    )


def layer_slider(view: View) -> None:
    """The layer that is drawn in full."""
    if view.loaded.config.n_layers > 1:
        controlled(
            st.slider, "Layer drawn in full", 0, view.loaded.config.n_layers - 1, key="stack", value=view.layer,
            take=lambda layer: state.put(ViewParams.layer, layer),
        )  # fmt: skip


main()
