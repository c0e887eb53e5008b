"""The values of the page “LayerNorm” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, string
from pages.core.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """at: the name of the norm that is looked at."""

    at: Param[str] = string()
