"""The values of the page “Positions” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, choice
from pages.core.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """How many positions are drawn, and which product of them."""

    rows: Param[str] = choice("sentence", ("sentence", "all"))
    product: Param[str] = choice("cosine", ("cosine", "dot"))
