"""The values of the page “Sentence similarity” in the address."""

from encoder.similarity import REFERENCES
from pages.state import Param, choice, flag, state, string, whole_number

STEPS = ("auto", "8", "16", "32", "64", "128")
OTHER_SENTENCE = "The dog stayed on the pavement because it was exhausted."


@state.register
class Params:
    """Sentence B, where the map is, how it is computed, and the selected pair. Sentence A is the reader's."""

    other: Param[str] = string(OTHER_SENTENCE, url="similar_to")
    # 0: the input tokens; the model's number of layers: the output.
    depth: Param[int] = whole_number(0, url="vectors")
    reference: Param[str] = choice("pad", REFERENCES)
    steps: Param[str] = choice("auto", STEPS, url="path_steps")
    words: Param[bool] = flag(url="whole_words")
    token_a: Param[int | None] = whole_number(None)
    token_b: Param[int | None] = whole_number(None)
