"""`text_shade`: a text shaded by attention, whose words you select by click or key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from . import assets, events, wire
from .events import TextEvent

_render = assets.component("text_shade")

#: Text and its unit (token or word); -1: none, like the space between two.
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
    selected: Sequence[int] = (),
    always_selected: bool = False,
    special: Sequence[int] = (),
    scale_to_max: bool = False,
    log: bool = False,
    on_event: Callable[[TextEvent], None] | None = None,
) -> None:
    """Draws a text of U units whose shade is a weight.

    A click selects a unit, a click with Shift selects several. With `weights` and no selection, pointing at a unit
    shows its weights. Text keeps its direction (right to left, too), its spaces and its line breaks.

    Args:
        paragraphs: the text in pieces; each unit 0 to U - 1 occurs once.
        labels: U names for hover text.
        values: float [U], the shaded weights; NaN: not a target.
        rows, columns: each unit's row and column of the map, -1 for none.
        key: the widget's key, and the name of a downloaded picture.
        alt: a sentence for screen readers.
        title: the legend's title.
        direction: "to": selected units are queries, shaded ones are keys, in the colour of keys; "from": the reverse.
        weights: float32 [R, C], the map, so that the browser needs no answer from Python.
        selected: the selected units.
        always_selected: the last selected unit cannot be cleared.
        special: special tokens ([CLS]), drawn smaller.
        scale_to_max: the full shade is the largest value shown, not 1 (with several selected units, not their number).
        log: shades follow the logarithm of the weight, over four decades.
        on_event: called with the event before the page runs, so it may change other widgets' state.

    Raises:
        ValueError: the numbers of units differ.
    """
    in_text = sum(unit >= 0 for part in paragraphs for _, unit in part)
    counts = {len(labels), len(values), len(rows), len(columns), in_text}
    if len(counts) != 1:
        raise ValueError(
            f"labels, values, rows, columns and the units of paragraphs differ in number: {sorted(counts)}."
        )
    header = {
        "paragraphs": [[[str(text), int(unit)] for text, unit in paragraph] for paragraph in paragraphs],
        "labels": [str(label) for label in labels],
        "selected": [int(unit) for unit in selected],
        "alwaysSelected": always_selected,
        "special": [int(unit) for unit in special],
        "direction": direction,
        "title": title,
        "scaleToMax": scale_to_max,
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
    _render(
        key=key,
        data=wire.pack(header, arrays),
        on_select_change=lambda: events.tell(key, "select", lambda value: events.text_event(value, count), on_event),
    )
