"""What the classification head of a model says: the classes of a text, the tags of its tokens, the entities in it.

    model = encoder.load("folder/of/a/classifier")
    prediction = classify.predict(model, model.trace("A great film."))
    prediction.best, prediction.probabilities

`span_scores` has the scores of spans for labels in words (GLiNER). `class_heads` saves a head as one file and opens it
again, next to any encoder of its width. `sparse` has SPLADE's words of a text, `spans` the answers to a question.
"""

from encoder.classify.class_heads import head_from_bytes, head_to_bytes, with_head
from encoder.classify.entity import Entity
from encoder.classify.label_spans import SpanScores, span_scores, with_labels
from encoder.classify.predicted import (
    Prediction,
    TokenTag,
    class_place,
    classifier_of,
    entities,
    predict,
    probability,
    tags,
)
from encoder.classify.spans import Span, answers, span_logits
from encoder.classify.sparse import SparseVector, sparse_vector

__all__ = [
    "Entity", "Prediction", "Span", "SpanScores", "SparseVector", "TokenTag", "answers", "class_place",
    "classifier_of", "entities", "head_from_bytes", "head_to_bytes", "predict", "probability", "span_logits",
    "span_scores", "sparse_vector", "tags", "with_head", "with_labels",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
