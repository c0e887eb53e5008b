"""Every step from the typed word to the output vector as a pure function: (trace, place) -> the numbers that a page
shows.

    from encoder import explain
    step = explain.score(trace, explain.Place(layer=2, head=3, query=4, key=1))
    step.value, step.formula.numbers
    step.check(explain.Recomputation(trace))    # the same in float64, from ids and weights

Each step's value is frozen and holds float32 arrays, labels and its formula as LaTeX; `chain` strings the steps
together.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoder.explain.chain import Chain, chain
from encoder.explain.embedding import EmbeddingStep, Lookup, embedding, lookup
from encoder.explain.ffn import FeedForwardStep, HiddenActivations, feed_forward, hidden_activations
from encoder.explain.float64_reference import Check, Recomputation
from encoder.explain.latex import Formula
from encoder.explain.norm import (
    AddNorm,
    Normalised,
    NormComparison,
    NormMoments,
    add_norm,
    compare_norms,
    norm_moments,
    normalised,
)
from encoder.explain.output import Journey, Plane, Pooled, Similarity, journey, nearest, plane, pooled, similarity
from encoder.explain.place import Place
from encoder.explain.projection import Projection, projected_matrix, projection
from encoder.explain.score import ScalingEffect, Score, ScoreMatrix, Variant, scaling_effect, score, score_matrix
from encoder.explain.softmax import Softmax, softmax
from encoder.explain.tensors import Opened, tensor
from encoder.explain.text import PaddedBatch, TextToIds, padded_batch, text_to_ids, word_pieces
from encoder.explain.weighted_sum import OutputProjection, WeightedSum, output_projection, weighted_sum


@dataclass(frozen=True)
class Step:
    """A step as it is named on the screen. key: its name in an address; title; question: what it answers."""

    key: str
    title: str
    question: str


STEPS = (
    Step("ids", "Text to ids", "Which entries of the vocabulary is the sentence made of?"),
    Step("embedding", "EmbeddingStep", "How does an id become a vector?"),
    Step("qkv", "Queries, keys, values", "What does a head make of a token?"),
    Step("scores", "Scores", "How well does a key fit a query?"),
    Step("softmax", "Softmax", "How do scores become weights?"),
    Step("mixing", "Weighted sum of values", "What does a token take from the others?"),
    Step("norm", "Add & norm", "How does it get into the stream, and at which scale?"),
    Step("ffn", "Feed-forward", "What does a token make of itself?"),
    Step("output", "Output", "What has become of the token, and of the sentence?"),
)

__all__ = [
    "STEPS",
    "AddNorm",
    "Chain",
    "Check",
    "EmbeddingStep",
    "FeedForwardStep",
    "Formula",
    "HiddenActivations",
    "Journey",
    "Lookup",
    "NormComparison",
    "NormMoments",
    "Normalised",
    "Opened",
    "OutputProjection",
    "PaddedBatch",
    "Place",
    "Plane",
    "Pooled",
    "Projection",
    "Recomputation",
    "ScalingEffect",
    "Score",
    "ScoreMatrix",
    "Similarity",
    "Softmax",
    "Step",
    "TextToIds",
    "Variant",
    "WeightedSum",
    "add_norm",
    "chain",
    "compare_norms",
    "embedding",
    "feed_forward",
    "hidden_activations",
    "journey",
    "lookup",
    "nearest",
    "norm_moments",
    "normalised",
    "output_projection",
    "padded_batch",
    "plane",
    "pooled",
    "projected_matrix",
    "projection",
    "scaling_effect",
    "score",
    "score_matrix",
    "similarity",
    "softmax",
    "tensor",
    "text_to_ids",
    "weighted_sum",
    "word_pieces",
]  # fmt: skip
