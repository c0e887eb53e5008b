"""The softmax: e to the power of each score minus the maximum, their sum, the weights.

Shapes: T tokens (queries i, keys j).
"""

import math
from dataclasses import dataclass

import numpy as np

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.latex import Formula, bracketed, calculation, fraction, long_sum, number, stack, written_out
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.score import AS_MODEL, Variant, score_matrix
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class Softmax:
    """One row of weights."""

    place: Place
    variant: Variant
    #: [T]: before the mask.
    scores: Floats
    #: [T].
    allowed: Bools
    #: The largest allowed score.
    top: float
    #: [T]: exp(s - top); 0 where masked.
    exponentials: Floats
    #: The exponential of a learned sink; 0 without one.
    sink: float
    #: The sum of all exponentials.
    total: float
    #: [T].
    weights: Floats
    #: In nats.
    entropy: float
    #: The entropy of uniform attention, in nats.
    uniform: float

    @property
    def value(self) -> float:
        """The weight of key j."""
        return float(self.weights[self.place.key])

    @property
    def formula(self) -> Formula:
        """The weight of key j."""
        i, j = self.place.query, self.place.key
        below = written_out(len(self.exponentials), lambda k: number(self.exponentials[k]), chosen=j)
        below += [rf"{number(self.sink)} \quad\text{{(learned sink)}}"] if self.sink else []
        if not self.allowed[j]:
            steps = [r"0 \quad\text{(masked)}"]
        else:
            difference = f"{number(self.scores[j])} - {bracketed(self.top)}"
            steps = [
                fraction(f"e^{{{difference}}}", number(self.total)),
                fraction(number(self.exponentials[j]), number(self.total)),
                number(self.value),
            ]
        under = r"\sum_{l=0}^{T-1} e^{s_{i,l} - m_i}" + (" + e^{b - m_i}" if self.sink else "")
        rule = fraction("e^{s_{i,j} - m_i}", under)
        return Formula(
            symbols=stack(rf"\alpha_{{i,j}} = {rule}", r"m_i = \max_l s_{i,l}"),
            numbers=calculation(
                (r"\textstyle\sum_l e^{\cdots}", [long_sum(below), number(self.total)]),
                (rf"\alpha_{{{i},{j}}}", steps),
            ),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The row of weights, from ids and weights."""
        at, how = self.place, self.variant
        row = reference.attention(at.layer, at.head, [at.query], scaled=how.scaled, causal=how.causal)[0]
        return (reference.check("attention", self.weights, row, (at.key,)),)


def softmax(trace: Trace, place: Place, variant: Variant = AS_MODEL) -> Softmax:
    """The row of token i."""
    place = place.checked(trace.config, trace.n_tokens)
    matrix = score_matrix(trace, place, variant, slice(place.query, place.query + 1))
    sinks = trace.contexts[place.layer].sinks
    sink = None if sinks is None else float(sinks[place.head])
    return softmax_of(place, variant, matrix.scores[0], matrix.allowed[0], matrix.weights[0], sink)


def softmax_of(
    place: Place, variant: Variant, scores: Floats, allowed: Bools, weights: Floats, learned: float | None = None
) -> Softmax:
    """The step of a row of scores and weights; learned: the score of a learned sink."""
    if not allowed.any():  # a padding token with nothing to attend to: uniform weights
        scores, allowed = np.zeros_like(scores), np.ones_like(allowed)
    exponentials = arithmetic.exponentials(scores, allowed)
    top = float(scores[allowed].max())
    sink = 0.0 if learned is None else math.exp(learned - top)
    return Softmax(
        place=place,
        variant=variant,
        scores=scores,
        allowed=allowed,
        top=top,
        exponentials=exponentials,
        sink=sink,
        total=float(exponentials.sum()) + sink,
        weights=weights,
        entropy=float(arithmetic.entropy(weights)),
        uniform=float(np.log(allowed.sum())),
    )
