"""Where to go from the front page: preset views for newcomers, and what researchers ask for.

What a note says was computed; tests/pages/test_model.py computes it again at the same view.
"""

from dataclasses import dataclass, field

from pages.core.view.view import FIRST_SENTENCE

BANKS = "She sat on the bank of the river and thought about her money in the bank."
_IT = {"text": FIRST_SENTENCE, "layer": "3", "head": "1", "i": "10", "j": "2"}


@dataclass(frozen=True)
class Way:
    """A page with a view: its values by their names in the address."""

    label: str
    folder: str
    values: dict[str, str] = field(default_factory=dict)
    note: str = ""


#: Four views for a first visit.
NEW = {
    "attend": Way("See “it” attend", "heads", _IT, "One head gives “it” one large weight: on “animal”."),
    "weight": Way(
        "How a weight is computed", "model", {**_IT, "step": "softmax"}, "Scores become weights that sum to 1."
    ),
    "order": Way(
        "Does order matter?", "positions", {"text": "The dog bites the man."}, "Reverse the words: the vectors change."
    ),
    "norm": Way(
        "What does LayerNorm do?", "pre_post", {"text": BANKS, "model": "twin-pre", "sides": "stream"},
        "Pre-norm: vectors grow by layer. Post-norm: they do not.",
    ),
}  # fmt: skip

#: For people who run an encoder.
RUN = (
    Way("Open your model: a folder or a Hub id", "heads", {"model": "other"}),
    Way("Find why its vectors differ from another program’s", "diagnose"),
    Way("Explain why two texts are similar", "texts", {"explain": "two"}),
    Way("Explain why a search missed a text", "texts", {"explain": "missed"}),
)

#: What researchers ask for.
RESEARCH = (
    Way("Compare two models head by head", "heads",
        {"view": "beside", "model": "twin-pre", "compare": "models", "model_b": "twin-post"}),
    Way("Find head types, sort and filter all heads", "heads", {"all_heads": "roles"}),
    Way("Test whether attention explains the output", "contribution", {"beyond": "deletion"}),
)  # fmt: skip
