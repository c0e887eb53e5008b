"""The values of the page “Attention heads” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.export.lines import MOST_HEADS
from encoder.measure.aggregate import PAIRS
from encoder.measure.head_definitions import HEAD_MEASURES
from pages.state.params import Head, Param, choice, flag, heads, number, span, whole_number
from pages.state.url_state import state

VIEWS = ("map", "lines", "text")
AVERAGES = ("none", "heads", "layers", "both")
MOST_PINS = 4
MOST_OVERLAID = MOST_HEADS


@state.register
@dataclass(frozen=True)
class Params:
    """The view of the open head, and the grid of all heads."""

    view: Param[str] = choice("map", VIEWS)
    words: Param[bool] = flag()
    between: Param[str] = choice("all", PAIRS)
    average: Param[str] = choice("none", AVERAGES)
    # Lines: heads over the open one, and the smallest weight with a line.
    overlay: Param[list[Head]] = heads(MOST_OVERLAID)
    minimum: Param[float] = number(0.0, 0.0, 1.0, url="least")
    # Text: what the selected tokens attend to, or which tokens attend to them.
    direction: Param[str] = choice("to", ("to", "from"))
    # Pinned heads; the measure that colours, sorts and filters the grid.
    pins: Param[list[Head]] = heads(MOST_PINS)
    measure: Param[str] = choice("", ("", *(definition.name for definition in HEAD_MEASURES)))
    # The word that the heads are ordered by; the measure, if there is one, has priority.
    word: Param[int | None] = whole_number(None)
    sort: Param[str] = choice("place", ("place", "falling", "rising"))
    keep: Param[tuple[float, float] | None] = span()
    badges: Param[bool] = flag(True)
