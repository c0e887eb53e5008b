"""The values of the page “Masked-word prediction” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, string, whole_number
from pages.core.url_state import state

LEAST_WORDS, MOST_WORDS = 1, 20


@state.register
@dataclass(frozen=True)
class Params:
    """hidden: the word that [MASK] was put in place of."""

    top: Param[int] = whole_number(5, LEAST_WORDS, MOST_WORDS)
    hidden: Param[str] = string()
