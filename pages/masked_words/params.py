"""The address parameters of the page “Masked-word prediction”."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, string, whole_number
from pages.state.url_state import state

LEAST_WORDS, MOST_WORDS = 1, 20
#: Shown while the sidebar's sentence has no mask: both twins predict the right kind of word here.
EXAMPLE = "A tropical [MASK] with large leaves"


@state.register
@dataclass(frozen=True)
class Params:
    """top: how many words are shown per [MASK]; word: number of the hidden word in the sidebar's sentence; sentence:
    what is shown while that sentence has no mask; hidden: the word that [MASK] replaced in an older link."""

    top: Param[int] = whole_number(5, LEAST_WORDS, MOST_WORDS)
    word: Param[int | None] = whole_number(None, url="hidden_word")
    sentence: Param[str] = string(EXAMPLE, url="masked")
    hidden: Param[str] = string()
