"""The answer to a click on a map: one line next to the map with the weight, its rank, and the row's largest weights.

`area` holds the line and the maps. The line keeps its room, so that nothing moves, and it stays in the window while a
map of the area does.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.edits import SetWeight
from encoder.figures.numbers import in_words
from encoder.measure import ranking
from encoder.measure.ranking import Weights
from pages.components.button import button
from pages.components.headers import Together
from pages.core.inputs import edited
from pages.core.view import View, ViewParams, selection
from pages.core.words import gestures, token_names
from pages.state import links, state

_TOGETHER, _ROOM = "_words_of_picture", "_room_below_answer"
#: The room below the line.
_BELOW = "norm-change"
#: Largest weights of a row that are named.
NAMED = 3
#: A weight that is less than this share of the largest one is not named.
LEAST_SHARE = 1e-3
#: The place of a weight.
CELL = (ViewParams.layer, ViewParams.head, ViewParams.i, ViewParams.j)
HINT = gestures.invitation("Select a cell to read its weight, or a token’s name to read its row or column.")
HINT_IN_ROW = gestures.invitation("Select a cell of this row to read its weight.")
HINT_IN_COLUMN = gestures.invitation("Select a cell of this column to read its weight.")


def area() -> DeltaGenerator:
    """A container for the line and its maps. One on a page."""
    return st.container(key="answer-area")


def keep_room(wanted: bool) -> None:
    """Whether the line of this run keeps room below it, for a sentence that is known after the page."""
    st.session_state.pop(_ROOM, None)
    if wanted:
        st.session_state[_ROOM] = None


def room() -> DeltaGenerator:
    """The room below the line; on a page without the line, here."""
    return st.session_state.pop(_ROOM, None) or st.container(key=_BELOW)


@contextmanager
def words_of_picture(key: str) -> Iterator[None]:
    """A row, in the container of this key, for words that are shown when the plots of `together` fit them."""
    values = repr(sorted(state.newest_of_all().items(), key=lambda pair: pair[0]))
    name = hashlib.blake2b(values.encode("utf-8", "replace"), digest_size=6).hexdigest()
    st.session_state[_TOGETHER] = {"key": key, "name": name}
    with st.container(key=f"says-{name}", width="content", horizontal=True, vertical_alignment="center"):
        yield


def together() -> Together | None:
    """For `plot`: the words of this run that its picture belongs to, if the page has such words."""
    return st.session_state.get(_TOGETHER)


def draw(
    first: str = HINT,
    second: str = "",
    *,
    cell: Mapping[str, Any] | None = None,
    clear: Callable[[], object] | None = None,
) -> None:
    """Draw the line, in the area and before the maps.

    first: the selected cell or row in one sentence of Markdown; second: the row's largest weights; cell: the values of
    the page Model for this weight, which can also be edited, None without a single weight; clear:
    undoes the selection, None where nothing is selected.
    """
    with st.container(key="answer"):
        with st.container(key="answer-words", horizontal=True, vertical_alignment="center"):
            st.markdown(first, width="content")
            if cell is not None:
                links.button(
                    "model",
                    "How this weight is made",
                    "calculate",
                    "open-softmax",
                    {"step": "softmax", **cell},
                    type="tertiary",
                    width="content",
                )
                _edit(cell)
            if clear is not None:
                button("Clear selection", "close", "clear-selection", clear, type="tertiary", help="Clear selection")
        if second:
            st.caption(second)
    if st.session_state.get(_ROOM, st) is None:
        st.session_state[_ROOM] = st.container(key=_BELOW)


def draw_row(
    view: View,
    rows: Callable[[slice], Mapping[str, Weights]],
    by: str = "",
    *,
    linked: bool = False,
    leads: Callable[[Mapping[str, Weights]], tuple[str, str]] | None = None,
) -> None:
    """`draw` for a map whose rows are queries: the selected cell, or row, with the largest weights of its row.

    rows: the row [1, T] of a query, by the name of its measure or model, "" for a single one; by: begins the sentence;
    linked: whether a cell is a weight of the model, which can be edited; leads: both lines of a row, from its
    weights, in place of the largest ones.
    """
    if view.i is None:
        draw(clear=selection.clearing(view))
        return
    labels = view.trace.labels
    found = {name: row[0].cpu() for name, row in rows(slice(view.i, view.i + 1)).items()}
    best = "; ".join(largest(row, labels) + (f" ({name})" if name else "") for name, row in found.items())
    query, clear = token_names.bold(labels, view.i), selection.clear
    if view.j is None:
        most = f"{by}{query} attends most to {best}.", HINT_IN_ROW
        draw(*(most if leads is None else leads(found)), clear=clear)
        return
    weights = ", ".join(f"{name} {weight(row, view.j)}".strip() for name, row in found.items())
    draw(
        f"{by}{query} attends to {token_names.bold(labels, view.j)}: {weights}.",
        f"Largest in this row: {best}.",
        cell={} if linked else None,
        clear=clear,
    )


def _edit(cell: Mapping[str, Any]) -> None:
    """A menu that cuts the weight or sets it: an edit of the recipe, which every page marks."""
    place = [cell.get(param.name, state.get(param)) for param in CELL]
    if None in place:
        return
    # Drawn while it is closed: in a part of the page, Streamlit's client mixes up the end of an open one with a click
    # elsewhere.
    with st.popover("Cut or set", icon=":material/content_cut:", type="tertiary", width="content", key="answer-edit"):
        value = st.slider(
            "Weight, 0 to 1",
            0.0,
            1.0,
            0.0,
            0.05,
            key="answer-edit:value",
            help="0 cuts the weight. The other weights of the row share the rest as before, so the row sums to 1.",
        )
        st.button(
            "Cut this weight" if value == 0 else f"Set it to {value:g}",
            type="primary",
            key="answer-edit:go",
            on_click=edited.add,
            args=(SetWeight(*place, value=value),),
        )


def weight(weights: Weights, place: int) -> str:
    """One weight of a row with its rank: "**0.114** (2nd of 12)". weights [C]."""
    rank, count = ranking.rank(weights, place)
    return f"**{in_words(float(weights[place]))}** ({ordinal(rank)} of {count:,})"


def largest(weights: Weights, labels: Sequence[str], places: Sequence[int] | None = None) -> str:
    """The largest weights of a row: "river 0.114, the (4) 0.08". weights [C]; places: positions of the tokens."""
    named, found = [], ranking.strongest(weights, NAMED)
    for at, value in found:
        if value < LEAST_SHARE * found[0][1]:
            break
        position = token_names.which(labels, at, None if places is None else places[at])
        named.append(f"{token_names.word(labels[at])}{position} {in_words(value)}")
    return ", ".join(named)


def ordinal(number: int) -> str:
    """ "1st", "2nd", "11th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def nth_largest(rank: int, count: int) -> str:
    """1 of 72 -> "the largest of 72"; 2 of 72 -> "2nd largest of 72"."""
    return f"{'the' if rank == 1 else ordinal(rank)} largest of {count:,}"
