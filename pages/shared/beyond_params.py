"""The values of the page "Beyond the weight", as they stand in the URL."""

from __future__ import annotations

from encoder.measure.deletion import CANDIDATES, SCOPES
from pages.shared.url_state import choice

PARTS = {
    "moves": "What the weight moves",
    "rollout": "Rollout",
    "plane": "Queries and keys",
    "deletion": "Is this an explanation?",
}

PARAMS = (
    choice("beyond", "moves", PARTS),
    # What the weight moves: as shares of a row, or as lengths.
    choice("moved", "share", ("share", "length")),
    # The deletion test: where tokens are hidden, and which may be.
    choice("hide", "model", SCOPES),
    choice("among", "words", CANDIDATES),
)
