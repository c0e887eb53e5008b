"""The values of the page “Head types” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, choice
from pages.core.url_state import state

PARTS = {"table": "Table", "roles": "By role", "map": "Map of heads"}


@state.register
@dataclass(frozen=True)
class Params:
    """Which part is open, and its options."""

    part: Param[str] = choice("table", PARTS, url="find")
    # Whose rows are averaged over: of all real tokens, or without special ones.
    queries: Param[str] = choice("all", ("all", "content"))
    # What the points of the map of heads are coloured by.
    points: Param[str] = choice("layer", ("layer", "role"))
