"""Maps with one row or column for each token: of a long text only a part is drawn."""

import streamlit as st

from encoder.measure import ranking
from pages.core.view.view import View

#: Texts of more tokens are drawn in parts.
AT_ONCE = 256


def pair(view: View) -> tuple[int, int]:
    """The selected query and key token; by default the first word and its strongest key."""
    query = view.i if view.i is not None else min(1, view.trace.n_tokens - 1)
    if view.j is not None:
        return query, view.j
    row = view.trace.attention(view.layer, view.head, slice(query, query + 1))[0]
    return query, ranking.strongest(row, 1)[0][0]


def part(n_tokens: int, selected: int | None, key: str, label: str = "Tokens") -> slice:
    """The tokens to draw: all, or the part that a slider selects; by default the part with the selected token."""
    if n_tokens <= AT_ONCE:
        return slice(0, n_tokens)
    starts = part_starts(n_tokens)
    home = max(start for start in starts if start <= (selected or 0))
    # One slider for each home: selecting another token selects its part.
    start = st.select_slider(
        label,
        starts,
        value=home,
        key=f"{key}:part:{n_tokens}:{home}",
        format_func=lambda first: f"{first:,} to {first + AT_ONCE - 1:,}",
        help=f"The input has {n_tokens:,} tokens; {AT_ONCE} of them are drawn at once.",
    )
    return slice(start, start + AT_ONCE)


def part_starts(n_tokens: int) -> list[int]:
    """First tokens of the parts of a text longer than AT_ONCE. Every part is full, so the last two may overlap."""
    last = n_tokens - AT_ONCE
    return [*range(0, last, AT_ONCE), last]


def which(rows: slice, n_tokens: int, selected: int | None = None) -> str:
    """A sentence on the drawn tokens of a long text, and on a selected token outside them; "" where all are drawn."""
    if rows.stop - rows.start == n_tokens:
        return ""
    said = f" Tokens {rows.start:,} to {rows.stop - 1:,} of {n_tokens:,} are drawn"
    inside = selected is None or rows.start <= selected < rows.stop
    return said + ("." if inside else f"; the selected token {selected:,} is not among them.")


def height(n_rows: int, pitch: int = 22, frame: int = 130, most: int = 560) -> int:
    """The height in pixels of a map of so many rows: each as high as its label, within what a projector shows."""
    return min(most, frame + pitch * n_rows)
