"""The values of the page "Find heads", as they stand in the URL; roles and thresholds are those of the Heads page."""

from __future__ import annotations

from pages.shared.url_state import choice

PARTS = {"table": "Table", "roles": "By role", "map": "Map of heads"}

PARAMS = (
    choice("find", "table", PARTS),
    # Whose rows are averaged over: of all real tokens, or without special ones.
    choice("queries", "all", ("all", "content")),
    # What the points of the map of heads are coloured by.
    choice("points", "layer", ("layer", "role")),
)
