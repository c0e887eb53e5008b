"""Maps with one row or column a token: of a long text a part is drawn, the one with the selected token in it."""

from __future__ import annotations

import streamlit as st

from pages.shared import controls
from pages.shared.view import state

#: More tokens than these are drawn in parts.
AT_ONCE = 256


def part(n_tokens: int, selected: int | None, key: str) -> slice:
    """Which tokens are drawn: all, or the part that a slider names. It starts where the selected token is."""
    if n_tokens <= AT_ONCE:
        return slice(0, n_tokens)
    starts = list(range(0, n_tokens, AT_ONCE))
    home = AT_ONCE * ((selected or 0) // AT_ONCE)
    # One slider for each home: a newly selected token brings its own part.
    start = st.select_slider(
        "Tokens",
        starts,
        value=home,
        key=f"{key}:part:{n_tokens}:{home}",
        format_func=lambda first: f"{first:,} to {min(first + AT_ONCE, n_tokens) - 1:,}",
        help=f"The text has {n_tokens:,} tokens; {AT_ONCE} of them are drawn at once.",
    )
    return slice(start, min(start + AT_ONCE, n_tokens))


def height(n_rows: int, pitch: int = 22, frame: int = 130, most: int = 560) -> int:
    """Pixels for a map of so many rows: each as high as its label, as long as it fits on a projector."""
    return min(most, frame + pitch * n_rows)


def select_row(event: dict, name: str) -> None:
    """A click on a row of a map, or on its label, selects the token as query ("i") or key ("j"); Esc clears both."""
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        controls.select(None, None)
    elif event["axis"] in ("cell", "y"):
        state.put(name, event["i"])
