"""Step 8: D -> F -> D, neuron by neuron."""

import dataclasses
from functools import partial

import streamlit as st

from encoder import explain
from encoder.explain.ffn import NEAR_ZERO
from encoder.figures.steps import term_bars, token_bars, usual_limit
from encoder.model.config import EncoderConfig
from pages.components import plot
from pages.core.view import selection, token_rows
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import formulas
from pages.forward_pass.params import Params
from pages.forward_pass.parts import step_button, token_vectors

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "quick_gelu": "GELU", "silu": "SiLU"}


def selected_neuron(view: View) -> explain.Place:
    """The selected place; without a selected neuron, the strongest one of the token."""
    place = selection.selected_place(view, view.loaded.config.d_model)
    if state.get(PlaceParams.neuron) is not None:
        return place
    return dataclasses.replace(place, neuron=int(explain.feed_forward(view.trace, place).strongest(1)[0]))


def show(view: View, params: Params) -> None:
    """The activations of all tokens, one neuron with its terms, its tokens, and the down-projection."""
    config = view.loaded.config
    place = selected_neuron(view)
    step = explain.feed_forward(view.trace, place)
    st.markdown(
        f"The FFN maps each token on its own: {config.d_model} numbers to {config.d_ffn:,} neurons, and back to "
        f"{config.d_model}. {_activation(config)}"
    )
    selection.place_bar(view, place, query="Token", component=config.d_model, neuron=config.d_ffn)
    _activations(view, place)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        selection.check_toggle(view, step.check)
    with right:
        _strongest(view, step)
    st.markdown(f"The products of neuron {place.neuron}, the largest first:")
    plot(term_bars(step.terms), height=220, key="neuron-terms", alt="The products of the selected neuron.")
    _tokens_of_neuron(view, place)
    st.header(f"FFN down-projection to {config.d_model} numbers", anchor=False)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        st.markdown(
            f"The contribution of each neuron to component {place.component}, the largest first. Bias: "
            f"{formulas.number(step.output_bias, 4)}."
        )
        plot(
            term_bars(step.output_terms, axis="neuron", chosen=place.neuron, most=24),
            height=240,
            key="neuron-output",
            alt="The contribution of each neuron to the selected component of the output.",
        )
    with right:
        formulas.show_step(step.output_formula)
    step_button("Add & norm of this FFN", "norm", {Params.part: "ffn"}, key="to-norm")


def _activation(config: EncoderConfig) -> str:
    name = ACTIVATIONS[config.activation]
    if config.gated:
        return f"A neuron's activation is {name} of one product with x, times a gate: a second product with x."
    if config.activation == "relu":
        return "ReLU sets negative numbers to 0."
    return f"{name} is close to 0 for clearly negative inputs and close to its input for clearly positive ones."


def _activations(view: View, place: explain.Place) -> None:
    layer = explain.hidden_activations(view.trace, place.layer)
    if not layer.exactly_zero:
        threshold = st.slider(
            "Threshold for “near 0”", 0.01, 0.3, NEAR_ZERO, 0.01, key="near-zero",
            help="GELU and SiLU are exactly 0 only at 0. GELU’s minimum is −0.17.",
        )  # fmt: skip
        layer = explain.hidden_activations(view.trace, place.layer, threshold)
    rows = token_rows.part(view.trace.n_tokens, place.query, "ffn")
    token_vectors(
        view, layer.hidden[rows], "residual", rows, key="hidden", select_row=ViewParams.i, selected=place.query,
        alt=f"Activations of {layer.hidden.shape[1]} neurons.", column=place.neuron, select_column=PlaceParams.neuron,
        limit=usual_limit(layer.hidden),
    )  # fmt: skip
    near = "exactly 0" if layer.exactly_zero else f"closer to 0 than {layer.threshold:g}"
    st.caption(
        f"Activations {near}: {layer.off_share:.1%} of all, {layer.off_by_token[place.query]:.1%} of "
        f"{selection.token(view, place.query)}. Neurons with no other activation in this text: "
        f"{int(layer.never.sum()):,}. Zoom in and click a cell to select a neuron."
    )


def _strongest(view: View, step: explain.FeedForwardStep) -> None:
    neurons = step.strongest(8)
    place = step.place
    st.markdown(f"The strongest neurons of **{selection.token(view, place.query)}**. Select a row to open its sum.")
    shown = st.dataframe(
        {"Neuron": neurons, "x·W + b": step.linear[neurons], "Activation": step.hidden[neurons]},
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(neurons),
        on_select="rerun",
        selection_mode="single-row",
        key=f"strongest-{place.layer}-{place.query}",
        column_config={
            "Neuron": st.column_config.NumberColumn(format="%d"),
            "x·W + b": st.column_config.NumberColumn(format="%.4f"),
            "Activation": st.column_config.NumberColumn(format="%.4f"),
        },
    )
    if shown.selection.rows:
        neuron = int(neurons[shown.selection.rows[0]])
        st.button(f"Show the sum of neuron {neuron}", on_click=state.put, args=(PlaceParams.neuron, neuron))


def _tokens_of_neuron(view: View, place: explain.Place) -> None:
    layer = view.derived(("hidden", place.layer), partial(explain.hidden_activations, layer=place.layer))
    names = ", ".join(
        f"**{selection.token(view, int(token))}** ({formulas.number(float(layer.hidden[token, place.neuron]))})"
        for token in layer.tokens_by_activation(place.neuron)[:3]
    )
    st.markdown(f"Largest activations of neuron {place.neuron} in this text: {names}.")
    rows = token_rows.part(view.trace.n_tokens, place.query, "excited")
    plot(
        token_bars(
            {"activation": layer.hidden[rows, place.neuron]}, view.trace.labels, roles=("other",), axis="activation",
            token="token", first=rows.start,
        ),
        height=230,
        key="excited-bars",
        alt=f"The activation of neuron {place.neuron} at every token.",
    )  # fmt: skip
