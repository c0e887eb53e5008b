"""The address parameters of the page “Masked-word prediction”."""

from __future__ import annotations

from dataclasses import dataclass

from pages.core.params import Param, string, whole_number
from pages.core.url_state import state

LEAST_WORDS, MOST_WORDS = 1, 20


@state.register
@dataclass(frozen=True)
class Params:
    """top: how many words are shown per [MASK]; hidden: the word that [MASK] replaced."""

    top: Param[int] = whole_number(5, LEAST_WORDS, MOST_WORDS)
    hidden: Param[str] = string()
