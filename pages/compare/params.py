"""The values of the page “Compare” in the address."""

from dataclasses import dataclass

from encoder.load import BUNDLED
from pages.state.params import Param, choice, string, whole_number
from pages.state.url_state import state

#: "sentences": two inputs, of any kind.
WHAT = {"heads": "Two heads", "sentences": "Two {inputs}", "models": "Two models"}
OTHER_SENTENCE = "The animal didn't cross the street because it was too wide."

#: Models to compare with the sidebar's.
MODELS = {
    "moved": "The same weights, norms moved",
    **{name: one.label for name, one in BUNDLED.items()},
    "scratch": "Untrained",
    "other": "Folder or Hub id",
}


@state.register
@dataclass(frozen=True)
class Params:
    """Side B; side A is the view itself."""

    what: Param[str] = choice("heads", WHAT, url="compare")
    # Unset: the page chooses, the next head or the same head of the other model.
    layer_b: Param[int | None] = whole_number(None)
    head_b: Param[int | None] = whole_number(None)
    text_b: Param[str] = string(OTHER_SENTENCE)
    # The name of an image or a sound; "": the page chooses.
    input_b: Param[str] = string()
    model_b: Param[str] = choice("moved", MODELS)
    source_b: Param[str] = string()
    # A selected token that only side B has.
    i_b: Param[int | None] = whole_number(None)
    j_b: Param[int | None] = whole_number(None)
