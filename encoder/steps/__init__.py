"""Every step from the typed word to the output vector as a pure function: (trace, selection) -> the numbers that a page
shows.

    from encoder import steps
    step = steps.score(trace, steps.Selection(layer=2, head=3, query=4, key=1))
    step.value, step.formula.numbers
    step.check(steps.Recomputation(trace))    # the same in float64, from ids and weights

Each step's value is frozen and holds float32 arrays, labels and its formula as LaTeX; `chain` strings the steps
together.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoder.steps.chain import Chain, chain
from encoder.steps.check import Check, Recomputation
from encoder.steps.embedding import Embedding, Lookup, embedding, lookup
from encoder.steps.ffn import FeedForward, HiddenLayer, feed_forward, hidden_layer
from encoder.steps.latex import Formula
from encoder.steps.mixing import HeadsTogether, Mixing, heads_together, mixing
from encoder.steps.norm import (
    AddNorm,
    Normalised,
    NormComparison,
    NormMoments,
    add_norm,
    compare_norms,
    norm_moments,
    normalised,
)
from encoder.steps.output import Journey, Plane, Pooled, Similarity, journey, nearest, plane, pooled, similarity
from encoder.steps.projection import Projection, projected_matrix, projection
from encoder.steps.score import ScalingEffect, Score, ScoreMatrix, Variant, scaling_effect, score, score_matrix
from encoder.steps.selection import Selection
from encoder.steps.softmax import Softmax, softmax
from encoder.steps.tensors import Opened, tensor
from encoder.steps.text import PaddedBatch, TextToIds, padded_batch, text_to_ids, word_pieces


@dataclass(frozen=True)
class Step:
    """A step as it is named on the screen. key: its name in an address; title; question: what it answers."""

    key: str
    title: str
    question: str


STEPS = (
    Step("ids", "Text to ids", "Which entries of the vocabulary is the sentence made of?"),
    Step("embedding", "Embedding", "How does an id become a vector?"),
    Step("qkv", "Queries, keys, values", "What does a head make of a token?"),
    Step("scores", "Scores", "How well does a key fit a query?"),
    Step("softmax", "Softmax", "How do scores become weights?"),
    Step("mixing", "Mixing", "What does a token take from the others?"),
    Step("norm", "Add & norm", "How does it get into the stream, and at which scale?"),
    Step("ffn", "Feed-forward", "What does a token make of itself?"),
    Step("output", "Output", "What has become of the token, and of the sentence?"),
)

__all__ = [
    "STEPS", "AddNorm", "Chain", "Check", "Embedding", "FeedForward", "Formula", "HeadsTogether",
    "HiddenLayer", "Journey", "Lookup", "Mixing", "NormComparison", "NormMoments", "Normalised", "Opened",
    "PaddedBatch", "Plane", "Pooled", "Projection", "Recomputation", "ScalingEffect", "Score", "ScoreMatrix",
    "Selection", "Similarity", "Softmax", "Step", "TextToIds", "Variant", "add_norm", "chain",
    "compare_norms", "embedding", "feed_forward", "heads_together", "hidden_layer", "journey", "lookup",
    "mixing", "nearest", "norm_moments", "normalised", "padded_batch", "plane", "pooled", "projected_matrix",
    "projection", "scaling_effect", "score", "score_matrix", "similarity", "softmax", "tensor", "text_to_ids",
    "word_pieces",
]  # fmt: skip
