"""Where to go from the front page: preset views for newcomers, lessons for a class, and what researchers ask for.

Every observation was computed; tests/pages/test_model.py computes it again at the same view.
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


@dataclass(frozen=True)
class Lesson:
    """A question for a class, the view that answers it, what the class sees there, and the answer."""

    question: str
    way: Way
    observation: str
    answer: str


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
        "What does the norm do?", "pre_post", {"text": BANKS, "model": "twin-pre", "sides": "stream"},
        "Pre-norm: vectors grow by layer. Post-norm: they do not.",
    ),
}  # fmt: skip

#: Four lessons.
LESSONS = {
    "bank": Lesson(
        "Does “bank” find its meaning?",
        Way("Open the view", "heads", {"text": BANKS, "layer": "0", "head": "4", "i": "5", "j": "8"}),
        "In L0 H4, the first “bank” attends most to “river”, with more than half of its attention. Now select the "
        "second “bank”: its largest weight is on “river” too, not on “money”.",
        "The head relates “bank” to a related word. It does not choose the meaning that fits the place. One head is a "
        "clue, not an explanation.",
    ),
    "previous": Lesson(
        "Does a head attend by word or by position?",
        Way("Open the view", "heads", {"text": BANKS, "layer": "0", "head": "2"}),
        "In L0 H2, each token of this sentence gives more than 0.99 of its attention to the token before it. Type "
        "others: the diagonal stays.",
        "By position: a previous-token head. Voita et al. (2019) call such heads positional.",
    ),
    "contribution": Lesson(
        "Is a large weight a large contribution?",
        Way("Open the view", "contribution", {"text": FIRST_SENTENCE, "layer": "2", "head": "7"}),
        "In L2 H7, [CLS] receives more than 0.8 of all attention, but less than 0.2 of the norm-weighted attention.",
        "No: the transformed value of [CLS] has a small norm there. A contribution depends on the weight and on this "
        "norm (Kobayashi et al. 2020).",
    ),
    "warm-up": Lesson(
        "Why does post-norm need warm-up?",
        Way("Open the view", "training", {"train_part": "gradients"}),
        "From 2 to 12 layers, the last layer's gradient falls with every step in pre-norm. In post-norm it stays "
        "within a quarter of its first value.",
        "Xiong et al. (2020): large gradients near the output make the first steps unstable, and warm-up keeps these "
        "steps small. Later work disputes that this is the whole reason.",
    ),
}

#: What researchers ask for.
RESEARCH = (
    Way("Open a model: a folder or a Hub id", "heads", {"model": "other"}),
    Way("Compare two models head by head", "heads",
        {"view": "beside", "model": "twin-pre", "compare": "models", "model_b": "twin-post"}),
    Way("Find head types, sort and filter all heads", "head_types"),
    Way("Test whether attention explains the output", "contribution", {"beyond": "deletion"}),
)  # fmt: skip

#: The same numbers in a notebook.
PYTHON = """\
import encoder

model = encoder.load("minilm")  # or a folder, or a Hub id
trace = model.trace("Type any sentence here.")
trace.attention(layer=3, head=1)"""

#: A server for a class.
CLASSROOM = "encoderscope --host 0.0.0.0"
