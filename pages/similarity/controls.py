"""The widgets of the page “Sentence similarity”: sentence B, the layer, the reference, whole words."""

import streamlit as st

import encoder
from encoder.model.config import EncoderConfig
from pages.components.lazy import popover
from pages.core.view import View
from pages.core.widgets import examples
from pages.similarity.params import STEPS, Params
from pages.state import state

REFERENCES = {"pad": "Padding tokens", "zero": "Zero vectors"}


def of_map(view: View) -> None:
    """The layer, and whole words."""
    _layer(view.loaded.config)
    state.bound(
        st.toggle,
        Params.words,
        "Whole words",
        help="Adds up the cells of a word's tokens. The sum over all cells stays the same.",
    )


def draw(view: View) -> Params:
    """The other sentence and the options; returns all values."""
    with st.container(key="controls-similarity", horizontal=True, vertical_alignment="bottom"):
        state.bound(
            st.text_input,
            Params.other,
            "Sentence B",
            placeholder="Type a sentence and press Enter",
            help="Sentence A is the one above. The model processes A and B separately, and compares their two vectors.",
        )
        examples.draw(__file__, "pairs", "similarity:example", width=250)
        if (options := popover("Options", "similarity-options", icon=":material/tune:")) is not None:
            with options:
                _options(view.loaded)
    return state.read(Params)


def _layer(config: EncoderConfig) -> None:
    """The vectors that the map is about. Along a path a router changes its experts, and the parts of a cosine would not
    add up: with experts it is about the output, which needs no path."""
    asked, n_layers = state.newest(Params.depth), config.n_layers
    offered, has = range(n_layers + 1), f"0 to {n_layers}"
    if config.experts is not None:
        offered, has = offered[-1:], "the output only"
    if asked not in offered:
        state.put(Params.depth, n_layers)
        if asked != Params.depth.default:
            said = f"The link asks for the vectors before layer {asked}; this model has {has}."
            st.warning(f"{said} Shown: {n_layers}, the output.", icon=":material/link_off:")

    def name(layer: int) -> str:
        if layer == n_layers:
            return "Vectors: output (exact)"
        return "Vectors: input tokens" if layer == 0 else f"Vectors: input of layer {layer}"

    state.selectbox(
        Params.depth,
        "Vectors that the map is about",
        offered,
        format_func=name,
        width=250,
        label_visibility="collapsed",
        help="Input tokens: what each word adds before any mixing. Output: the split is exact, but each vector already "
        "contains information from the whole sentence. In between you see how mixing proceeds. A model with experts "
        "has the output only: its router changes experts on the way from the reference to the sentence.",
    )


def _options(model: encoder.TextEncoder) -> None:
    if model.can_pad:
        state.segmented(
            Params.reference,
            "Reference",
            REFERENCES,
            help="The map explains the difference between a sentence and its reference. Padding tokens: every word "
            "becomes the padding token at the same position; special tokens stay. Zero vectors: all vectors are 0, "
            "which the model never sees. Another reference gives another map. The output needs no reference.",
        )
    state.bound(
        st.selectbox,
        Params.steps,
        "Steps on the path",
        options=STEPS,
        format_func=lambda steps: "As many as needed" if steps == "auto" else steps,
        help="The number of points between reference and sentence at which the model is differentiated. As many as "
        "needed: until the error of the sum is below 0.005.",
    )


def reference(params: Params, model: encoder.TextEncoder) -> str:
    """The chosen reference; without a padding token in the vocabulary, zero vectors."""
    return params.reference if model.can_pad else "zero"
