"""The values of the page Patching in the address, next to those of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, choice, string, whole_number
from pages.state.url_state import state

WHERE = {
    "residual": "Residual stream",
    "attention_out": "Attention’s output",
    "ffn_out": "FFN’s output",
    "head": "Heads",
}
COLOURS = {"shared": "Shared tokens", "all": "All"}


@state.register
@dataclass(frozen=True)
class Params:
    """The sentence that vectors are taken from ("": the reader's with one word replaced), that word's number and what
    replaces it; another input, what is replaced, the largest share of the colours, and the selected place: layer, and
    token or head.
    """

    other: Param[str] = string(url="patch_with")
    word: Param[int | None] = whole_number(None, url="patch_word")
    by: Param[str] = string(url="patch_by")
    # The name of an image or a sound; "": the page chooses.
    other_input: Param[str] = string(url="patch_input")
    where: Param[str] = choice("residual", WHERE, url="patch_where")
    colours: Param[str] = choice("shared", COLOURS, url="patch_colours")
    layer: Param[int | None] = whole_number(None, url="patch_layer")
    place: Param[int | None] = whole_number(None, url="patch_place")
