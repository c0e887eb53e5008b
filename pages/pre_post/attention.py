"""Attention in both placements: all heads, then one head with the difference of its maps."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import figures
from encoder.figures.difference import attention_difference
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES
from encoder.measure import stream
from pages.components import GridEvent, head_grid, plot
from pages.core import sidebar
from pages.core.norm_pair import PLACEMENTS, PairTraces
from pages.core.view import View
from pages.pre_post.export import export_placements

SIGNS = {"pre": "●", "post": "■"}


def attention(view: View, traces: PairTraces) -> None:
    """The heads of both encoders, and the selected one large."""
    moved = traces.head_differences()
    for column, placement in zip(st.columns(2, gap="medium"), PLACEMENTS, strict=True):
        with column:
            grid(view, traces, placement, moved)
    layer, head = (int(place) for place in np.unravel_index(moved.argmax(), moved.shape))
    st.caption(
        "Bar under a map: share of its attention that the head places elsewhere in the other encoder, mean over the "
        f"queries. Largest: L{layer} H{head}, {moved[layer, head]:.0%}. Mean over all heads: {moved.mean():.0%}. Click "
        "a head to compare it below."
    )
    one_head(view, traces, float(moved[view.layer, view.head]))
    export_placements(view, traces.pair.keys)


def name(placement: str) -> None:
    """The placement with its sign and colour."""
    sign = f'<span style="color:{PLACEMENT_COLOURS[placement]}">{SIGNS[placement]}</span>'
    st.markdown(f"{sign} **{PLACEMENT_NAMES[placement]}**", unsafe_allow_html=True)


def grid(view: View, traces: PairTraces, placement: str, moved: np.ndarray) -> None:
    """The small maps of all heads of one encoder."""
    config = traces.trace(placement).config
    name(placement)
    head_grid(
        traces.small_maps(placement), layers=config.n_layers, heads=config.n_heads, selected=(view.layer, view.head),
        key=f"grid-{placement}", colorscale=figures.thumbnails_lut(view.colours), on_event=open_head,
        measure=moved, measure_label="attention placed elsewhere", measure_range=(0.0, 1.0),
        alt=f"Attention maps of all heads in {PLACEMENT_NAMES[placement]}, layers downwards, heads to the right.",
    )  # fmt: skip


def open_head(event: GridEvent) -> None:
    """Select the head that was clicked."""
    if event["event"] == "open":
        sidebar.open_head(event["layer"], event["head"])


def one_head(view: View, traces: PairTraces, moved: float) -> None:
    """Both maps of the selected head on the same scale, and pre-norm minus post-norm."""
    layer, head = view.layer, view.head
    st.subheader(f"L{layer} H{head} in both placements", anchor=False)
    found = traces.of_both(("difference", layer, head), lambda a, b: stream.map_difference(a, b, layer, head))
    labels = traces.trace("pre").labels
    options = {"selected": (view.i, view.j), "block": found.block}
    columns = st.columns(3, gap="small")
    for column, placement, weights in zip(columns, PLACEMENTS, (found.pre, found.post), strict=False):
        with column:
            name(placement)
            plot(
                figures.attention_heatmap(weights, labels, colours=view.colours, **options), key=f"map-{placement}",
                height=400, on_event=lambda event: sidebar.select_from(event, found.block),
                alt=f"Attention map of L{layer} H{head} in {PLACEMENT_NAMES[placement]}.",
            )  # fmt: skip
    with columns[2]:
        st.markdown("**pre-norm − post-norm**")
        plot(
            attention_difference(
                found.values, labels, names=("post-norm", "pre-norm"), weights=(found.post, found.pre), **options
            ),
            key="map-difference", height=400, on_event=lambda event: sidebar.select_from(event, found.block),
            alt=f"Difference of both maps of L{layer} H{head}: teal where pre-norm has more, orange where post-norm.",
        )  # fmt: skip
    st.caption(differences(view, found, labels, moved))


def differences(view: View, found: stream.MapDifference, labels: tuple[str, ...], moved: float) -> str:
    """The largest difference of the two maps, or that of the selected pair, in words."""
    if np.abs(found.values).max() < 5e-4:
        return "Both maps are the same to three decimals: both placements compute the same up to here."
    (row, column), title = found.largest, "Largest difference"
    if view.i is not None and view.j is not None:
        row, column, title = view.i // found.block, view.j // found.block, "Selected pair"
    query, key = (sidebar.plain(labels[place * found.block]) for place in (row, column))
    unit = "" if found.block == 1 else f" (each cell is the largest of {found.block} × {found.block} weights)"
    return (
        f"{title}: {query} (token {row * found.block}) attends to {key} (token {column * found.block}) with "
        f"{found.pre[row, column]:.3f} in pre-norm, {found.post[row, column]:.3f} in post-norm{unit}. Mean over the "
        f"queries: {moved:.0%} of the attention lies elsewhere."
    )
