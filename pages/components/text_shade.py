"""`text_shade`: a text shaded by attention, in which words are chosen by click or key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import streamlit as st

from . import assets, events, wire
from .events import TextEvent

_render = st.components.v2.component(
    "encoderscope_text_shade",
    js=assets.script("picture", "text_shade"),
    css=assets.style("text_shade"),
    isolate_styles=False,
)

#: Text and the unit (token or word) that it stands for; -1: no unit, like the space between two.
Piece = tuple[str, int]


def text_shade(
    paragraphs: Sequence[Sequence[Piece]],
    *,
    labels: Sequence[str],
    values: np.ndarray,
    rows: Sequence[int],
    columns: Sequence[int],
    key: str,
    alt: str,
    title: str,
    direction: Literal["to", "from"],
    weights: np.ndarray | None = None,
    held: Sequence[int] = (),
    special: Sequence[int] = (),
    own: bool = False,
    log: bool = False,
    on_event: Callable[[TextEvent], None] | None = None,
) -> TextEvent | None:
    """Draws a text of U units whose shade is a weight; returns a new selection once.

    A click holds a unit, shift-click holds several. While nothing is held, pointing at a unit looks at it, where
    `weights` are given. Text keeps its own direction (right to left, too), its spaces and its line breaks.

    Args:
        paragraphs: the text in pieces; each unit 0 to U - 1 occurs once.
        labels: U names for hover text.
        values: float [U], what is shaded now; NaN: not a target.
        rows, columns: U places in the map, -1 where a unit is no row or no column.
        key: the widget's key, also the name of a downloaded picture.
        alt: a sentence that says what is to be seen, for those who do not see it.
        title: what the shades are, for the legend.
        direction: "to": held units are queries and the shaded ones keys, in the colour of keys; "from": the other way.
        weights: float32 [R, C], the map, for looking without asking Python.
        held: the units that are held.
        special: units that are no part of the text ([CLS]); written smaller.
        own: shades run to the largest value shown instead of to 1 (or, several held, to their number).
        log: shades follow the logarithm, over four decades.
        on_event: called with the event before the page runs, so it may set the state of other widgets.

    Raises:
        ValueError: numbers of units that do not fit.
    """
    counts = {
        len(labels),
        len(values),
        len(rows),
        len(columns),
        sum(unit >= 0 for part in paragraphs for _, unit in part),
    }
    if len(counts) != 1:
        raise ValueError(
            f"labels, values, rows, columns and the units of paragraphs differ in number: {sorted(counts)}."
        )
    header = {
        "paragraphs": [[[str(text), int(unit)] for text, unit in paragraph] for paragraph in paragraphs],
        "labels": [str(label) for label in labels],
        "held": [int(unit) for unit in held],
        "special": [int(unit) for unit in special],
        "direction": direction,
        "title": title,
        "own": own,
        "log": log,
        "name": key,
        "alt": alt,
    }
    arrays = {
        "values": np.asarray(values, dtype=np.float32),
        "rows": np.asarray(rows, dtype=np.int32),
        "columns": np.asarray(columns, dtype=np.int32),
    }
    if weights is not None:
        arrays["weights"] = np.asarray(weights, dtype=np.float32)
    count = len(labels)
    result = _render(
        key=key,
        data=wire.pack(header, arrays),
        on_select_change=lambda: events.tell(key, "select", lambda value: events.text_event(value, count), on_event),
    )
    return events.text_event(result.get("select"), count)
