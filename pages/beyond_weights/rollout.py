"""Rollout: attention of all layers up to one, multiplied up with the residual counted in."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.moved import moved_heatmap
from encoder.measure import ranking
from encoder.measure import rollout as measure
from pages.components import plot
from pages.core import cache, formulas, sidebar, token_names, token_rows
from pages.core.view import View, state

RULE = r"\hat A_l = \tfrac{1}{2}\big(\bar A_l + I\big),\qquad R_l = \hat A_l\, R_{l-1},\qquad R_{-1} = I"


def show(view: View) -> dict[str, go.Figure]:
    """The whole part of the page. Gives its pictures by their titles."""
    config = view.trace.config
    st.markdown(
        "Each layer mixes tokens that are mixtures already. Rollout (Abnar and Zuidema 2020) follows that down to"
        " the input: it multiplies the layers' attention, averaged over heads and with half of each token kept as"
        " it is for the residual. Row *i* says how much of each input token is counted into token *i*."
    )
    whole, drawn = view.trace.n_tokens <= measure.LONGEST_WHOLE, {}
    if not whole:
        _layer_slider(config.n_layers)
        _one_row(view)
    else:
        drawn[f"Rollout after layer {view.layer}"] = _map(view)
    with st.expander("The formula, and what it leaves out"):
        formulas.show(RULE)
        st.markdown(
            r"$\bar A_l$ is the mean over the heads of layer $l$; every row of $R_l$ sums to 1. Rollout takes the "
            "residual and the attention's update for equally strong, and knows neither the values nor the feed-forward "
            "layers: it follows the weights alone."
        )
    return drawn


def _layer_slider(n_layers: int) -> None:
    if n_layers < 2:
        return
    st.session_state["rollout-layer"] = state.get("layer")
    st.slider(
        "After layer",
        0,
        n_layers - 1,
        key="rollout-layer",
        on_change=lambda: state.put("layer", st.session_state["rollout-layer"]),
        help="The layer of the whole view: the sidebar follows.",
    )


def _map(view: View) -> go.Figure:
    trace = view.trace
    with st.spinner("Multiplying up the layers …", show_time=False):
        made = cache.derived(view.model, view.text, view.pair, ("rollouts",), lambda one: measure.rollouts(one).cpu())
    part = token_rows.part(trace.n_tokens, view.i, "rollout")
    values = made[view.layer, part]
    left, right = st.columns([6, 5], gap="medium")
    with right:  # beside the map, which a projector then shows as a whole
        layers, colour = st.columns([3, 2], gap="medium")
        with layers:
            _layer_slider(trace.config.n_layers)
        with colour:
            state.bound(st.segmented_control, "scale", "Colour", ["linear", "log"], required=True)
    look = {"log": state.get("scale") == "log", "colours": view.colours, "selected": (view.i, view.j)}
    figure = moved_heatmap(values, trace.labels, "rollout", row_offset=part.start, **look)
    with left:
        plot(
            figure,
            key="rollout-map",
            alt=f"Rollout after layer {view.layer}: {len(values)} tokens downwards, {trace.n_tokens} input tokens to "
            "the right.",
            height=300,
            fill=True,
            selected=(view.i, view.j),
            on_event=sidebar.select_from,
        )
    with right:
        kept = measure.kept(made)
        query = view.i if view.i is not None else min(1, trace.n_tokens - 1)
        _row(view, query, made[view.layer, query])
        fallen = f" It was {kept[0]:.1%} after layer 0." if view.layer else ""
        st.markdown(
            f"On average a token is still counted to itself with **{kept[view.layer]:.1%}** after layer {view.layer}."
            + fallen
        )
    return figure


def _one_row(view: View) -> None:
    """Of a long text: the row of one token, which costs little memory."""
    trace = view.trace
    query = view.i if view.i is not None else min(1, trace.n_tokens - 1)
    st.info(
        f"This text is {trace.n_tokens:,} tokens; the whole map is made up to {measure.LONGEST_WHOLE:,}. Shown: "
        "the row of one token. Select another one on the Heads page.",
        icon=":material/content_cut:",
    )
    with st.spinner(f"Following token {query} through {view.layer + 1} layers …", show_time=True):
        row = cache.derived(
            view.model, view.text, view.pair, ("rollout row", view.layer, query),
            lambda one: measure.rollout(one, view.layer, slice(query, query + 1))[0].cpu(),
        )  # fmt: skip
    _row(view, query, row)


def _row(view: View, query: int, row) -> None:
    """The strongest of one row, in words and bars."""
    labels = view.trace.labels
    best = ranking.strongest(row, 8)
    if best[0][0] == query:
        most = f"itself, {best[0][1]:.1%}"
        if len(best) > 1:
            most += f"; then to {token_names.bold(labels, best[1][0])}, {best[1][1]:.1%}"
    else:
        most = f"{token_names.bold(labels, best[0][0])}, {best[0][1]:.1%}; to itself {float(row[query]):.1%}"
    chosen = "" if view.i is not None else " (click a row for another token)"
    st.markdown(
        f"What **{token_names.word(labels[query])}** (token {query}) is made of after layer {view.layer}{chosen}: most "
        f"is counted to {most}."
    )
    st.dataframe(
        {
            "token": [figures.isolated(labels[place]) for place, _ in best],
            "position": [place for place, _ in best],
            "share": [share for _, share in best],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "token": "Input token",
            "position": st.column_config.NumberColumn("Position", width="small"),
            "share": st.column_config.ProgressColumn("Rollout", min_value=0.0, max_value=1.0, format="%.3f"),
        },
    )
