"""The map view: a heat map of the open head, with exact cells or blocks of tokens."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import streamlit as st

from encoder import figures
from encoder.export import Map
from encoder.figures.numbers import three_digits
from encoder.map_pooling import pooling_block
from pages.components import plot, plot_window
from pages.components.events import PlotEvent
from pages.core import gestures, norm_change
from pages.core.input_words import words_of
from pages.core.map_window import EXACT_TOKENS, zoom_of, zoomed
from pages.core.params import Param, ZoomWindow
from pages.core.view import View
from pages.heads import prefetch
from pages.heads.head_maps import single
from pages.heads.selection import select, toggled

#: Below this weight, a scale from 0 to 1 shows almost no colour.
FAINT = 0.1


def draw_map(view: View, head: Map, key: str = "map") -> None:
    """The heat map with its caption. key: of the plot."""
    zoom = zoom_of(head.shown.query_labels, head.shown.key_labels)
    figure, caption = head_figure(head, key, zoom=zoom)
    place = single(head)
    name = head.name if place is None else f"layer {place[0]}, head {place[1]}"
    plot(
        figure,
        key=key,
        alt=f"Attention map of {name}: {len(head.shown.query_labels)} query tokens downwards, "
        f"{len(head.shown.key_labels)} key tokens to the right.",
        height=320,
        fill=True,
        reserve=24 + 23 * math.ceil(len(caption) / 62),
        prefetched=prefetch.offered(view, head),
        selected=(head.queries, head.keys),
        zoom=zoom,
        on_event=lambda event: on_map_event(event, head, key, zoom),
    )
    gestures.caption(caption)
    if place is not None and (said := norm_change.sentence(dataclasses.replace(view, layer=place[0], head=place[1]))):
        st.markdown(said)


def head_figure(
    head: Map, key: str, scale: float | None = None, zoom: Param[ZoomWindow | None] | None = None
) -> tuple[dict, str]:
    """A map as a plain figure, and its caption.

    key: of its plot; scale: the weight at which colours end; zoom: the value that holds its zoom window.
    """
    shown = head.shown
    look = {
        "log": head.options.log,
        "colours": head.colours,
        "selected": (head.queries, head.keys),
        "parts": head.parts,
    }
    if head.is_exact:
        figure = figures.attention_spec(
            shown.weights, shown.query_labels, key_labels=shown.key_labels, square=False, places=shown.places,
            scale=scale or head.scale(np.asarray(shown.weights), 1), **look,
        )  # fmt: skip
        return figure, " ".join(head.options.map_sentences()) + _range(figure, head)
    n_tokens = head.trace.n_tokens
    queries, keys = zoomed(plot_window(key, zoom), n_tokens)
    weights, block = shown.pooled(EXACT_TOKENS, queries, keys)
    weights = weights.cpu()
    figure = figures.window_spec(
        weights, shown.key_labels, block=block, row_offset=queries.start, column_offset=keys.start,
        scale=scale or head.scale(weights.numpy(), block, (queries.start, keys.start)), **look,
    )  # fmt: skip
    if block == 1:
        caption = (
            f"Rows: tokens {queries.start:,} to {queries.stop - 1:,}. Columns: tokens {keys.start:,} to "
            f"{keys.stop - 1:,}. Each cell is one weight; a row's sum also counts hidden keys. "
            f"{gestures.DOUBLE_CLICK} to see the whole map. {' '.join(head.options.map_sentences())}"
        )
    else:
        caption = (
            f"{n_tokens:,} tokens: each cell shows the largest weight among {block} × {block} token pairs. "
            f"{gestures.either('Drag', 'Choose the magnifier, then drag')} over a part to zoom in."
        )
    return figure, caption + _range(figure, head)


def _range(figure: dict, head: Map) -> str:
    """Where the colours end; a hint where all weights are too small for a scale from 0 to 1."""
    cells, end = np.asarray(figure["data"][0]["z"]), float(figure["data"][0]["zmax"])
    known = ~np.isnan(cells)
    largest = float(np.max(cells, initial=0.0, where=known))
    if head.options.scale_to_words and largest > end:
        return f" The colours end at {three_digits(end)}, the largest weight between {words_of(head.trace).parts}."
    if end < 1 or head.options.log or largest >= FAINT or not known.any():
        return ""
    return (
        f" The largest weight is {three_digits(largest)}. To see it well, choose Options, Colour range, “Fit to map”."
    )


def on_map_event(event: PlotEvent, head: Map, key: str, zoom: Param[ZoomWindow | None] | None = None) -> None:
    """A click selects: a cell its query and key, a label one of them. With shift it adds them or takes them away."""
    axis, shift = event["axis"], event.get("shift", False)
    if axis == "clear":
        select((), ())
    if axis not in ("cell", "x", "y") or (axis == "cell" and _cell_is_block(head, key, zoom)):
        return
    # As in a click, a selected token is named by the first token of its row or column.
    queries = [head.shown.query_tokens(row)[0] for row in head.queries]
    keys = [head.shown.key_tokens(column)[0] for column in head.keys]
    if axis == "y":
        query = head.shown.query_tokens(event["i"])[0]
        select(toggled(queries, query) if shift else [query], keys)
    elif axis == "x":
        column = head.shown.key_tokens(event["j"])[0]
        select(queries, toggled(keys, column) if shift else [column])
    else:
        query, column = head.shown.query_tokens(event["i"])[0], head.shown.key_tokens(event["j"])[0]
        if not shift:
            select([query], [column])
        elif query in queries and column in keys:
            select(toggled(queries, query), toggled(keys, column))
        else:
            select([*queries, query], [*keys, column])


def _cell_is_block(head: Map, key: str, zoom: Param[ZoomWindow | None] | None) -> bool:
    """Whether a cell, as the plot shows the map now, is several tokens wide."""
    if head.is_exact:
        return False
    sides = zoomed(plot_window(key, zoom), head.trace.n_tokens)
    return pooling_block(max(side.stop - side.start for side in sides), EXACT_TOKENS) > 1
