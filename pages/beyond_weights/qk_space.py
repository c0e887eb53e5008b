"""Queries and keys of a head in one plane, and lines to the strongest keys."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from encoder.figures.qk_plane import KEYS, QUERIES, qk_plane
from encoder.measure.qk_space import QKSpace, qk_space
from pages.components import plot
from pages.core import cache, sidebar, token_names, token_rows
from pages.core.view import View, state


def show(view: View) -> tuple[QKSpace, dict[str, go.Figure]]:
    """The whole part of the page. Gives the points and its picture by its title."""
    layer, head, trace = view.layer, view.head, view.trace
    st.markdown(
        f"Every :blue[**query**] and every :red[**key**] of **L{layer} H{head}** in one plane. The closer a key "
        "lies to a query, the larger their product tends to be; a line leads from each query to the key it "
        "attends to most. Click a point to select its token."
    )
    with st.spinner("Laying queries and keys out …", show_time=False):
        space: QKSpace = cache.derived(
            view.model, view.text, view.pair, ("qk space", layer, head), lambda one: qk_space(one, layer, head)
        )
    part = token_rows.part(trace.n_real, view.i if view.i is not None else view.j, "plane")
    figure = qk_plane(
        space.queries[part],
        space.keys[part],
        trace.labels,
        space.strongest[part],
        space.weights[part],
        explained=space.explained,
        selected=(view.i, view.j),
        first=part.start,
    )
    plot(
        figure,
        key="plane",
        alt=f"Queries and keys of layer {layer}, head {head}, as points: {len(space.queries)} of each, a line from "
        "each query to its strongest key.",
        height=560,
        on_event=lambda event: _take(event, part.start),
    )
    st.caption(_what_is_seen(view, space))
    with st.expander("How the plane is made"):
        st.markdown(
            "Queries and keys live apart, so a plain picture would show two clouds. Two changes leave every "
            "weight as it is (Yeh et al. 2023, AttentionViz). The same vector added to all keys changes all "
            "scores of a query alike, which its softmax does not see: the keys are moved onto the middle of the "
            "queries. And queries times *c*, keys divided by *c* have the same products: here *c* = "
            f"{space.scale:.3f}, for which distance and product correlate most, with {space.correlation:.2f} (near"
            f" pairs count most; −1 would be perfect). Then principal components of all {2 * len(space.queries):,}"
            f" vectors together. Two of {trace.config.d_head} dimensions keep {space.explained.sum():.0%} of the "
            "variance, so near on the screen is not always near."
        )
    return space, {"Queries and keys in one plane": figure}


def _what_is_seen(view: View, space: QKSpace) -> str:
    labels = view.trace.labels
    hits, of = space.nearest_is_strongest()
    text = "A point without room for its name says it when pointed at. "
    text += f"For {hits} of {of} queries the nearest key on the screen is the one that they attend to most."
    if view.i is not None and view.i < len(space.strongest):
        key = int(space.strongest[view.i])
        text += (
            f" **{token_names.word(labels[view.i])}** ({view.i}) attends most to **{token_names.word(labels[key])}** "
            f"({key}), with {space.weights[view.i]:.3f}."
        )
    config = view.loaded.config
    if config.relative_buckets:
        text += " This model also adds a bias by distance to the scores, which the plane does not know."
    elif config.position == "rotary":
        text += " Queries and keys are shown as the scores use them: already turned by their position."
    return text


def _take(event: dict, first: int) -> None:
    """A click on a query selects it as i, on a key as j; Esc clears."""
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        sidebar.select(None, None)
    elif event["axis"] == "point" and event["trace"] in (QUERIES, KEYS):
        state.put("i" if event["trace"] == QUERIES else "j", first + event["point"])
