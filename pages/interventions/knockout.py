"""Attention knockout: which token one query needs, and around which layer. A click hides it there."""

from functools import partial

import numpy as np
import streamlit as st

from encoder import causal, figures
from encoder.causal.effects import WINDOW
from encoder.figures.layers import knock_out_map
from encoder.measure.ranking import largest_cell
from pages.components import on_click, plot
from pages.components.lazy import expander
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.widgets.effects import measured
from pages.core.words import about, errors_said, number, token_names
from pages.interventions.params import Params
from pages.state import controlled, state

#: The longest text, in tokens: the map needs a run for each layer and token.
LONGEST = 128


def draw(view: View, outcome: causal.Outcome) -> None:
    """The map [L, T] of one query, drawn when it is open."""
    part = expander("Which tokens does one query need?", "connections", icon=":material/link_off:")
    if part is None:
        return
    with part, errors_said(st.info, icon=":material/info:"):
        query = _query(view, outcome)
        effects = _effects(view, outcome, query)
        if effects is not None:
            _map(view, effects, query)


def _query(view: View, outcome: causal.Outcome) -> int:
    """The widget of the query, and its position; by default the token whose output the outcome reads."""
    labels, query = view.trace.labels, state.get(Params.query)
    if query is None or query >= len(labels):
        query = view.i if view.i is not None else min(1, len(labels) - 1)
        if isinstance(outcome, causal.TokenVector):
            query = outcome.position
        elif isinstance(outcome, causal.MaskedWord) and view.loaded.tokenizer.mask_token in view.trace.tokens:
            query = view.trace.tokens.index(view.loaded.tokenizer.mask_token)
    controlled(
        st.selectbox, "Query token", range(len(labels)), key="knock-out:query", value=query, width=200,
        take=partial(state.put, Params.query), format_func=lambda one: f"{one} · {figures.isolated(labels[one])}",
    )  # fmt: skip
    return query


def _effects(view: View, outcome: causal.Outcome, query: int) -> np.ndarray | None:
    labels = view.trace.labels
    return measured(
        "knock-out",
        ("knock-out", view.model, view.text, view.pair, outcome, query),
        lambda: causal.iter_knock_out(view.loaded, view.trace, query, outcome),
        lambda values: knock_out_map(values, labels),
        runs=view.loaded.config.n_layers * view.trace.n_tokens,
        n_tokens=view.trace.n_tokens,
        longest=LONGEST,
        label="Measure all tokens",
        doing="Hiding tokens",
    )


def _map(view: View, effects: np.ndarray, query: int) -> None:
    """The map; a click adds the edits of a cell."""
    labels, n_layers = view.trace.labels, len(effects)

    def hide(layer: int, key: int) -> None:
        for edit in causal.knock_out_edits(n_layers, layer, query, key):
            edited.add(edit)

    plot(
        knock_out_map(effects, labels),
        key="knock-out-map",
        alt=f"Effect of hiding each of {len(labels)} tokens from one query: {n_layers} layers downwards.",
        on_event=on_click(cell=hide),
    )
    layer, key = largest_cell(np.abs(effects))
    st.markdown(
        f"Largest: {token_names.bold(labels, key)} hidden from {token_names.bold(labels, query)} around layer "
        f"{layer}, **{number(float(effects[layer, key]))}**. Click a cell to add its edits."
    )
    st.caption(about.text(__file__, "Attention knockout", window=WINDOW))
