"""Two atlases side by side: every head as a point above its layer, with its interval."""

import plotly.graph_objects as go
import streamlit as st

from encoder.corpus import Atlas, difference
from encoder.figures import colours
from encoder.figures.atlas import heads_by_layer
from encoder.figures.placements import PLACEMENT_COLOURS, SYMBOLS
from encoder.measure.head_types import BY_NAME as TYPES
from pages.components import plot
from pages.core.corpora import atlases
from pages.core.words import errors_said, plain, screen_name
from pages.head_types.atlas_opened import Opened, means
from pages.head_types.params import AtlasView
from pages.state import state


def draw(found: Opened) -> dict[str, go.Figure]:
    """The choice of a second atlas, the figure and what it says; returns the figure by its title, for the report."""
    names = {"": "Nothing", **atlases.offered()}
    name = state.selectbox(AtlasView.against, "Compare with another atlas", names, width=420)
    with errors_said():
        if name:
            return _drawn(found, atlases.opened(name))
    return {}


def _drawn(found: Opened, other: Atlas) -> dict[str, go.Figure]:
    names = _names(found.atlas, other)
    figure = heads_by_layer(
        {
            name: means(atlas, found.measure.name, **look)
            for name, atlas, look in zip(names, (found.atlas, other), _looks(found.atlas, other), strict=True)
        },
        found.measure.title,
        (found.layer, found.head),
    )
    st.markdown(_said(found, other))
    plot(
        figure, height=340, key="atlas:compared",
        alt=f"{found.measure.title} of every head of two atlases, by layer.",
    )  # fmt: skip
    st.caption(
        f"Heads by type over the corpus: {plain(names[0])}: {_types(found.atlas)}. {plain(names[1])}: {_types(other)}."
    )
    return {f"{found.measure.title} in two atlases": figure}


def _names(atlas: Atlas, other: Atlas) -> tuple[str, str]:
    """Model and texts; where these are the same, the names in the choice of atlases."""
    first, second = (f"{screen_name(one.model_name)}, {atlases.texts_of(one)}" for one in (atlas, other))
    if first == second:
        chosen = atlases.offered()
        first = chosen.get(state.get(atlases.AtlasParams.atlas), first)
        second = chosen.get(state.get(AtlasView.against), second)
    return (first, second) if first != second else (first, f"{second} (2)")


def _looks(atlas: Atlas, other: Atlas) -> tuple[dict[str, str], dict[str, str]]:
    """Pre-norm teal circles, post-norm orange squares, where the atlases differ in that."""
    norms = [str(one.manifest["model"].get("norm_placement")) for one in (atlas, other)]
    if set(norms) == set(PLACEMENT_COLOURS):
        return tuple({"symbol": SYMBOLS[norm], "shade": PLACEMENT_COLOURS[norm]} for norm in norms)  # type: ignore[return-value]
    return {"symbol": "circle", "shade": colours.SERIES[0]}, {"symbol": "square", "shade": colours.SERIES[1]}


def _said(found: Opened, other: Atlas) -> str:
    """What may be compared: head by head within one model, else the models as wholes."""
    if found.atlas.model_sha256 != other.model_sha256:
        return (
            "These are two models. Heads with the same number correspond only in two steps of one training: otherwise "
            "compare the points of a layer as a group."
        )
    between = difference(found.atlas, other, found.measure.name, found.layer, found.head)
    clear = "other texts change this head’s mean" if between.low * between.high > 0 else "this may be chance"
    return (
        f"**{found.name}**: the means differ by **{found.said(between.value, 1)}** (95% interval "
        f"{found.said(between.low, 1)} to {found.said(between.high, 1)}), so {clear}."
    )


def _types(atlas: Atlas) -> str:
    rows = atlas.types()
    counts = rows[rows["by_mean"]].groupby("type").size()
    return ", ".join(f"{TYPES[str(name)].title.lower()} {count}" for name, count in counts.items()) or "none"
