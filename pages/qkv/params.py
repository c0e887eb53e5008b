"""The values of the page “Queries, keys, values” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, choice
from pages.core.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """The order of the components."""

    order: Param[str] = choice("component", ("component", "size"))
