"""The values of the page “Token search” in the address, beside the atlas and the token."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, choice, flag, number, whole_number
from pages.state.url_state import state

#: What a token of the corpus attends to, in the sidebar's head.
TARGETS = {
    "any": "anything", "previous": "the token before it", "self": "itself", "next": "the token after it",
    "cls": "the opening token", "sep": "separators",
}  # fmt: skip


@state.register
@dataclass(frozen=True)
class Params:
    """The layer of the vectors (None: the last one of the atlas), the filter by a head, other words alone."""

    at: Param[int | None] = whole_number(None, url="token_layer")
    target: Param[str] = choice("any", TARGETS, url="token_target")
    least: Param[float] = number(0.5, 0.0, 1.0, url="token_least")
    others: Param[bool] = flag(url="token_others")
