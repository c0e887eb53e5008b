"""The values of the page Interventions in the address, next to those of the edits and of the outcome."""

from dataclasses import dataclass

from pages.core.widgets.outcomes import OutcomeParams as OutcomeParams  # registered before the first run
from pages.state import Param, choice, state, string, whole_number

KINDS = {"ablation": "Ablation", "patching": "Patching", "context": "Decoder’s input"}
#: Kind -> the question that its picture answers; edited: of an ablation with edits.
QUESTIONS = {
    "ablation": "Which heads does the result depend on?",
    "edited": "How much do your edits change the result?",
    "patching": "Which vector carries the difference?",
    "context": "Which vectors and heads does the output depend on?",
}
CLICK = "A click on a head"
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
    """Values of the page; each field but `kind` belongs to one kind of intervention."""

    #: What the page does to a part of the forward pass.
    kind: Param[str] = choice("ablation", KINDS, url="intervention")
    #: Ablation: what a click on the map of effects does.
    click: Param[str] = choice("switch", CLICKS, url="effect_click")
    #: Patching: the sentence that vectors are taken from; "": the reader's with one word replaced.
    other: Param[str] = string(url="patch_with")
    #: The number of that word.
    word: Param[int | None] = whole_number(None, url="patch_word")
    #: What replaces it.
    by: Param[str] = string(url="patch_by")
    #: Another input; "": the page chooses.
    other_input: Param[str] = string(url="patch_input")
    #: What is replaced.
    where: Param[str] = choice("residual", WHERE, url="patch_where")
    #: The largest share of the colours.
    colours: Param[str] = choice("shared", COLOURS, url="patch_colours")
    #: Layer of the selected place.
    layer: Param[int | None] = whole_number(None, url="patch_layer")
    #: Its token or head.
    place: Param[int | None] = whole_number(None, url="patch_place")
