"""The address parameters of the page “LayerNorm”."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, string
from pages.core.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """at: name of the selected LayerNorm in a trace."""

    at: Param[str] = string()
