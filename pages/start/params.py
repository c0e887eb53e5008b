"""The address parameters of the first page."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, whole_number
from pages.state.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """first: the first token of the picture's window, for a long input; None: the window is around the query."""

    first: Param[int | None] = whole_number(None, 0, url="from")
