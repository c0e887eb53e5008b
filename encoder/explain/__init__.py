"""Every step from the text to the output vector as a pure function: (trace, place) -> the numbers of that step.

    >>> step = explain.score(trace, explain.Place(layer=2, head=3, query=4, key=1))
    >>> value, formula = step.value, step.formula.numbers
    >>> check = step.check(explain.Recomputation(trace))    # the same in float64, from ids and weights

A step is a frozen dataclass with float32 arrays, labels and its formula as LaTeX. `chain` runs all steps in order.
"""

from encoder.explain.convolution import ConvolutionStep, convolution
from encoder.explain.cross import cross_score, cross_softmax, cross_weighted_sum
from encoder.explain.embedding import EmbeddingStep, embedding
from encoder.explain.ffn import (
    FeedForwardStep,
    HiddenActivations,
    expert_weights,
    feed_forward,
    hidden_activations,
)
from encoder.explain.flow import FlowStage, TokenFlow, token_flow
from encoder.explain.latex import Formula
from encoder.explain.neuron_examples import ActiveWord, NeuronExamples, iter_neuron_examples, neuron_examples
from encoder.explain.norm import (
    AddNorm,
    Normalised,
    NormMoments,
    add_norm,
    norm_moments,
    normalised,
)
from encoder.explain.output import Pooled, pooled
from encoder.explain.place import Place
from encoder.explain.projection import Projection, projected_matrix, projection
from encoder.explain.reference import LONGEST_CHECK, Chain, Check, Recomputation, chain
from encoder.explain.score import Score, ScoreMatrix, Variant, score, score_matrix
from encoder.explain.softmax import Softmax, softmax
from encoder.explain.text import TextToIds, text_to_ids, word_pieces
from encoder.explain.weighted_sum import OutputProjection, WeightedSum, output_projection, weighted_sum

#: The public names: a limit, values of steps, then the functions that compute them.
__all__ = [
    "LONGEST_CHECK",
    "ActiveWord", "AddNorm", "Chain", "Check", "ConvolutionStep", "EmbeddingStep", "FeedForwardStep", "FlowStage",
    "Formula", "HiddenActivations", "NeuronExamples", "NormMoments", "Normalised",
    "OutputProjection", "Place", "Pooled", "Projection", "Recomputation",
    "Score", "ScoreMatrix", "Softmax", "TextToIds", "TokenFlow", "Variant", "WeightedSum",
    "add_norm", "chain", "convolution", "cross_score", "cross_softmax", "cross_weighted_sum", "embedding",
    "expert_weights", "feed_forward", "hidden_activations", "iter_neuron_examples", "neuron_examples",
    "norm_moments", "normalised", "output_projection", "pooled",
    "projected_matrix", "projection", "score", "score_matrix", "softmax",
    "text_to_ids", "token_flow", "weighted_sum", "word_pieces",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
