"""The values of the page “Predict” in the address."""

from encoder.classify.label_spans import THRESHOLD
from encoder.inputs.captions import WORDS, filled
from pages.state import Param, choice, number, state, string, whole_number

TASKS = {"word": "Masked word", "class": "Class", "caption": "Caption", "answer": "Answer",
         "entity": "Entity", "sparse": "Vocabulary",
         "output": "Output"}  # fmt: skip
LEAST_WORDS, MOST_WORDS = 1, 20
FIRST_TEMPLATE = "a handwritten {number}"
TEN_DIGITS = "\n".join(filled(FIRST_TEMPLATE, word) for word in WORDS)
#: Factors of the trained scale.
SCALES = ("0.0625", "0.125", "0.25", "0.5", "1", "2", "4", "8")
CELLS = {"probability": "Probability", "cosine": "Cosine"}


@state.register
class Params:
    """task: what is predicted, "": what the model was trained for; top: how many words are shown per [MASK]; word:
    number of the hidden word in the reader's sentence."""

    task: Param[str] = choice("", ("", *TASKS), url="predict")
    top: Param[int] = whole_number(5, LEAST_WORDS, MOST_WORDS)
    word: Param[int | None] = whole_number(None, url="hidden_word")


@state.register
class EntityParams:
    """labels: what to look for, with commas between; threshold: a span with a larger score is an entity."""

    labels: Param[str] = string("person, place, date")
    threshold: Param[float] = number(THRESHOLD, 0.0, 1.0, url="entity_threshold")


@state.register
class CaptionParams:
    """captions: one a line; caption: the selected one, None: the one that fits best; word: a token of it."""

    captions: Param[str] = string(TEN_DIGITS)
    caption: Param[int | None] = whole_number(None)
    word: Param[int | None] = whole_number(None, url="caption_word")
    scale: Param[str] = choice("1", SCALES, url="scale_times")
    cells: Param[str] = choice("probability", CELLS, url="pair_cells")
    template: Param[str] = string(FIRST_TEMPLATE)
    opacity: Param[float] = number(0.5, 0.0, 1.0, url="word_opacity")
