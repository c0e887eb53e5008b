"""The values of the page “Attention heads” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.measure.aggregate import PAIRS
from encoder.measure.definitions import HEAD_MEASURES
from pages.components import HEAD_COLOURS
from pages.core.params import Head, Param, choice, flag, heads, number, span
from pages.core.url_state import state

VIEWS = ("map", "lines", "text")
AVERAGES = ("none", "heads", "layers", "both")
MOST_PINS = 4
MOST_OVERLAID = len(HEAD_COLOURS)


@state.register
@dataclass(frozen=True)
class Params:
    """How the open head is drawn, and the grid of all heads."""

    view: Param[str] = choice("map", VIEWS)
    words: Param[bool] = flag()
    between: Param[str] = choice("all", PAIRS)
    average: Param[str] = choice("none", AVERAGES)
    # Lines: heads drawn over one another, and from which weight on.
    overlay: Param[list[Head]] = heads(MOST_OVERLAID)
    least: Param[float] = number(0.0, 0.0, 1.0)
    # Text: what the selected tokens attend to, or who attends to them.
    direction: Param[str] = choice("to", ("to", "from"))
    # The grid: heads side by side; by which measure heads are coloured, sorted and filtered.
    pins: Param[list[Head]] = heads(MOST_PINS)
    measure: Param[str] = choice("", ("", *(definition.name for definition in HEAD_MEASURES)))
    sort: Param[str] = choice("place", ("place", "falling", "rising"))
    keep: Param[tuple[float, float] | None] = span()
    badges: Param[bool] = flag(True)
