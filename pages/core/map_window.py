"""The part of a token map that is drawn: all of it, or the window that a reader zoomed into."""

from __future__ import annotations

import math

from pages.components.events import ZoomWindow

#: Up to this many tokens a map has one cell per pair; above, a cell covers a block of tokens until you zoom in.
EXACT_TOKENS = 256


def zoomed(zoom: ZoomWindow | None, n_tokens: int) -> tuple[slice, slice]:
    """The tokens in a zoom window, those at its edge included: (queries, keys)."""
    if zoom is None:
        return slice(0, n_tokens), slice(0, n_tokens)

    def tokens(side: list[float]) -> slice:
        low = min(max(0, math.floor(side[0] + 0.5)), n_tokens - 1)
        return slice(low, max(low + 1, min(n_tokens, math.ceil(side[1] + 0.5))))

    return tokens(zoom["y"]), tokens(zoom["x"])
