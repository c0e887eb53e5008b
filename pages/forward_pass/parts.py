"""Parts that several steps share: vectors as rows, maps of tokens, attention weights, buttons to other steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import stacked_rows
from pages.components import attention_motion, plot
from pages.core.view import selection, token_rows
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import token_names
from pages.forward_pass.params import Params
from pages.state.params import Param


def vector_rows(
    rows: Mapping[str, object], place: explain.Place, *, key: str, alt: str, kind: str = "residual", height: int = 0
) -> None:
    """Vectors below each other. A click selects a component."""
    plot(
        stacked_rows(rows, component=place.component, kind=kind),
        key=key,
        alt=f"{alt} One row per vector, one column per component.",
        height=height or selection.rows_height(len(rows)),
        on_event=selection.on_cell(column=PlaceParams.component),
    )


def token_vectors(
    view: View,
    values: np.ndarray,
    kind: str,
    rows: slice,
    *,
    key: str,
    alt: str,
    select_row: Param[int | None],
    selected: int,
    column: int,
    select_column: Param[int | None] = PlaceParams.component,
    limit: float | None = None,
) -> None:
    """A map with one row per token of `rows`. A click selects a token and a column."""
    name = select_column.name
    plot(
        figures.vectors_heatmap(
            values, view.trace.labels, kind, selected=selected, component=column, component_name=name, first=rows.start,
            limit=limit,
        ),
        key=key,
        alt=f"{alt} One row per token, one column per {name}.",
        height=token_rows.height(rows.stop - rows.start, most=460),
        on_event=selection.on_cell(row=select_row, column=select_column),
    )  # fmt: skip


def attention_map(
    view: View, place: explain.Place, weights: np.ndarray, rows: slice, columns: slice, *, key: str, title: str = ""
) -> None:
    """Attention weights of the queries `rows` and the keys `columns`. A click selects both tokens."""
    plot(
        figures.attention_heatmap(
            weights[:, columns], view.trace.labels, title=title, colours=view.colours,
            selected=(place.query, place.key), row_offset=rows.start, column_offset=columns.start,
        ),
        key=key,
        alt=f"Attention weights of layer {place.layer}, head {place.head}. {title}",
        height=selection.map_height(rows.stop - rows.start, most=460 if title else 520),
        on_event=selection.on_cell(row=ViewParams.i, column=ViewParams.j),
    )  # fmt: skip


def animated(view: View, start: str, checks: Callable[[explain.Recomputation], Sequence[explain.Check]]) -> bool:
    """The choice between map and animation. True: the animation is drawn, from the phase `start` on.

    checks: of the step, for "Check this number".
    """
    titles = {"map": "Map and formula", "animation": ":material/animation: Animation: q · k to z"}
    if state.segmented(Params.picture, "Picture", titles, label_visibility="collapsed") == "map":
        return False
    config, labels = view.loaded.config, view.trace.labels
    place = selection.selected_place(view, config.d_head)
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)", component=config.d_head)
    names = [figures.isolated(label) + token_names.which(labels, at) for at, label in enumerate(labels)]
    attention_motion(
        explain.attention_row(view.trace, place),
        names,
        key="row-motion",
        alt=f"How layer {place.layer}, head {place.head} computes the output of {names[place.query]}, frame by frame.",
        start=start,
    )
    selection.check_toggle(view, checks)
    return True


def step_button(
    label: str, step: str, values: Mapping[Param[Any], object], *, back: bool = False, key: str | None = None
) -> None:
    """A button that opens another step with these values."""
    icon = ":material/arrow_back:" if back else ":material/arrow_forward:"
    st.button(label, icon=icon, key=key, on_click=selection.select, args=({Params.step: step, **values},))


def pair(place: explain.Place) -> dict[Param[Any], object]:
    """The tokens i and j as values for `step_button`."""
    return {ViewParams.i: place.query, ViewParams.j: place.key}
