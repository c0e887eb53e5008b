"""Attention rollout: the attention of all layers up to one, multiplied, with the residual connection included."""

import plotly.graph_objects as go
import streamlit as st

from encoder.documents import tables
from encoder.figures.norm_weighted import weighted_heatmap
from encoder.maps import EXACT_TOKENS
from encoder.measure import attention_rollout as measure
from encoder.measure import ranking
from pages.components import plot
from pages.contribution import colour_range
from pages.core.frame import input_row
from pages.core.inputs.input_words import words_of
from pages.core.view import MapParams, View, map_window, selection, token_rows
from pages.core.widgets import Export, adjust, answer, title
from pages.core.words import about, formulas, gestures, token_names
from pages.state import state

#: Tokens that are named next to the one of a row.
NAMED = 3
RULE = (
    r"\begin{gathered}\hat A_l = \tfrac{1}{2}\big(\bar A_l + I\big) \\"
    r"R_l = \hat A_l\, R_{l-1},\qquad R_{-1} = I\end{gathered}"
)


def show(view: View) -> Export:
    """The whole part of the page."""
    drawn = {}
    if view.trace.n_tokens > measure.LONGEST_WHOLE:
        input_row.place_on_picture(view, ("layer",))
        _one_row(view)
    else:
        drawn[f"Rollout after layer {view.layer}"] = _map(view)
    st.caption(about.text(__file__, "Limits of rollout"))
    with st.expander("The formula"):
        formulas.show(RULE)
        st.markdown(r"$\bar A_l$ is the mean over the heads of layer $l$; every row of $R_l$ sums to 1.")
    long, query = view.trace.n_tokens > EXACT_TOKENS, view.i or 0
    rows = f", slice({query}, {query + 1})" if long else ""
    return Export(
        view,
        title(view, f"Attention rollout up to layer {view.layer}"),
        lambda: tables.rollout_frame(view.trace, view.layer, query),
        figures=drawn,
        lines=f"from encoder.measure import rollout\nshares = rollout(trace, {view.layer}{rows})",
        settings={"Layer": view.layer},
    )


def _map(view: View) -> go.Figure:
    trace = view.trace
    with st.spinner("Multiplying the layers …", show_time=False):
        made = view.derived("rollouts", lambda trace: measure.rollouts(trace).cpu())
    part = token_rows.part(trace.n_tokens, view.i, "rollout")
    values = made[view.layer, part]
    with adjust.drawer("rollout"):
        scale = state.segmented(MapParams.scale, "Colour", ["linear", "log"])
        colour_range.control(words_of(trace))
    options = {"log": scale == "log", "colours": view.colours, "selected": (view.i, view.j)}
    end = colour_range.end(view, values, (part.start, 0))
    figure = weighted_heatmap(values, trace.labels, "rollout", largest=end, row_offset=part.start, **options)
    with answer.area():
        query = _query(view)
        first = _row(view, query, made[view.layer, query])
        answer.draw(first, _kept(view, made), clear=selection.clearing(view))
        input_row.place_on_picture(view, ("layer",))
        plot(
            figure,
            key="rollout-map",
            alt=f"Rollout after layer {view.layer}: {len(values)} tokens downwards, {trace.n_tokens} input tokens to "
            "the right.",
            selected=(view.i, view.j),
            zoom=map_window.zoom_of(trace.labels[part], trace.labels),
            on_event=selection.select_from,
        )
    return figure


def _kept(view: View, made: ranking.Weights) -> str:
    """How much of a token is its own, on average, here and after the first layer."""
    kept = measure.kept(made)
    text = f"Mean rollout from a token to itself: {kept[view.layer]:.1%} after layer {view.layer}"
    return f"{text}, {kept[0]:.1%} after layer 0." if view.layer else f"{text}."


def _query(view: View) -> int:
    """The selected query, or the first word."""
    return view.i if view.i is not None else min(1, view.trace.n_tokens - 1)


def _one_row(view: View) -> None:
    """Of a long text only the row of one token, which needs little memory."""
    query = _query(view)
    st.info(
        f"This {words_of(view.trace).text} is {view.trace.n_tokens:,} tokens; whole maps are made up to "
        f"{measure.LONGEST_WHOLE:,}. Shown: the row of one token. "
        f"{gestures.invitation('Select another token on the page Heads.')}",
        icon=":material/content_cut:",
    )
    with st.spinner(f"Following token {query} through {view.layer + 1} layers …", show_time=True):
        row = view.derived(
            ("rollout row", view.layer, query),
            lambda trace: measure.rollout(trace, view.layer, slice(query, query + 1))[0].cpu(),
        )
    st.markdown(_row(view, query, row))


def _row(view: View, query: int, row: ranking.Weights) -> str:
    """The largest numbers of one row, or the selected one, in words."""
    labels = view.trace.labels
    text = f"Rollout of {token_names.bold(labels, query)} after layer {view.layer}: "
    if view.i is not None and view.j is not None:
        rank, count = ranking.rank(row, view.j)
        named = f"{token_names.bold(labels, view.j)} **{float(row[view.j]):.1%}**"
        return f"{text}{named} ({answer.ordinal(rank)} of {count:,})."
    others = [(place, share) for place, share in ranking.strongest(row, NAMED + 1) if place != query][:NAMED]
    text += f"itself {float(row[query]):.1%}"
    if others:
        named = ", ".join(f"{token_names.bold(labels, place)} {share:.1%}" for place, share in others)
        text += f"; largest of the others: {named}"
    other = "" if view.i is not None else gestures.invitation(" Select a row for another token.")
    return f"{text}.{other}"
