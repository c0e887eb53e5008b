"""Every step from the text to the output vector as a pure function: (trace, place) -> the numbers of that step.

    from encoder import explain
    step = explain.score(trace, explain.Place(layer=2, head=3, query=4, key=1))
    step.value, step.formula.numbers
    step.check(explain.Recomputation(trace))    # the same in float64, from ids and weights

A step is a frozen dataclass with float32 arrays, labels and its formula as LaTeX. `chain` runs all steps in order.
"""

from dataclasses import dataclass

from encoder.explain.embedding import EmbeddingStep, Lookup, embedding, lookup
from encoder.explain.ffn import FeedForwardStep, HiddenActivations, feed_forward, hidden_activations
from encoder.explain.latex import Formula
from encoder.explain.motion import AttentionRow, FlowStage, TokenFlow, attention_row, token_flow
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
from encoder.explain.reference import Chain, Check, Recomputation, chain
from encoder.explain.score import ScalingEffect, Score, ScoreMatrix, Variant, scaling_effect, score, score_matrix
from encoder.explain.softmax import Softmax, softmax
from encoder.explain.tensors import Opened, tensor
from encoder.explain.text import PaddedBatch, TextToIds, padded_batch, text_to_ids, word_pieces
from encoder.explain.weighted_sum import OutputProjection, WeightedSum, output_projection, weighted_sum


@dataclass(frozen=True)
class Step:
    """The name of a step. key: in an address; title; question: what the step answers."""

    key: str
    title: str
    question: str


STEPS = (
    Step("ids", "Text to ids", "Which entries of the vocabulary make up the sentence?"),
    Step("embedding", "Embedding", "How does an id become a vector?"),
    Step("qkv", "Queries, keys, values", "How does a head compute its query, key and value?"),
    Step("scores", "Scores", "How well does a key match a query?"),
    Step("softmax", "Softmax", "How do scores become weights?"),
    Step("mixing", "Weighted sum of values", "What does a token receive from the other tokens?"),
    Step("norm", "Add & norm", "How does the result enter the residual stream?"),
    Step("ffn", "Feed-forward", "How does the FFN transform each token?"),
    Step("output", "Output", "How do token vectors become a sentence vector?"),
)

#: The public names: values of steps, then the functions that compute them.
__all__ = [
    "STEPS", "AddNorm", "AttentionRow", "Chain", "Check", "EmbeddingStep", "FeedForwardStep", "FlowStage", "Formula",
    "HiddenActivations", "Journey", "Lookup", "NormComparison", "NormMoments", "Normalised", "Opened",
    "OutputProjection", "PaddedBatch", "Place", "Plane", "Pooled", "Projection", "Recomputation", "ScalingEffect",
    "Score", "ScoreMatrix", "Similarity", "Softmax", "Step", "TextToIds", "TokenFlow", "Variant", "WeightedSum",
    "add_norm", "attention_row", "chain", "compare_norms", "embedding", "feed_forward", "hidden_activations", "journey",
    "lookup", "nearest", "norm_moments", "normalised", "output_projection", "padded_batch", "plane", "pooled",
    "projected_matrix", "projection", "scaling_effect", "score", "score_matrix", "similarity", "softmax", "tensor",
    "text_to_ids", "token_flow", "weighted_sum", "word_pieces",
]  # fmt: skip
