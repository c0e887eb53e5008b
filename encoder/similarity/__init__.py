"""Why are two texts alike? The cosine of two sentence vectors, split into pairs of tokens, and simpler measures.

    found = similarity.attribute(model, "The cat sat on the mat", "A kitten rested on a rug")
    found.matrix                                              # [T_a, T_b], adds up to the cosine less reference terms
    similarity.attribute(model, a, b, layer=model.config.n_layers)  # the exact split of the output vectors

`attribution` has the split, `paths` and `tangents` the integrated derivatives, `comparison` the simpler measures.
"""

from encoder.similarity.attribution import (
    TOLERANCE,
    Attribution,
    Progress,
    attribute,
    attribute_gradually,
    splits_exactly,
)
from encoder.similarity.comparison import (
    Agreement,
    WordScores,
    agreement,
    leave_words_out,
    method_scores,
    output_similarity,
    word_scores,
)
from encoder.similarity.paths import REFERENCES, Reference

__all__ = [
    "REFERENCES",
    "TOLERANCE",
    "Agreement",
    "Attribution",
    "Progress",
    "Reference",
    "WordScores",
    "agreement",
    "attribute",
    "attribute_gradually",
    "leave_words_out",
    "method_scores",
    "output_similarity",
    "splits_exactly",
    "word_scores",
]
