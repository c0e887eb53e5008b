"""Step 8: D -> F -> D, neuron by neuron."""

from __future__ import annotations

import dataclasses
from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import term_bars, token_bars, usual_limit
from pages.components import plot
from pages.core import cache, formulas, selection, token_rows
from pages.core.view import View, state

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}


def show(view: View) -> None:
    """The hidden layer of all tokens, one neuron written out, who excites it, and the way back to D."""
    config = view.loaded.config
    place = selection.selection(view, config.d_model)
    step = explain.feed_forward(view.trace, place)
    if state.get("neuron") is None:  # none chosen: the token's strongest
        place = dataclasses.replace(place, neuron=int(step.strongest(1)[0]))
        step = explain.feed_forward(view.trace, place)
    st.markdown(
        f"Each token on its own goes through {config.d_ffn:,} neurons: {config.d_model} numbers in, {config.d_ffn:,} "
        f"activations, {config.d_model} numbers out. {_what(config)}"
    )
    selection.place_bar(view, place, query="Token", component=config.d_model, neuron=config.d_ffn)
    _hidden(view, place)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        selection.check(view, step.check)
    with right:
        _strongest(view, step)
    st.markdown(f"The products behind neuron {place.neuron}, the largest first:")
    st.plotly_chart(term_bars(step.terms), height=220, key="neuron-terms", alt="The products behind the chosen neuron.")
    _excited(view, place)
    st.subheader(f"Back to {config.d_model} numbers", anchor=False)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.output_formula)
    with right:
        st.markdown(
            f"Neurons and what each adds to component {place.component}, the largest first. The bias is "
            f"{formulas.number(step.output_bias, 4)}."
        )
        st.plotly_chart(
            term_bars(step.output_terms, axis="neuron", chosen=place.neuron, most=24),
            height=240,
            key="neuron-output",
            alt="What each neuron adds to the chosen component of the output.",
        )
    st.button(
        "Then add & norm again",
        icon=":material/arrow_forward:",
        on_click=selection.go,
        args=("norm",),
        kwargs={"part": "ffn"},
    )


def _what(config) -> str:
    name = ACTIVATIONS[config.activation]
    if config.gated:
        return f"{name} lets some through, and a gate, a second product with x, scales each."
    return (
        "ReLU sets what is negative to 0." if config.activation == "relu" else f"{name} lets what is positive through."
    )


def _hidden(view: View, place: explain.Place) -> None:
    layer = explain.hidden_activations(view.trace, place.layer)
    if not layer.exactly_zero:
        threshold = st.slider(
            "Near zero means closer than", 0.01, 0.3, explain.ffn.NEAR_ZERO, 0.01, key="near-zero",
            help="A smooth activation is never exactly 0. GELU goes down to −0.17 and back to 0.",
        )  # fmt: skip
        layer = explain.hidden_activations(view.trace, place.layer, threshold)
    rows = token_rows.part(view.trace.n_tokens, place.query, "ffn")
    plot(
        figures.vectors_heatmap(
            layer.hidden[rows], view.trace.labels, "residual", selected=place.query, component=place.neuron,
            component_name="neuron", first=rows.start, limit=usual_limit(layer.hidden),
        ),
        key="hidden",
        alt=f"Activations of {layer.hidden.shape[1]} neurons, one row a token.",
        height=token_rows.height(rows.stop - rows.start, most=460),
        on_event=partial(selection.take_cell, row="i", column="neuron"),
    )  # fmt: skip
    word = "are exactly 0" if layer.exactly_zero else f"are closer to 0 than {layer.threshold:g}"
    st.caption(
        f"{layer.off_share:.1%} of all activations {word}; of {selection.token(view, place.query)} "
        f"{layer.off_by_token[place.query]:.1%}. {int(layer.never.sum()):,} neurons are so at every token of this "
        "text. Zoom in and click a cell to choose a neuron."
    )


def _strongest(view: View, step: explain.FeedForwardStep) -> None:
    neurons = step.strongest(8)
    st.markdown(f"The strongest neurons of **{selection.token(view, step.place.query)}**; choose a row to see its sum.")
    shown = st.dataframe(
        {"neuron": neurons, "before": step.linear[neurons], "activation": step.hidden[neurons]},
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(neurons),
        on_select="rerun",
        selection_mode="single-row",
        key=f"strongest-{step.place.layer}-{step.place.query}",
        column_config={
            "neuron": st.column_config.NumberColumn("Neuron", format="%d"),
            "before": st.column_config.NumberColumn("x·W + b", format="%.4f"),
            "activation": st.column_config.NumberColumn("Activation", format="%.4f"),
        },
    )
    rows = shown.selection.rows
    if rows:
        neuron = int(neurons[rows[0]])
        st.button(f"Write out neuron {neuron}", on_click=selection.put, kwargs={"neuron": neuron})


def _excited(view: View, place: explain.Place) -> None:
    layer = cache.derived(
        view.model,
        view.text,
        view.pair,
        ("hidden", place.layer),
        partial(explain.hidden_activations, layer=place.layer),
    )
    order = layer.excited_by(place.neuron)[:3]
    names = ", ".join(
        f"**{selection.token(view, int(token))}** ({formulas.number(float(layer.hidden[token, place.neuron]))})"
        for token in order
    )
    strongest = float(layer.hidden[order[0], place.neuron])
    st.markdown(
        f"Which tokens excite neuron {place.neuron}? "
        + (f"Most of all {names}." if strongest > 0 else f"None of this text: the highest are {names}.")
    )
    rows = token_rows.part(view.trace.n_tokens, place.query, "excited")
    st.plotly_chart(
        token_bars(
            {"activation": layer.hidden[rows, place.neuron]}, view.trace.labels, roles=("other",), axis="activation",
            token="token", first=rows.start,
        ),
        height=230,
        key="excited-bars",
        alt=f"The activation of neuron {place.neuron} at every token.",
    )  # fmt: skip
