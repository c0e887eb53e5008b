"""The values of the page Patching in the address, beside those of the outcome."""

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
#: It differs in one token from the sentence that the app opens with.
OTHER_SENTENCE = "The animal didn't cross the street because it was too wide."


@state.register
@dataclass(frozen=True)
class Params:
    """The sentence, or other input, that vectors are taken from, what is replaced, the largest share of the colours,
    and the selected place: layer, and token or head.
    """

    other: Param[str] = string(OTHER_SENTENCE, url="patch_with")
    # The name of an image or a sound; "": the page chooses.
    other_input: Param[str] = string(url="patch_input")
    where: Param[str] = choice("residual", WHERE, url="patch_where")
    colours: Param[str] = choice("shared", COLOURS, url="patch_colours")
    layer: Param[int | None] = whole_number(None, url="patch_layer")
    place: Param[int | None] = whole_number(None, url="patch_place")
