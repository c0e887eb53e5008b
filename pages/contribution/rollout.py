"""Attention rollout: the attention of all layers up to one, multiplied, with the residual connection included."""

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.export import tables
from encoder.figures.norm_weighted import weighted_heatmap
from encoder.measure import ranking
from encoder.measure import rollout as measure
from encoder.measure.ranking import Weights
from pages.components import plot
from pages.contribution import over_depth
from pages.core.frame import input_row
from pages.core.inputs.input_words import words_of
from pages.core.view import map_window, token_rows
from pages.core.view.view import MapParams, View, ViewParams, state
from pages.core.widgets import answer
from pages.core.widgets.export import Export, title
from pages.core.words import formulas, references, token_names
from pages.state.url_state import controlled

RULE = (
    r"\begin{gathered}\hat A_l = \tfrac{1}{2}\big(\bar A_l + I\big) \\"
    r"R_l = \hat A_l\, R_{l-1},\qquad R_{-1} = I\end{gathered}"
)


def show(view: View) -> Export:
    """The whole part of the page."""
    drawn = {}
    if view.trace.n_tokens > measure.LONGEST_WHOLE:
        _layer_slider(view)
        _one_row(view)
    else:
        drawn[f"Rollout after layer {view.layer}"] = _map(view)
    references.caption(
        "Limits: rollout (Abnar and Zuidema 2020) is a heuristic. It gives attention and residual connection equal "
        "weight, and leaves out values, LayerNorm and the feed-forward layers."
    )
    if view.trace.kind == "image":
        over_depth.draw(view)
    with st.expander("The formula"):
        formulas.show(RULE)
        st.markdown(r"$\bar A_l$ is the mean over the heads of layer $l$; every row of $R_l$ sums to 1.")
    long, query = view.trace.n_tokens > tables.EXACT_TOKENS, view.i or 0
    rows = f", slice({query}, {query + 1})" if long else ""
    return Export(
        view,
        title(view, f"Attention rollout up to layer {view.layer}"),
        lambda: tables.rollout_frame(view.trace, view.layer, query),
        figures=drawn,
        lines=f"from encoder.measure import rollout\nshares = rollout.rollout(trace, {view.layer}{rows})",
        settings={"Layer": view.layer},
    )


def _layer_slider(view: View) -> None:
    n_layers = view.trace.config.n_layers
    if n_layers > 1:
        controlled(
            st.slider, "After layer", 0, n_layers - 1, key="rollout-layer", value=view.layer,
            take=lambda layer: state.put(ViewParams.layer, layer), help="Also sets the layer above the page.",
        )  # fmt: skip


def _map(view: View) -> go.Figure:
    trace = view.trace
    with st.spinner("Multiplying the layers …", show_time=False):
        made = view.derived("rollouts", lambda trace: measure.rollouts(trace).cpu())
    part = token_rows.part(trace.n_tokens, view.i, "rollout")
    values = made[view.layer, part]
    layers, colour = st.columns([3, 1], gap="medium")
    with layers:
        _layer_slider(view)
    with colour:
        scale = state.segmented(MapParams.scale, "Colour", ["linear", "log"])
    options = {"log": scale == "log", "colours": view.colours, "selected": (view.i, view.j)}
    figure = weighted_heatmap(values, trace.labels, "rollout", row_offset=part.start, **options)
    with answer.area():
        _answer(view, made[view.layer])
        plot(
            figure,
            key="rollout-map",
            alt=f"Rollout after layer {view.layer}: {len(values)} tokens downwards, {trace.n_tokens} input tokens to "
            "the right.",
            selected=(view.i, view.j),
            zoom=map_window.zoom_of(trace.labels[part], trace.labels),
            on_event=input_row.select_from,
        )
    query = _query(view)
    _row(view, query, made[view.layer, query])
    kept = measure.kept(made)
    text = f"Mean rollout from a token to itself: **{kept[view.layer]:.1%}** after layer {view.layer}"
    st.markdown(f"{text}, {kept[0]:.1%} after layer 0." if view.layer else f"{text}.")
    return figure


def _answer(view: View, rollout: Weights) -> None:
    """The line above the map: the selected cell or row. rollout [T, T]."""
    clear = None if view.i is None and view.j is None else lambda: input_row.select(None, None)
    if view.i is None:
        answer.draw(clear=clear)
        return
    labels, row = view.trace.labels, rollout[view.i]
    query = token_names.bold(labels, view.i)
    if view.j is None:
        answer.draw(f"Rollout of {query}: {answer.largest(row, labels)}.", "The three largest shares.", clear=clear)
        return
    first = f"Rollout of {query} to {token_names.bold(labels, view.j)}: {answer.weight(row, view.j)}."
    answer.draw(first, f"Largest in this row: {answer.largest(row, labels)}.", clear=clear)


def _query(view: View) -> int:
    """The selected query, or the first word."""
    return view.i if view.i is not None else min(1, view.trace.n_tokens - 1)


def _one_row(view: View) -> None:
    """Of a long text only the row of one token, which needs little memory."""
    query = _query(view)
    st.info(
        f"This {words_of(view.trace).text} is {view.trace.n_tokens:,} tokens; whole maps are made up to "
        f"{measure.LONGEST_WHOLE:,}. Shown: the row of one token. Select another token on the page Heads.",
        icon=":material/content_cut:",
    )
    with st.spinner(f"Following token {query} through {view.layer + 1} layers …", show_time=True):
        row = view.derived(
            ("rollout row", view.layer, query),
            lambda trace: measure.rollout(trace, view.layer, slice(query, query + 1))[0].cpu(),
        )
    _row(view, query, row)


def _row(view: View, query: int, row) -> None:
    """The largest numbers of one row, in words and bars."""
    labels = view.trace.labels
    best = ranking.strongest(row, 8)
    others = [(place, share) for place, share in best if place != query]
    text = f"Rollout of **{token_names.word(labels[query])}** (token {query}) after layer {view.layer}: itself "
    text += f"{float(row[query]):.1%}"
    if others:
        text += f"; the largest other is {token_names.bold(labels, others[0][0])}, {others[0][1]:.1%}"
    st.markdown(f"{text}." if view.i is not None else f"{text}. Select a row for another token.")
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
