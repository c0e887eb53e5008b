"""The output: how the tokens of a sentence become one vector.

Shapes: T tokens, D d_model.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError, quoted
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import SHOWN_TERMS, Formula, bracketed, calculation, left_out, long_sum, number, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array
from encoder.trace.trace import Trace

#: The ways of `encoder.model.pooling` that weight the tokens: all but the maximum.
PoolingKind = Literal["mean", "cls", "mean_sqrt_len", "weighted_mean", "last", "first_two", "after_first"]
POOLINGS: tuple[PoolingKind, ...] = get_args(PoolingKind)
#: "own": as the model of the trace does it.
ChosenPooling = PoolingKind | Literal["own"] | None


@dataclass(frozen=True, eq=False)
class Pooled:
    """One vector of a sentence. weights [T]: of each token; terms [T]: weight x the selected
    component; vector [D]."""

    kind: PoolingKind
    place: Place
    labels: tuple[str, ...]
    weights: Floats
    terms: Floats
    vector: Floats
    formula: Formula

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The pooled vector, from ids and weights."""
        vector = _weights(self.kind, reference.mask.astype(np.float64)) @ reference.output()
        return (reference.check(f"{self.kind} pooling", self.vector, vector, (self.place.component,)),)


def pooled(trace: Trace, kind: PoolingKind, place: Place | None = None) -> Pooled:
    """One vector of the sentence, in one of the ways of `encoder.model.pooling` that weight the tokens."""
    place = (place or Place()).checked(trace.config, trace.n_tokens, trace.config.d_model)
    weights = pooling_weights(trace, kind)
    output = array(trace.output[: trace.n_real])
    c = place.component
    vector = weights @ output
    terms = weights * output[:, c]
    rule = {
        "cls": r"e = x_0",
        "mean": r"e = \frac1T \sum_{i=0}^{T-1} x_i",
        "last": r"e = x_{T-1}",
        "weighted_mean": stack(r"e = \sum_{i=0}^{T-1} a_i x_i", r"a_i = \frac{i + 1}{\sum_j (j + 1)}"),
        "mean_sqrt_len": r"e = \frac{1}{\sqrt T} \sum_{i=0}^{T-1} x_i",
        "first_two": r"e = \frac12 (x_0 + x_1)",
        "after_first": r"e = \frac{1}{T-1} \sum_{i=1}^{T-1} x_i",
    }
    shown = [rf"{number(w)} \cdot {bracketed(x)}" for w, x in zip(weights, output[:, c], strict=True)][:SHOWN_TERMS]
    sums = [] if kind in ("cls", "last") else [long_sum(shown + left_out(len(weights)))]
    numbers = calculation((f"e_{{{c}}}", [*sums, number(vector[c])]))
    return Pooled(kind, place, trace.labels[: trace.n_real], weights, terms, vector, Formula(rule[kind], numbers))


def chosen_pooling(trace: Trace, pooling: ChosenPooling) -> PoolingKind | None:
    """The way of pooling that is meant; None: the model has another way than weights, or the trace has no model."""
    if pooling != "own":
        return pooling
    own = getattr(trace.model, "pooling", None)
    return next((kind for kind in POOLINGS if kind == own), None)


def pooling_weights(trace: Trace, kind: PoolingKind) -> Floats:
    """[T]: the weight of every real token. Raises EncoderError for an unknown kind."""
    return _weights(kind, np.ones(trace.n_real)).astype(np.float32)


def _weights(kind: PoolingKind, mask: NDArray[np.float64]) -> NDArray[np.float64]:
    """[T] in float64, from 1 for a real token and 0 for padding, which follows."""
    n, place = int(mask.sum()), np.arange(len(mask))
    if kind not in POOLINGS:
        raise EncoderError(f"pooling={quoted(kind)}: choose one of {', '.join(POOLINGS)}.")
    if kind == "mean_sqrt_len":
        return mask / np.sqrt(n)
    share = {
        "mean": mask,
        "cls": mask * (place == 0),
        "last": mask * (place == n - 1),
        "weighted_mean": mask * (place + 1),
        "first_two": mask * (place < 2),
        "after_first": mask * (place > 0),
    }[kind]
    found: NDArray[np.float64] = share / share.sum()
    return found
