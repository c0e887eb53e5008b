"""The values of the page Interventions in the address, next to those of the edits and of the outcome."""

from dataclasses import dataclass

from pages.core.widgets.outcomes import OutcomeParams as OutcomeParams  # registered before the first run
from pages.state import Param, choice, state, string, whole_number

KINDS = {"ablation": "Ablation", "patching": "Patching", "context": "Decoder’s input"}
#: Kind -> the question that its picture answers.
QUESTIONS = {
    "ablation": "Which heads does the result depend on?",
    "patching": "Which vector carries the difference?",
    "context": "Which vectors and heads of cross-attention does the output depend on?",
}
CLICKS = {"switch": "Switches it off", "open": "Opens it"}
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
    """kind: what the page does to a part of the forward pass. The other fields belong to one kind.

    Ablation: what a click on the map of effects does. Patching: the sentence that vectors are taken from ("": the
    reader's with one word replaced), that word's number and what replaces it; another input ("": the page chooses),
    what is replaced, the largest share of the colours, and the selected place: layer, and token or head.
    """

    kind: Param[str] = choice("ablation", KINDS, url="intervention")
    click: Param[str] = choice("switch", CLICKS, url="effect_click")
    other: Param[str] = string(url="patch_with")
    word: Param[int | None] = whole_number(None, url="patch_word")
    by: Param[str] = string(url="patch_by")
    other_input: Param[str] = string(url="patch_input")
    where: Param[str] = choice("residual", WHERE, url="patch_where")
    colours: Param[str] = choice("shared", COLOURS, url="patch_colours")
    layer: Param[int | None] = whole_number(None, url="patch_layer")
    place: Param[int | None] = whole_number(None, url="patch_place")
