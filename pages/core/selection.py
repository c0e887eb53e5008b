"""What the pages under Learn share: their values in the URL, the selected place, and the check of a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from encoder import figures
from encoder.explain import Check, Place, Recomputation
from encoder.measure import ranking
from pages.core import cache, sidebar, token_names
from pages.core.params import Param, choice, flag, string, whole_number
from pages.core.url_state import state
from pages.core.view import View

#: The longest text, in tokens, of which every number is computed once more.
LONGEST_CHECK = 1_024
SECOND, THIRD = "It was tired.", "Dogs bark."


@state.register
@dataclass(frozen=True)
class PlaceParams:
    """The place in the computation that several pages look at, beside the tokens i and j."""

    component: Param[int | None] = whole_number(None)
    neuron: Param[int | None] = whole_number(None)
    pooling: Param[str] = choice("mean", ("cls", "mean", "attention"))
    second: Param[str] = string(SECOND)
    third: Param[str] = string(THIRD)
    check: Param[bool] = flag()


def selection(view: View, width: int | None = None) -> Place:
    """The selected place, complete: where nothing is selected, the first word and what it attends to most.

    width: components that the step's vectors have; a component beyond it becomes the last.
    """
    trace = view.trace
    query = view.i if view.i is not None else min(1, trace.n_tokens - 1)
    key = view.j
    if key is None:
        row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
        key = ranking.strongest(row, 1)[0][0]
    place = Place(view.layer, view.head, query, key, state.get("component") or 0, state.get("neuron") or 0)
    return place.clamped(view.loaded.config, trace.n_tokens, width)


def place_bar(
    view: View,
    place: Place,
    *,
    query: str = "",
    key: str = "",
    component: int = 0,
    neuron: int = 0,
    columns: int = 4,
) -> None:
    """Widgets that choose the token i, the token j, the component and the neuron; only those that a step has.

    query, key: what the tokens are called in this step, nothing where it has none; component, neuron: how many there
    are.
    """
    labels = view.trace.labels
    asked = [name for name, there in (("i", query), ("j", key), ("component", component), ("neuron", neuron)) if there]
    values = {"i": place.query, "j": place.key, "component": place.component, "neuron": place.neuron}
    names = {"i": query, "j": key, "component": "Component", "neuron": "Neuron"}
    for column, name in zip(st.columns(columns), asked, strict=False):
        widget_key = f"place:{name}"
        st.session_state[widget_key] = values[name]
        if name in ("i", "j"):
            column.selectbox(
                names[name],
                range(len(labels)),
                key=widget_key,
                format_func=lambda token: f"{token} · {figures.isolated(labels[token])}",
                on_change=take,
                args=(name,),
            )
        else:
            count = component if name == "component" else neuron
            column.number_input(
                names[name], 0, count - 1, key=widget_key, on_change=take, args=(name,), help=f"0 to {count - 1:,}"
            )


def take(name: str) -> None:
    """Take over what a widget of the place bar holds. For callbacks."""
    put(**{name: st.session_state[f"place:{name}"]})


def put(**values: object) -> None:
    """Set values of the view. For callbacks, and for code that runs before their widgets are drawn."""
    for name, value in values.items():
        state.put(name, value)


def go(step: str, **values: object) -> None:
    """Open a step, with values of the view. For callbacks."""
    put(step=step, **values)


def rows_height(count: int) -> int:
    """Pixels for so many vectors below each other, with room for the colour bar above and the axis below."""
    return max(225, 150 + 32 * count)


def map_height(count: int, most: int = 520) -> int:
    """Pixels for a square map of so many tokens: cells wide enough for their labels where there are few."""
    return min(most, 160 + max(22 * count, min(44 * count, 240)))


def take_cell(event: dict, row: str | None, column: str | None) -> None:
    """A click on a map sets the value that its rows stand for and the one that its columns stand for. For
    callbacks."""
    if event.get("event") != "click":
        return
    axis = event["axis"]
    if axis in ("cell", "y") and row is not None:
        put(**{row: event["i"]})
    if axis in ("cell", "x") and column is not None:
        put(**{column: event["j"]})


def second_texts() -> tuple[str, ...]:
    """The second and third sentence, those that are empty left out."""
    return tuple(text for text in (state.get("second"), state.get("third")) if text.strip())


def recomputation(view: View) -> Recomputation:
    """The view's sentence in float64, computed once for all sessions."""
    return cache.derived(view.model, view.text, view.pair, ("float64",), Recomputation)


def check(view: View, make: Callable[[Recomputation], Sequence[Check]]) -> None:
    """The switch "check this number", and below it both values, once it is on."""
    on = state.bound(
        st.toggle,
        "check",
        "Check this number",
        help="Computes everything once more, from the ids and the weights alone, in float64 and by another program "
        "path, and compares.",
    )
    if not on:
        return
    if view.trace.n_tokens > LONGEST_CHECK:
        st.info(
            f"This text is {view.trace.n_tokens:,} tokens; the check recomputes every one of them in every layer "
            f"below and is offered up to {LONGEST_CHECK:,}. Take a shorter text."
        )
        return
    with st.spinner("Computing in float64 …", show_time=False):
        checks = list(make(recomputation(view)))
    show_checks(checks)


def show_checks(checks: Sequence[Check]) -> None:
    """The selected number twice with its difference, and every vector that was compared."""
    first = checks[0]
    verdict = "equal" if all(item.agrees for item in checks) else "not equal"
    mark = ":material/check_circle:" if verdict == "equal" else ":material/error:"
    if first.tolerance:
        st.markdown(
            f"Shown **{first.shown_number:.7g}**, in float64 **{first.recomputed_number:.7g}**: {mark} {verdict} "
            f"within {first.tolerance:g} of the largest number of its vector."
        )
    else:
        st.markdown(
            f"Shown **{first.shown_number:.0f}**, looked up anew **{first.recomputed_number:.0f}**: {mark} {verdict}."
        )
    st.dataframe(
        {
            "what": [item.name for item in checks],
            "numbers": [item.shown.size for item in checks],
            "difference": [f"{item.difference:.1e}" for item in checks],
            "relative": [f"{item.relative:.1e}" for item in checks],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "what": "Compared",
            "numbers": "Numbers",
            "difference": "Largest difference",
            "relative": "As a share",
        },
    )


def token(view: View, position: int) -> str:
    """A token inside Markdown, in quotation marks: it may be a comma; with its position where it stands twice."""
    return token_names.quoted(view.trace.labels, position)


def quoted(label: str) -> str:
    """A token's label inside Markdown, in quotation marks."""
    return f"“{sidebar.plain(label)}”"
