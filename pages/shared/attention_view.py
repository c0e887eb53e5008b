"""One head's map as a page shows it: exact or pooled, special tokens as asked; and what it says in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.measure import aggregate, ranking
from encoder.trace import Trace, pooling_block
from pages.shared import cached, controls
from pages.shared.view import View, state

#: Up to this many tokens a map is drawn cell by cell; above, one cell stands for a block of tokens until zoomed in.
EXACT_TOKENS = 256
#: Side of the small maps of the grid, at most.
THUMBNAIL = 64


@dataclass(frozen=True)
class HeadMap:
    """What is drawn of one head. weights [rows, columns]; labels: all tokens; block, offsets: the tokens of a cell."""

    weights: np.ndarray
    labels: tuple[str, ...]
    block: int
    row_offset: int
    column_offset: int
    alt: str
    caption: str


def thumbnails(view: View) -> np.ndarray:
    """uint8 [L, H, S, S]: every head's pooled map, 255 for the weight 1; for colours, never for numbers."""
    return cached.derived(
        view.model,
        view.text,
        view.pair,
        ("thumbnails", THUMBNAIL),
        lambda trace: aggregate.to_uint8(trace.thumbnails(THUMBNAIL)),
    )


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


def map_block(trace: Trace) -> int:
    """How many tokens one cell of the large map stands for, each way, when it is drawn whole."""
    return pooling_block(trace.n_tokens, EXACT_TOKENS)


def head_map(view: View, special: str, window: object) -> HeadMap:
    """The map of the view's head."""
    trace, layer, head = view.trace, view.layer, view.head
    block = map_block(trace)
    if block == 1:
        weights = aggregate.special_tokens(trace.attention(layer, head), trace, special)
        caption = "Each row is a query token and sums to 1; each column is a key token that it attends to."
        if special == "zero":
            caption = (
                "The cells of special tokens are set to 0 here, so rows sum to less than 1. The model itself saw them."
            )
        elif special == "renormalise":
            caption = "Special tokens are left out and each row is scaled to sum to 1 again. The model itself saw them."
    else:
        weights = trace.pooled_attention(layer, head, EXACT_TOKENS)
        caption = (
            f"{trace.n_tokens:,} tokens: each cell is the largest weight among {block} × {block} pairs of tokens. "
            "Zoom in to see single tokens."
        )
    alt = f"Attention map of layer {layer}, head {head}: {trace.n_tokens} queries downwards, as many keys to the right."
    return HeadMap(np.asarray(weights), trace.labels, block, 0, 0, alt, caption)


def what_is_seen(view: View, special: str) -> None:
    """In words: what the selected token attends to most, or the head's strongest pairs when none is selected."""
    trace = view.trace
    labels = trace.labels
    attention = aggregate.special_tokens(trace.attention(view.layer, view.head), trace, special)
    if view.i is not None and view.j is not None:
        weight = float(attention[view.i, view.j])
        st.markdown(f"**{_token(labels, view.i)}** attends to **{_token(labels, view.j)}** with **{weight:.3f}**.")
    if view.i is not None:
        st.markdown(
            f"What **{_token(labels, view.i)}** (token {view.i}) attends to most in L{view.layer} H{view.head}:"
        )
        _bars([(labels[entry.key], entry.key, entry.weight) for entry in ranking.strongest_keys(attention, view.i, 6)])
    elif view.j is not None:
        st.markdown(f"Who attends most to **{_token(labels, view.j)}** (token {view.j}) in L{view.layer} H{view.head}:")
        _bars(
            [
                (labels[entry.query], entry.query, entry.weight)
                for entry in ranking.strongest_queries(attention, view.j, 6)
            ]
        )
    else:
        st.markdown("The strongest weights of this head. Click a cell or a token of the map to select it.")
        _bars(
            [
                (f"{labels[entry.query]} → {labels[entry.key]}", entry.query, entry.weight)
                for entry in ranking.strongest_pairs(attention, 6)
            ]
        )
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
