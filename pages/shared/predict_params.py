"""The values of the page "Fill the blank", as they stand in the URL."""

from __future__ import annotations

from pages.shared.url_state import Param, whole_number

LEAST_WORDS, MOST_WORDS = 1, 20

#: hidden: the word that [MASK] was put in place of.
PARAMS = (whole_number("top", 5, LEAST_WORDS, MOST_WORDS), Param("hidden", ""))
