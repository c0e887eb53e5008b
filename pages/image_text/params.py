"""The address parameters of the page “Image and text”."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.inputs.captions import WORDS, filled
from pages.state.params import Param, choice, number, string, whole_number
from pages.state.url_state import state

FIRST_TEMPLATE = "a handwritten {number}"
TEN_DIGITS = "\n".join(filled(FIRST_TEMPLATE, word) for word in WORDS)
#: Factors of the trained scale.
SCALES = ("0.0625", "0.125", "0.25", "0.5", "1", "2", "4", "8")
CELLS = {"probability": "Probability", "cosine": "Cosine"}


@state.register
@dataclass(frozen=True)
class Params:
    """captions: one a line; caption: the selected one, None: the one that fits best; word: a token of it."""

    captions: Param[str] = string(TEN_DIGITS)
    caption: Param[int | None] = whole_number(None)
    word: Param[int | None] = whole_number(None, url="caption_word")
    scale: Param[str] = choice("1", SCALES, url="scale_times")
    cells: Param[str] = choice("probability", CELLS, url="pair_cells")
    template: Param[str] = string(FIRST_TEMPLATE)
    opacity: Param[float] = number(0.5, 0.0, 1.0, url="word_opacity")
