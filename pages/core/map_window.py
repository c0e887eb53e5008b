"""Which part of a map of tokens is drawn: all of it, or what a reader zoomed into."""

from __future__ import annotations

import math

from pages.components.events import ZoomWindow

#: Up to this many tokens a map is drawn cell by cell; above, one cell stands for a block of tokens until zoomed in.
EXACT_TOKENS = 256


def zoomed(zoom: ZoomWindow | None, n_tokens: int) -> tuple[slice, slice]:
    """The tokens that a zoom window shows, cut ones included: (queries, keys)."""
    if zoom is None:
        return slice(0, n_tokens), slice(0, n_tokens)

    def tokens(side: list[float]) -> slice:
        low = min(max(0, math.floor(side[0] + 0.5)), n_tokens - 1)
        return slice(low, max(low + 1, min(n_tokens, math.ceil(side[1] + 0.5))))

    return tokens(zoom["y"]), tokens(zoom["x"])
