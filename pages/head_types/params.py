"""The values of the page “Head types” in the address."""

from dataclasses import dataclass

from pages.core.params import Param, choice
from pages.core.url_state import state

PARTS = {"table": "Table", "roles": "By type", "map": "Head similarity"}
COLOURINGS = {"layer": "Layer", "role": "Type"}


@state.register
@dataclass(frozen=True)
class Params:
    """The open part, and its options."""

    part: Param[str] = choice("table", PARTS, url="find")
    # The queries that count: those of all real tokens, or without special tokens.
    queries: Param[str] = choice("all", ("all", "content"))
    # What colours the points of the head similarity.
    points: Param[str] = choice("layer", COLOURINGS)
