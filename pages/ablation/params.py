"""The values of the page Ablation in the address, next to those of the edits and of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.widgets.outcomes import OutcomeParams as OutcomeParams  # registered before the first run
from pages.state.params import Param, choice, whole_number
from pages.state.url_state import state

CLICKS = {"switch": "Switches it off", "open": "Opens it"}


@state.register
@dataclass(frozen=True)
class Params:
    """click: what a click on the map of effects does; query: the token from which others are hidden."""

    click: Param[str] = choice("switch", CLICKS, url="effect_click")
    query: Param[int | None] = whole_number(None, url="knock_out_query")
