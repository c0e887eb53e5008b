"""Why are two texts alike? The cosine of two sentence vectors, split into pairs of tokens.

    >>> exact = similarity.attribute(model, "a cat", "a kitten", layer=model.config.n_layers)    # of the output vectors
    >>> exact.matrix.shape                                    # [T_a, T_b], adds up to the cosine
    (4, 4)
    >>> found = similarity.attribute(model, "a cat", "a kitten")    # at the embeddings; less reference terms

`attribution` has the split, `paths` the integrated derivatives, `words` the numbers of words, `of_class` the
same question for a class of a classification head, `late` ColBERT's MaxSim, `page` the same for images of pages.
"""

from encoder.similarity.attribution import (
    TOLERANCE,
    Attribution,
    Progress,
    attribute,
    attribute_gradually,
    cell_error,
    splits_exactly,
)
from encoder.similarity.late import LateInteraction, late_interaction
from encoder.similarity.of_class import ClassAttribution, attribute_class, iter_attribute_class
from encoder.similarity.page import PageInteraction, page_interaction
from encoder.similarity.paths import REFERENCES, Reference
from encoder.similarity.words import Cells, WordScores, leave_words_out, token_cells, word_cells, word_scores

__all__ = [
    "REFERENCES", "TOLERANCE", "Attribution", "Cells", "ClassAttribution", "LateInteraction", "PageInteraction",
    "Progress", "Reference", "WordScores", "attribute", "attribute_class", "attribute_gradually", "cell_error",
    "iter_attribute_class", "late_interaction", "leave_words_out", "page_interaction", "splits_exactly", "token_cells",
    "word_cells", "word_scores",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
