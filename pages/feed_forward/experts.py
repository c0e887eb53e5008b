"""A mixture of experts: which ones the router chooses for each token."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import explain
from encoder.figures.feed_forward import expert_map
from encoder.figures.numbers import three_digits
from pages.components import on_click, plot
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams, token_rows
from pages.core.words import token_names
from pages.state import state


def draw(view: View, token: int) -> dict[str, go.Figure]:
    """The map of the open layer, by its title; {} for a model without experts."""
    weights = view.derived(("experts", view.layer), partial(explain.expert_weights, layer=view.layer))
    if weights is None:
        return {}
    title = f"Which experts work for each token in layer {view.layer}"
    st.header(title, anchor=False)
    chosen = [(expert, weights[token, expert]) for expert in weights[token].argsort()[::-1] if weights[token, expert]]
    shares = ", ".join(f"expert {expert} with weight **{three_digits(weight)}**" for expert, weight in chosen)
    st.markdown(f"Chosen for {token_names.bold(view.trace.labels, token)}: {shares}")
    rows = token_rows.part(view.trace.n_tokens, token, "experts")
    figure = expert_map(weights[rows], view.trace.labels, token=token, colours=view.colours, first=rows.start)
    plot(
        figure,
        key="experts",
        height=token_rows.height(weights.shape[1], frame=150),
        alt=f"The weight of each expert of layer {view.layer}: experts downwards, tokens to the right.",
        on_event=on_click(column=partial(state.put, ViewParams.i), clear=partial(state.put, ViewParams.i, None)),
    )
    count, neurons = np.count_nonzero(weights, axis=0), view.loaded.config.d_ffn // weights.shape[1]
    st.caption(
        f"Weight that the router gives an expert; empty: not chosen. Most used: expert {count.argmax()}, by "
        f"{count.max():,} of {len(weights):,} tokens. Unused in this {words_of(view.trace).text}: "
        f"{int((count == 0).sum())} of {len(count)} experts. Neurons of an expert: {neurons:,}, neuron n belongs to "
        f"expert n // {neurons:,}.{token_rows.which(rows, view.trace.n_tokens, token)}"
    )
    return {title: figure}
