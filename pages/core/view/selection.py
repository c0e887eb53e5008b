"""The selected place of the pages under Learn: its widgets, the clicks that change it, and the check of a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from encoder import figures
from encoder.explain import Check, Place, Recomputation
from pages.components import PlotEvent, on_click
from pages.core.view import token_rows
from pages.core.view.view import View, ViewParams
from pages.core.words import token_names
from pages.state.params import Param, choice, flag, string, whole_number
from pages.state.url_state import controlled, state

#: The longest text, in tokens, for the check: it recomputes every number of the text.
LONGEST_CHECK = 1_024
SECOND, THIRD = "It was tired.", "Dogs bark."


@state.register
@dataclass(frozen=True)
class PlaceParams:
    """Values that several steps share, next to the tokens i and j."""

    component: Param[int | None] = whole_number(None)
    neuron: Param[int | None] = whole_number(None)
    pooling: Param[str] = choice("mean", ("cls", "mean", "attention"))
    second: Param[str] = string(SECOND)
    third: Param[str] = string(THIRD)
    check: Param[bool] = flag()


def selected_place(view: View, width: int | None = None) -> Place:
    """The selected place. Without a selection: the first word, and the token that it attends to most.

    width: components of the step's vectors; a larger component becomes the last one.
    """
    params = state.read(PlaceParams)
    place = Place(view.layer, view.head, *token_rows.pair(view), params.component or 0, params.neuron or 0)
    return place.clamped(view.loaded.config, view.trace.n_tokens, width)


def place_bar(
    view: View, place: Place, *, query: str = "", key: str = "", component: int = 0, neuron: int = 0, columns: int = 4
) -> None:
    """Widgets for token i, token j, component and neuron.

    query, key: labels of the two tokens, empty for a step without them; component, neuron: their number, or 0.
    """
    labels = view.trace.labels
    tokens = [(query, ViewParams.i, place.query), (key, ViewParams.j, place.key)]
    counts = [
        ("Component", PlaceParams.component, place.component, component),
        ("Neuron", PlaceParams.neuron, place.neuron, neuron),
    ]
    places = iter(st.columns(columns))
    for label, param, position in tokens:
        if label:
            controlled(
                next(places).selectbox, label, range(len(labels)), key=f"place:{param.name}", value=position,
                take=partial(state.put, param),
                format_func=lambda token: f"{token} · {figures.isolated(labels[token])}",
            )  # fmt: skip
    for label, param, number, count in counts:
        if count:
            controlled(
                next(places).number_input, label, 0, count - 1, key=f"place:{param.name}", value=number,
                take=partial(state.put, param), help=f"0 to {count - 1:,}",
            )  # fmt: skip


def select(values: Mapping[Param[Any], object]) -> None:
    """Set several values. For callbacks, and for code that runs before their widgets."""
    for param, value in values.items():
        state.put(param, value)


def on_cell(row: Param[Any] | None = None, column: Param[Any] | None = None) -> Callable[[PlotEvent], None]:
    """What a click on a map sets: the value of its rows and the value of its columns."""
    return on_click(
        row=None if row is None else partial(state.put, row),
        column=None if column is None else partial(state.put, column),
    )


def rows_height(count: int) -> int:
    """Pixels for this many vectors as rows, with the colour bar above and the axis below."""
    return max(225, 150 + 32 * count)


def map_height(count: int, most: int = 520) -> int:
    """Pixels for a square map of this many tokens. Few tokens get cells wide enough for their labels."""
    return min(most, 160 + max(22 * count, min(44 * count, 240)))


def second_texts() -> tuple[str, ...]:
    """The second and the third sentence, without empty ones."""
    params = state.read(PlaceParams)
    return tuple(text for text in (params.second, params.third) if text.strip())


def recomputation(view: View) -> Recomputation:
    """The view's sentence in float64, computed once for all sessions."""
    return view.derived(("float64",), Recomputation)


def check_toggle(view: View, make: Callable[[Recomputation], Sequence[Check]]) -> None:
    """The toggle "Check this number" and, when it is on, both values."""
    on = state.bound(
        st.toggle,
        PlaceParams.check,
        "Check this number",
        help="This page shows the numbers of the model, which runs in PyTorch. The check recomputes them from the ids "
        "and the weights in NumPy, in float64 and with separate code, and compares both.",
    )
    if not on:
        return
    if view.trace.n_tokens > LONGEST_CHECK:
        st.info(
            f"This text has {view.trace.n_tokens:,} tokens; the check is limited to {LONGEST_CHECK:,}. "
            "Use a shorter text."
        )
        return
    with st.spinner("Computing in float64 …", show_time=False):
        checks = list(make(recomputation(view)))
    show_checks(checks)


def show_checks(checks: Sequence[Check]) -> None:
    """The selected number twice, and the largest difference of every compared vector."""
    first = checks[0]
    verdict = ":material/error: not equal"
    if all(item.agrees for item in checks):
        verdict = ":material/check_circle: equal"
    if first.tolerance:
        st.markdown(
            f"Shown **{first.shown_number:.7g}**, in float64 **{first.recomputed_number:.7g}**: {verdict}. "
            f"Tolerance: {first.tolerance:g} of the largest number in the vector."
        )
    else:
        st.markdown(
            f"Shown **{first.shown_number:.0f}**, looked up again **{first.recomputed_number:.0f}**: {verdict}."
        )
    st.dataframe(
        {
            "Compared": [item.name for item in checks],
            "Numbers": [item.shown.size for item in checks],
            "Largest difference": [f"{item.difference:.1e}" for item in checks],
            "Relative": [f"{item.relative:.1e}" for item in checks],
        },
        hide_index=True,
        width="stretch",
    )


def token(view: View, position: int) -> str:
    """A token in Markdown, in quotation marks; with its position if its text occurs more than once."""
    return token_names.quoted(view.trace.labels, position)
