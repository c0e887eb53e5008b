"""Vectors that are added at each position, and the similarity of each two of them."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from encoder import figures
from encoder.measure import patches, positions
from pages.components import on_click, plot
from pages.components.events import PlotEvent
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams
from pages.core.widgets import answer
from pages.core.words import about, gestures, number, references, token_names
from pages.positions.params import Params
from pages.state import state

#: kind of encoding -> [N, E] vectors of the positions 0 .. N-1.
Tables = dict[str, np.ndarray]


def chosen_encoding(view: View, tables: Tables) -> str:
    """The control for what is drawn: the model's own vectors, or sines and cosines."""
    titles = {"model": heading_of(view, next(iter(tables), "")), "sines": heading_of(view, "sinusoidal")}
    chosen = state.segmented(Params.encoding, "Encoding", titles) if len(tables) > 1 else "model"
    return "sinusoidal" if chosen == "sines" else next(iter(tables), "")


def chosen_product() -> None:
    """The control for the measure of similarity."""
    state.segmented(
        Params.product,
        "Similarity",
        {"cosine": "cosine", "dot": "dot product"},
        help="Cosine: the dot product divided by both norms. 1: same direction; 0: orthogonal; −1: opposite.",
    )


def encodings(view: View, tables: Tables, kind: str, said: str = "") -> None:
    """The vectors of an encoding as a map. said: how the model knows its positions, in one sentence."""
    config = view.loaded.config
    if tables and config.position not in tables:
        st.header("For comparison: sines and cosines", anchor=False)
        st.markdown("This **sinusoidal** encoding has the width of the model, but the model does not add it.")
    if tables:
        with answer.area():
            selected = selected_in_words(view, {kind: tables[kind]} if said else tables)
            answer.draw(said or selected, selected if said else "")
            heatmap(view, kind, tables[kind])
    if config.embedding_width % 2:
        st.caption(
            f"No sinusoidal encoding for comparison: it needs an even width, and this width, {config.embedding_width}, "
            "is odd."
        )


def selected_in_words(view: View, tables: Tables) -> str:
    """The selected position and the two positions that are most similar to it, in each encoding."""
    place = view.i
    drawn = {kind: table for kind, table in tables.items() if place is not None and place < len(table)}
    if place is None or not drawn:
        return gestures.invitation("Select a row to read which positions are most similar to it.")
    said = []
    for kind, table in drawn.items():
        row = similarity_of(view, kind, table, cosine=True)[0][place]
        others = sorted((one for one in range(len(row)) if one != place), key=lambda one: -float(row[one]))[:2]
        listed = " and ".join(f"{one} (cosine **{float(row[one]):.2f}**)" for one in others)
        said.append(f"{heading_of(view, kind)}: most similar to position {listed or 'none'}")
    token = f", {token_names.quoted(view.trace.labels, place)}" if place < view.trace.n_tokens else ""
    return f"Position {place}{token}. {'; '.join(said)}."


def heading_of(view: View, kind: str) -> str:
    """An encoding in headings and legends."""
    if kind == "sinusoidal" and view.loaded.config.position != "sinusoidal":
        return "Sinusoidal, for comparison"
    if kind == "learned" and view.model.untrained is not None:
        return "Random, untrained"
    return kind.title()


def select_position(view: View) -> Callable[[PlotEvent], None]:
    """A click on a row selects the token at this position, if the sentence has one."""

    def select(position: int) -> None:
        if position < view.trace.n_tokens:
            state.put(ViewParams.i, position)

    return on_click(row=select)


def heatmap(view: View, kind: str, table: np.ndarray) -> None:
    """An encoding as a map. table [N, E]."""
    title, components = heading_of(view, kind), None
    if kind == "learned" and view.model.untrained is None:
        components, table = positions.slowest_first(table)
    plot(
        figures.position_heatmap(table, title=title, selected=view.i, components=components),
        key="encoding",
        alt=f"{title}: {len(table)} positions downwards, {table.shape[1]} components to the right.",
        shows=kind,
        on_event=select_position(view),
    )
    st.caption(how_to_read(view, kind))


