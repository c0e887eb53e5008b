"""The address parameters of the page “Positions”."""

from __future__ import annotations

from pages.state.params import Param, choice
from pages.state.url_state import state


@state.register
class Params:
    """rows: which positions are drawn; product: the similarity of two positions."""

    rows: Param[str] = choice("sentence", ("sentence", "all"))
    product: Param[str] = choice("cosine", ("cosine", "dot"))
