"""The address parameters of the page “Norms”."""

from __future__ import annotations

from pages.state.params import Param, choice, string
from pages.state.url_state import state

#: The parts of the page: key -> title.
PARTS = {"every": "Every token", "one": "One token", "others": "Outliers, RMSNorm, BatchNorm"}


@state.register
class Params:
    """part: the open part of the page; at: name of the selected LayerNorm in a trace."""

    part: Param[str] = choice("every", PARTS, url="norm_part")
    at: Param[str] = string(public="the name of a LayerNorm")
