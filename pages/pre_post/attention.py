"""Attention in both placements: all heads, then one head with the difference of its maps."""

import dataclasses
from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from encoder import figures
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES, SIGNS
from encoder.measure.ranking import largest_cell
from encoder.run import ModelSpec
from pages.components import head_grid
from pages.components.button import button
from pages.core.frame import input_row
from pages.core.view import MapParams, View, selection
from pages.core.view.norm_pair import PairTraces
from pages.core.widgets import Export, comparison_maps, place
from pages.core.widgets.compared import Compared
from pages.core.widgets.comparison import Side, Sides
from pages.core.words import gestures
from pages.state import state

#: Python that gives the numbers above the maps, of `trace` and `other`.
FIRST_LINES = """from encoder.measure.residual_stream import head_differences, output_agreement
tokens = output_agreement(trace, other)
whole = encoder.causal.outcomes_of(model, trace, [other], encoder.causal.SentenceVector())[-1]
moved = [head_differences(trace, other, layer) for layer in range(trace.config.n_layers)]"""
#: The container of the open head.
ONE_HEAD = "pre-post-head"
#: As in the difference of a head's maps: pre-norm less post-norm.
ORDER = ("post", "pre")


def attention(view: View, traces: PairTraces) -> None:
    """The heads of both encoders, and the selected one large."""
    with st.container(key="both-grids"):
        grids(view, traces)
    with st.container(key=ONE_HEAD):
        with st.container(key="head-place", horizontal=True, vertical_alignment="center", gap="medium"):
            st.header(f"L{view.layer} H{view.head} in both placements", anchor=False, width="content")
            input_row.head_controls(view.loaded.config, ("layer", "head"))
        exported = one_head(view, traces)
    exported.draw()


def grids(view: View, traces: PairTraces) -> None:
    """The small maps of all heads in both placements, and the head that differs most.

    A bar says how much both maps of a head differ, so it is drawn once: in the second grid.
    """
    moved = traces.head_differences()
    bars = (np.full_like(moved, np.nan), moved)
    for column, placement, measure in zip(st.columns(2, gap="medium"), ORDER, bars, strict=True):
        with column:
            grid(view, traces, placement, measure)
    layer, head = largest_cell(moved)
    first, second = (PLACEMENT_NAMES[placement] for placement in ORDER)
    gestures.caption(
        f"Bar under a map of {second}: the share of this head’s attention that is on other tokens than in {first}, "
        f"mean over queries. {gestures.invitation(f'{gestures.CLICK} a head to compare it below.')}"
    )
    if (view.layer, view.head) != (layer, head):
        button(
            f"Open L{layer} H{head}, which differs most: {moved[layer, head]:.0%}",
            "difference",
            "open-most",
            partial(selection.open_head, layer, head),
        )


def differs(moved: np.ndarray) -> str:
    """How much of their attention the heads place elsewhere, in words. moved [L, H]: a share for each head."""
    layer, head = largest_cell(moved)
    return f"{share_moved(moved)} Most: L{layer} H{head}, **{moved[layer, head]:.0%}**."


def share_moved(moved: np.ndarray) -> str:
    """How much of a head's attention is elsewhere on the other side, in words. moved [L, H]."""
    first, second = (PLACEMENT_NAMES[placement] for placement in ORDER)
    return f"In {second}, heads give **{moved.mean():.0%}** of their attention to other tokens than in {first}."


def sides_of(view: View, specs: Mapping[str, ModelSpec]) -> Sides:
    """The head in both norm placements. specs: placement -> the encoder with it."""
    first, second = (
        Side(dataclasses.replace(view.run, model=specs[placement]), PLACEMENT_NAMES[placement]) for placement in ORDER
    )
    return Sides("models", first, second)


def name(placement: str) -> None:
    """The placement with its sign and colour."""
    sign = f':color[{SIGNS[placement]}]{{foreground="{PLACEMENT_COLOURS[placement]}"}}'
    st.markdown(f"{sign} **{PLACEMENT_NAMES[placement]}**")


def grid(view: View, traces: PairTraces, placement: str, moved: np.ndarray) -> None:
    """The small maps of all heads of one encoder. moved [L, H]: the bars, NaN for none."""
    config = traces.trace(placement).config
    name(placement)
    head_grid(
        traces.small_maps(placement),
        layers=config.n_layers,
        heads=config.n_heads,
        selected=(view.layer, view.head),
        key=f"grid-{placement}",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=selection.open_from,
        measure=moved,
        measure_label="on other tokens",
        measure_range=(0.0, 1.0),
        width=635,
        leads_to=ONE_HEAD,
        alt=f"Attention maps of all heads in {PLACEMENT_NAMES[placement]}, layers downwards, heads to the right.",
    )


def one_head(view: View, traces: PairTraces) -> Export:
    """The selected head in both placements, and the difference of its maps."""
    sides = sides_of(view, traces.pair.specs)
    first, second = sides.first, sides.second
    found = sides.compared("show")
    compared = Compared(sides, found, "show", state.get(MapParams.range), (view.i, view.j))
    export = comparison_maps.show(
        dataclasses.replace(view, run=first.run),
        compared,
        f"L{view.layer} H{view.head} in post-norm and pre-norm",
        {"A": f"post-norm, {first.model_name}", "B": f"pre-norm, {second.model_name}", **place(view)},
        on_event=lambda event: selection.select_from(event, found.block),
        clear=selection.clear,
        linked=False,  # the page Model shows the reader's placement only
    )
    return dataclasses.replace(export, lines=f"{export.lines}\n{FIRST_LINES}")
