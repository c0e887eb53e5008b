"""Attention in both placements: all heads, then one head with the difference of its maps."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.export import tables
from encoder.figures.difference import attention_difference
from encoder.figures.numbers import signed
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES
from encoder.measure import align
from encoder.measure.map_comparison import Comparison
from encoder.measure.ranking import largest_cell
from pages.components import head_grid, plot
from pages.core.stores import cache
from pages.core.view import View, map_window, selection
from pages.core.view.norm_pair import PLACEMENTS, PairTraces
from pages.core.widgets import Export, answer, place
from pages.core.widgets import comparison as compare
from pages.core.words import gestures, token_names
from pages.pre_post.params import Params
from pages.state import Param, ZoomWindow, state

SIGNS = {"pre": "●", "post": "■"}
#: What the maps of one head show: value -> title.
MAPS = {"side": "Side by side"} | {placement: PLACEMENT_NAMES[placement].capitalize() for placement in PLACEMENTS}


def attention(view: View, traces: PairTraces) -> None:
    """The heads of both encoders, and the selected one large."""
    moved = traces.head_differences()
    for column, placement in zip(st.columns(2, gap="medium"), PLACEMENTS, strict=True):
        with column:
            grid(view, traces, placement, moved)
    layer, head = largest_cell(moved)
    gestures.caption(
        "Bar under a map: share of its attention that the head places elsewhere in the other encoder, mean over the "
        f"queries. Largest: L{layer} H{head}, {moved[layer, head]:.0%}. Mean over all heads: {moved.mean():.0%}. "
        f"{gestures.CLICK} a head to compare it below."
    )
    if (view.layer, view.head) != (layer, head):
        st.button(
            f"Open L{layer} H{head}, which differs most", key="open-most", icon=":material/difference:",
            on_click=selection.open_head, args=(layer, head),
        )  # fmt: skip
    sides = sides_of(view, traces.pair.keys)
    one_head(view, traces, sides, float(moved[view.layer, view.head]))
    exported(view, sides).draw()


def sides_of(view: View, keys: Mapping[str, cache.ModelKey]) -> compare.Sides:
    """The head in both norm placements. keys: placement -> the encoder with it; A is post-norm, B pre-norm."""
    first, second = (
        compare.Side(keys[placement], view.text, view.pair, view.layer, view.head, name)
        for name, placement in (("A", "post"), ("B", "pre"))
    )
    return compare.Sides("models", first, second)


def exported(view: View, sides: compare.Sides) -> Export:
    """The head in both norm placements."""
    first, second = sides.first, sides.second

    def frame() -> pd.DataFrame:
        names = align.step_labels(first.trace, second.trace, sides.alignment)
        return tables.comparison_frame(sides.compared("show"), names[0], names[1])

    def drawn() -> Mapping[str, go.Figure]:
        found, block = sides.compared("show"), {"block": sides.compared("show").block}
        labels = align.step_labels(first.trace, second.trace, sides.alignment)[2]
        return {
            "Post-norm": figures.attention_heatmap(found.first, labels, colours=view.colours, **block),
            "Pre-norm": figures.attention_heatmap(found.second, labels, colours=view.colours, **block),
            "Pre-norm − post-norm": attention_difference(
                found.difference, labels, names=("post-norm", "pre-norm"), **block
            ),
        }

    return Export(
        dataclasses.replace(view, model=first.model),
        f"L{view.layer} H{view.head} in post-norm and pre-norm",
        frame,
        figures=drawn,
        lines=compare.python_lines(sides, "show"),
        settings={"A": f"post-norm, {first.model_name}", "B": f"pre-norm, {second.model_name}", **place(view)},
    )


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
        key=f"grid-{placement}", colorscale=figures.thumbnails_lut(view.colours), on_event=selection.open_from,
        measure=moved, measure_label="attention placed elsewhere", measure_range=(0.0, 1.0),
        alt=f"Attention maps of all heads in {PLACEMENT_NAMES[placement]}, layers downwards, heads to the right.",
    )  # fmt: skip


def one_head(view: View, traces: PairTraces, sides: compare.Sides, moved: float) -> None:
    """The selected head: both maps and their difference, or one map whose placement you switch."""
    layer, head = view.layer, view.head
    st.header(f"L{layer} H{head} in both placements", anchor=False)
    found = sides.compared("show")
    shown = state.segmented(Params.maps, "Maps", MAPS, label_visibility="collapsed")
    st.markdown(differences(view, found, traces.trace("pre").labels, moved))
    with answer.area():
        answer.draw_row(
            view,
            lambda row: {PLACEMENT_NAMES[p]: traces.trace(p).attention(view.layer, view.head, row) for p in PLACEMENTS},
        )
        if shown == "side":
            side_by_side(view, traces, found)
            return
        labels = traces.trace(shown).labels
        zoom = map_window.zoom_of(labels, labels) if found.block == 1 else None
        one_map(view, traces, found, shown, key="map-switched", zoom=zoom)
        difference_map(view, traces, found)


def side_by_side(view: View, traces: PairTraces, found: Comparison) -> None:
    """Pre-norm minus post-norm, then both maps on the same scale."""
    difference_map(view, traces, found)
    for column, placement in zip(st.columns(2, gap="small"), PLACEMENTS, strict=True):
        with column:
            one_map(view, traces, found, placement, key=f"map-{placement}")


def one_map(
    view: View,
    traces: PairTraces,
    found: Comparison,
    placement: str,
    *,
    key: str,
    zoom: Param[ZoomWindow | None] | None = None,
) -> None:
    """The selected head in one placement, with the weight of the selected pair below it."""
    labels = traces.trace(placement).labels
    name(placement)
    weights = found.second if placement == "pre" else found.first
    plot(
        figures.attention_heatmap(
            weights, labels, colours=view.colours, selected=(view.i, view.j), block=found.block
        ),
        key=key, shows=placement, zoom=zoom,
        on_event=lambda event: selection.select_from(event, found.block),
        alt=f"Attention map of L{view.layer} H{view.head} in {PLACEMENT_NAMES[placement]}.",
    )  # fmt: skip
    row, column = pair(view, found)
    st.markdown(f"{in_words(labels, found.block, row, column)}: **{weights[row, column]:.3f}**")


def difference_map(view: View, traces: PairTraces, found: Comparison) -> None:
    """Pre-norm minus post-norm, with the difference of the selected pair below it."""
    labels = traces.trace("pre").labels
    st.markdown("**pre-norm − post-norm**")
    plot(
        attention_difference(
            found.difference, labels, names=("post-norm", "pre-norm"), weights=(found.first, found.second),
            selected=(view.i, view.j), block=found.block,
        ),
        key="map-difference", on_event=lambda event: selection.select_from(event, found.block),
        alt=f"Difference of both maps of L{view.layer} H{view.head}: teal where pre-norm has more, orange where "
        "post-norm.",
    )  # fmt: skip
    row, column = pair(view, found)
    st.markdown(f"{in_words(labels, found.block, row, column)}: **{signed(float(found.difference[row, column]))}**")


def pair(view: View, found: Comparison) -> tuple[int, int]:
    """The cell of the selected pair, by default that of the largest difference."""
    query, key = (found.most.query, found.most.key) if view.i is None or view.j is None else (view.i, view.j)
    return query // found.block, key // found.block


def in_words(labels: tuple[str, ...], block: int, row: int, column: int) -> str:
    """The two tokens of a cell; of a pooled one, the first of each."""
    return " → ".join(token_names.quoted(labels, place * block) for place in (row, column))


def differences(view: View, found: Comparison, labels: tuple[str, ...], moved: float) -> str:
    """The largest difference of the two maps, or that of the selected pair, in words."""
    if abs(found.most.difference) < 5e-4:
        return "Both maps are the same to three decimals: both placements compute the same up to here."
    row, column = pair(view, found)
    title = "largest difference" if view.i is None or view.j is None else "selected pair"
    unit = "" if found.block == 1 else f" (each the largest of {found.block} × {found.block} weights)"
    return (
        f"Share of this head's attention that moved: **{moved:.0%}**; {title}: "
        f"{in_words(labels, found.block, row, column)}, {found.second[row, column]:.3f} in pre-norm, "
        f"{found.first[row, column]:.3f} in post-norm{unit}."
    )
