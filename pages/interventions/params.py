"""The values of the page Interventions in the address, beside those of the edits and of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, choice
from pages.core.url_state import state

CLICKS = {"switch": "Switches it off", "open": "Opens it"}


@state.register
@dataclass(frozen=True)
class Params:
    """click: what a click on the map of effects does."""

    click: Param[str] = choice("switch", CLICKS, url="effect_click")
