"""One head's map as a page shows it: exact or pooled, special tokens as asked; and what it says in words."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.measure import aggregate, ranking, window
from encoder.trace import Trace, pooling_block
from pages.shared import cached, controls, learn
from pages.shared.components import plot_window
from pages.shared.components.events import ZoomWindow
from pages.shared.view import View, state

#: Up to this many tokens a map is drawn cell by cell; above, one cell stands for a block of tokens until zoomed in.
EXACT_TOKENS = 256
#: Beyond this many tokens all heads take seconds, and progress is shown.
SHORT_TEXT = 1_024
#: Side of the small maps of the grid, at most.
THUMBNAIL = 64


CAPTIONS = {
    "show": "Each row is a query token and sums to 1; each column is a key token that it attends to.",
    "zero": "The cells of special tokens are set to 0 here, so rows sum to less than 1. The model itself saw them.",
    "renormalise": "Special tokens are left out and each row is scaled to sum to 1. The model itself saw them.",
}


def thumbnails(view: View) -> np.ndarray:
    """uint8 [L, H, S, S]: every head's pooled map, 255 for the weight 1; for colours, never for numbers.

    Kept layer by layer, so that a long text shows its progress, and a visitor who goes on meanwhile loses none of it.
    """
    n_layers, long = view.trace.config.n_layers, view.trace.n_tokens > SHORT_TEXT
    bar = st.progress(0.0, "Drawing the small maps …") if long else None
    layers = []
    for layer in range(n_layers):
        if bar is not None:
            bar.progress(layer / n_layers, f"Drawing the small maps: layer {layer} of 0 to {n_layers - 1} …")
        layers.append(cached.derived(view.model, view.text, view.pair, ("thumbnails", THUMBNAIL, layer), _draw(layer)))
    if bar is not None:
        bar.empty()
    return np.stack(layers)


def _draw(layer: int) -> Callable[[Trace], np.ndarray]:
    return lambda trace: aggregate.to_uint8(trace.layer_thumbnails(layer, THUMBNAIL))


def options(place: DeltaGenerator) -> tuple[str, str, str]:
    """How the map is drawn: special tokens (show, zero, renormalise), colour (linear, log), range (fixed, head)."""
    special = state.bound(
        place.segmented_control,
        "special",
        "Special tokens",
        ["show", "zero", "renormalise"],
        required=True,
        format_func={"show": "shown", "zero": "zeroed", "renormalise": "left out, rows to 1"}.get,
        help="[CLS] and [SEP] take much of the attention in many heads. Zeroed: their cells are 0. Left out: "
        "the rest of each row is scaled to sum to 1. The model itself always sees them.",
    )
    scale = state.bound(place.segmented_control, "scale", "Colour", ["linear", "log"], required=True)
    span = state.bound(
        place.segmented_control,
        "range",
        "Range",
        ["fixed", "head"],
        required=True,
        format_func={"fixed": "0 to 1", "head": "this head"}.get,
        help="0 to 1 makes heads comparable; this head's own range shows faint patterns.",
    )
    return special, scale, span


def shown_block(trace: Trace, key: str) -> int:
    """How many tokens, each way, one cell of the large map stands for as it is drawn now. key: of the plot."""
    return pooling_block(max(side.stop - side.start for side in zoomed(plot_window(key), trace.n_tokens)), EXACT_TOKENS)


def head_map(view: View, key: str, special: str, scale: str, span: str) -> tuple[go.Figure, str]:
    """The map of the view's head as a figure, and the sentence under it. key: of the plot that shows it."""
    look = {"scale": span, "log": scale == "log", "colours": view.colours, "selected": (view.i, view.j)}
    trace = view.trace
    if trace.n_tokens <= EXACT_TOKENS:
        weights = window.attention_rows(trace, view.layer, view.head, special)
        return figures.attention_heatmap(weights, trace.labels, **look), CAPTIONS[special]
    queries, keys = zoomed(plot_window(key), trace.n_tokens)
    weights, block = window.pooled_window(trace, view.layer, view.head, special, EXACT_TOKENS, queries, keys)
    figure = figures.attention_window(
        weights, trace.labels, block=block, row_offset=queries.start, column_offset=keys.start, **look
    )
    if block == 1:
        return (
            figure,
            f"Tokens {queries.start:,} to {queries.stop - 1:,} and {keys.start:,} to {keys.stop - 1:,}, each "
            "cell one weight. Double-click to see all. " + CAPTIONS[special],
        )
    return figure, (
        f"{trace.n_tokens:,} tokens: each cell is the largest weight among {block} × {block} pairs of tokens. "
        "Drag over a part to zoom in, down to single tokens."
    )


def zoomed(zoom: ZoomWindow | None, n_tokens: int) -> tuple[slice, slice]:
    """The tokens that a zoom window shows, cut ones included: (queries, keys)."""
    if zoom is None:
        return slice(0, n_tokens), slice(0, n_tokens)

    def tokens(side: list[float]) -> slice:
        low = min(max(0, math.floor(side[0] + 0.5)), n_tokens - 1)
        return slice(low, max(low + 1, min(n_tokens, math.ceil(side[1] + 0.5))))

    return tokens(zoom["y"]), tokens(zoom["x"])


def what_is_seen(view: View, special: str) -> None:
    """In words: what the selected token attends to most, or the head's strongest pairs when none is selected."""
    trace, layer, head, labels = view.trace, view.layer, view.head, view.trace.labels
    if view.i is not None:
        row = window.attention_rows(trace, layer, head, special, slice(view.i, view.i + 1))[0]
        if view.j is not None:
            st.markdown(
                f"**{_token(labels, view.i)}** attends to **{_token(labels, view.j)}** with **{row[view.j]:.3f}**."
            )
        st.markdown(f"What **{_token(labels, view.i)}** (token {view.i}) attends to most in L{layer} H{head}:")
        _bars([(figures.isolated(labels[key]), key, weight) for key, weight in ranking.strongest(row, 6)])
    elif view.j is not None:
        column = window.attention_column(trace, layer, head, special, view.j)
        st.markdown(f"Who attends most to **{_token(labels, view.j)}** (token {view.j}) in L{layer} H{head}:")
        _bars([(figures.isolated(labels[query]), query, weight) for query, weight in ranking.strongest(column, 6)])
    else:
        st.markdown("The strongest weights of this head. Click a cell or a token of the map to select it.")
        pairs = window.strongest_pairs(trace, layer, head, special, 6)
        _bars([(figures.arrow(labels[query], labels[key]), query, weight) for query, key, weight in pairs])
    both = view.i is not None and view.j is not None
    if both and st.button("How this weight is made", icon=":material/calculate:"):
        learn.go("softmax")
        st.switch_page("pages/learn/steps.py")
    if view.i is not None or view.j is not None:
        st.button("Clear selection", icon=":material/close:", on_click=controls.select, args=(None, None))


def _token(labels: tuple[str, ...], position: int) -> str:
    return controls.plain(labels[position])


def _bars(rows: list[tuple[str, int, float]]) -> None:
    """Label, token and weight, with a bar from 0 to 1."""
    st.dataframe(
        {"token": [row[0] for row in rows], "position": [row[1] for row in rows], "weight": [row[2] for row in rows]},
        hide_index=True,
        width="stretch",
        column_config={
            "token": st.column_config.TextColumn("Token"),
            "position": st.column_config.NumberColumn("Position", width="small"),
            "weight": st.column_config.ProgressColumn("Weight", min_value=0.0, max_value=1.0, format="%.3f"),
        },
    )
