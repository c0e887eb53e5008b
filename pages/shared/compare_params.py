"""The values of the page "Compare" in the URL. Its first side is the view itself; these are the other side's."""

from __future__ import annotations

from pages.shared.url_state import Param, choice, whole_number

WHAT = {"heads": "Two heads", "sentences": "Two sentences", "models": "Two models"}
OTHER_SENTENCE = "The animal didn't cross the street because it was too wide."

#: Models to hold the sidebar's against.
MODELS = {
    "moved": "the same weights, norms moved",
    "minilm": "all-MiniLM-L6-v2",
    "twin-pre": "Twin, pre-norm",
    "twin-post": "Twin, post-norm",
    "scratch": "from scratch",
    "other": "a folder or Hub id",
}

PARAMS = (
    choice("compare", "heads", WHAT),
    # Unset: chosen by the page, the next head, or the same head of the other model.
    whole_number("layer_b", None),
    whole_number("head_b", None),
    Param("text_b", OTHER_SENTENCE),
    choice("model_b", "moved", MODELS),
    Param("source_b", ""),
    # A selected token that the first side does not have.
    whole_number("i_b", None),
    whole_number("j_b", None),
)
