"""The part of a token map that is drawn: all of it, or the window that a reader zoomed into."""

import math
from collections.abc import Sequence

import streamlit as st

from pages.core.view.view import MapParams
from pages.state import Param, ZoomWindow, state

_LAST = "_zoom_last"  # (tokens of the last map, its zoom window)


def zoom_of(rows: Sequence[str], columns: Sequence[str]) -> Param[ZoomWindow | None]:
    """The zoom window of a map with these tokens, for `plot(zoom=...)`. A map of other tokens is shown whole."""
    tokens, zoom = (tuple(rows), tuple(columns)), state.get(MapParams.zoom)
    last = st.session_state.get(_LAST)
    if zoom is not None:
        if last is not None and last[0] != tokens and last[1] == zoom:  # a link has its own window
            state.put(MapParams.zoom, None)
        elif not (_meets(zoom["x"], len(columns)) and _meets(zoom["y"], len(rows))):
            state.note(f"zoom={MapParams.zoom.format(zoom)}: the map has no tokens there. Shown: the whole map.")
            state.put(MapParams.zoom, None)
    st.session_state[_LAST] = tokens, state.get(MapParams.zoom)
    return MapParams.zoom


def _meets(side: list[float], n_tokens: int) -> bool:
    """Whether a side of a window contains a part of at least one token."""
    return side[0] < n_tokens - 0.5 and side[1] > -0.5


def zoomed(zoom: ZoomWindow | None, n_tokens: int) -> tuple[slice, slice]:
    """The tokens in a zoom window, those at its edge included: (queries, keys)."""
    if zoom is None:
        return slice(0, n_tokens), slice(0, n_tokens)

    def tokens(side: list[float]) -> slice:
        low = min(max(0, math.floor(side[0] + 0.5)), n_tokens - 1)
        return slice(low, max(low + 1, min(n_tokens, math.ceil(side[1] + 0.5))))

    return tokens(zoom["y"]), tokens(zoom["x"])
