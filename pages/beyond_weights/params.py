"""The values of the page “Beyond attention weights” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.measure.deletion import CANDIDATES, SCOPES
from pages.core.params import Param, choice
from pages.core.url_state import state

PARTS = {
    "moves": "What the weight moves",
    "rollout": "Rollout",
    "plane": "Queries and keys",
    "deletion": "Is this an explanation?",
}


@state.register
@dataclass(frozen=True)
class Params:
    """Which part is open, and its options."""

    part: Param[str] = choice("moves", PARTS, url="beyond")
    # Norm-weighted attention: as shares of a row, or as lengths.
    moved: Param[str] = choice("share", ("share", "length"))
    # The deletion test: where tokens are hidden, and which may be.
    hide: Param[str] = choice("model", SCOPES)
    among: Param[str] = choice("words", CANDIDATES)
