"""The values of the page “Head types” in the address."""

from dataclasses import dataclass

from pages.state.params import Param, choice
from pages.state.url_state import state

PARTS = {"roles": "By type", "map": "Head similarity", "table": "Advanced: all measures"}
#: Columns of the table: each group fits a projector of 1280 pixels beside the selected head.
COLUMNS = {"spread": "Spread", "position": "Positions", "tokens": "Tokens"}
COLOURINGS = {"layer": "Layer", "role": "Type"}


@state.register
@dataclass(frozen=True)
class Params:
    """The open part, and its options."""

    part: Param[str] = choice("roles", PARTS, url="find")
    # The queries that count: those of all real tokens, or without special tokens.
    queries: Param[str] = choice("all", ("all", "content"))
    columns: Param[str] = choice("spread", COLUMNS)
    # What colours the points of the head similarity.
    points: Param[str] = choice("layer", COLOURINGS)