def how_to_read(view: View, kind: str) -> str:
    """What the rows and columns of a map mean."""
    if kind not in ("sinusoidal", "convolutional"):
        kind = "learned" if view.model.untrained is None else "untrained"
    return about.text(__file__, f"Rows and columns: {kind}")


def similarity(view: View, tables: Tables, shown: str) -> None:
    """The similarity of each two positions: of one encoding as a map, of all by distance."""
    if not tables:
        st.info("This model adds no position vectors, so they cannot be compared.")
        return
    cosine = state.get(Params.product) == "cosine"
    unit = "cosine" if cosine else "dot product"
    products, curves = {}, {}
    for kind, table in tables.items():
        products[kind], curves[kind] = similarity_of(view, kind, table, cosine=cosine)
    answer.draw(selected_in_words(view, tables))
    left, right = st.columns([2, 3])
    title, matrix = heading_of(view, shown), products[shown]
    with left:
        plot(
            figures.position_dot_products(matrix, title=title, cosine=cosine, selected=view.i),
            key="products",
            alt=f"{title}: {unit} of each two of {len(matrix)} positions.",
            height=420,
            on_event=select_position(view),
        )
    # Cosines share an axis; dot products of different encodings differ too much in size.
    charts = [curves] if cosine else [{kind: curve} for kind, curve in curves.items()]
    with right:
        for chart in charts:
            plot(
                figures.distance_curve({heading_of(view, kind): curve for kind, curve in chart.items()}, unit=unit),
                height=420 // len(charts),
                key=f"by-distance-{'-'.join(chart)}",
                alt="Similarity of two positions by their distance, with the middle 80% of all pairs.",
            )
    st.caption(
        "Line: mean over all pairs at this distance. Band: the middle 80% of these pairs. "
        + " ".join(curve_in_words(view, kind, curve) for kind, curve in curves.items() if len(curve) > 1)
    )


def similarity_of(view: View, kind: str, table: np.ndarray, *, cosine: bool) -> tuple[np.ndarray, pd.DataFrame]:
    """[N, N] similarity of each two positions, and a row per distance. Cached."""
    options = (kind, len(table), cosine)
    products = view.derived(("position products", *options), lambda _: figures.position_products(table, cosine=cosine))
    return products, view.derived(("position curve", *options), lambda _: figures.products_by_distance(products))


def curve_in_words(view: View, kind: str, curve: pd.DataFrame) -> str:
    """The two ends of a curve."""
    near, far = curve["mean"].iloc[1], curve["mean"].iloc[-1]
    return f"{heading_of(view, kind)}: {near:.2f} at distance 1, {far:.2f} at distance {len(curve) - 1}."


#: More patches are not drawn as a grid of small maps.
MOST_PATCHES = 400


def patch_positions(view: View) -> None:
    """A small map for each patch: the cosine of its position with those of all patches; nothing without patches."""
    if not patches.is_of_patches(view.trace) or view.trace.position is None:
        return
    grid = patches.grid(view.trace)
    if grid.rows * grid.columns > MOST_PATCHES:
        parts = words_of(view.trace).parts
        st.caption(f"The grid of small maps is drawn up to {MOST_PATCHES} {parts}; this model has more.")
        return
    near, far = view.derived("patch neighbours", patches.neighbour_similarity)
    words = words_of(view.trace)
    near_in_time = ", or a place in neighbouring time steps" if grid.tile else ""
    st.markdown(
        f"Mean cosine of two {words.parts} that share a side{near_in_time}: **{number(near)}**; of all other pairs: "
        f"**{number(far)}**."
    )
    similar = view.derived("patch positions", lambda trace: patches.position_similarity(trace).cpu().numpy())
    plot(
        figures.position_grid(similar, grid.rows, grid.columns),
        height=440,
        key="patch-positions",
        alt="For each patch, the cosine of its position vector with those of all patches.",
    )
    references.caption(f"{about.text(__file__, 'patches')} As in Dosovitskiy et al. (2021, figure 7, centre).")
