"""The address parameters of the page “Queries, keys, values”."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, choice
from pages.state.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """order: how the bars of the products are sorted."""

    order: Param[str] = choice("component", ("component", "size"))
