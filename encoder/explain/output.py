"""The output: how the tokens of a sentence become one vector.

Shapes: T tokens, D d_model.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import SHOWN_TERMS, Formula, bracketed, calculation, left_out, long_sum, number, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array
from encoder.trace.trace import Trace

PoolingKind = Literal["cls", "mean", "attention"]
POOLINGS: tuple[PoolingKind, ...] = ("cls", "mean", "attention")


@dataclass(frozen=True, eq=False)
class Pooled:
    """One vector of a sentence. weights [T]: of each token (sum 1); terms [T]: weight x the selected
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
        vector = _recomputed_weights(reference, self.kind) @ reference.output()
        return (reference.check(f"{self.kind} pooling", self.vector, vector, (self.place.component,)),)


def pooled(trace: Trace, kind: PoolingKind, place: Place | None = None) -> Pooled:
    """One vector of the sentence: "cls", the first token; "mean", all real tokens; "attention", each token weighted by
    the attention of the first token to it in the last layer, averaged over heads (no weights were trained for that)."""
    place = (place or Place()).checked(trace.config, trace.n_tokens, trace.config.d_model)
    weights = pooling_weights(trace, kind)
    output = array(trace.output[: trace.n_real])
    c = place.component
    vector = weights @ output
    terms = weights * output[:, c]
    rule = {
        "cls": r"e = x_0",
        "mean": r"e = \frac1T \sum_{i=0}^{T-1} x_i",
        "attention": stack(r"e = \sum_{i=0}^{T-1} a_i x_i", r"a_i = \frac1H \sum_h \alpha^{h}_{0,i}"),
    }
    shown = [rf"{number(w)} \cdot {bracketed(x)}" for w, x in zip(weights, output[:, c], strict=True)][:SHOWN_TERMS]
    sums = [] if kind == "cls" else [long_sum(shown + left_out(len(weights)))]
    numbers = calculation((f"e_{{{c}}}", [*sums, number(vector[c])]))
    return Pooled(kind, place, trace.labels[: trace.n_real], weights, terms, vector, Formula(rule[kind], numbers))


def pooling_weights(trace: Trace, kind: PoolingKind) -> Floats:
    """[T]: the weight of every real token; the sum is 1. Raises EncoderError for an unknown kind."""
    n = trace.n_real
    if kind == "mean":
        return np.full(n, 1.0 / n, dtype=np.float32)
    if kind == "cls":
        return np.eye(1, n, dtype=np.float32)[0]
    if kind == "attention":
        rows = trace.layer_attention(trace.config.n_layers - 1, slice(0, 1))[:, 0, :n]  # [H, T]
        received = rows.mean(dim=0)
        return array(received / received.sum())  # with a learned sink, rows sum to less than 1
    raise EncoderError(f"pooling={kind!r}: choose one of {', '.join(POOLINGS)}.")


def _recomputed_weights(reference: Recomputation, kind: PoolingKind) -> NDArray[np.float64]:
    """[T] in float64, 0 for padding: pooling weights for the check."""
    weights: NDArray[np.float64] = reference.mask.astype(np.float64)
    if kind == "mean":
        weights = weights / weights.sum()
    elif kind == "cls":
        weights = np.where(np.arange(reference.n_tokens) == 0, 1.0, 0.0)
    else:
        last, heads = reference.config.n_layers - 1, range(reference.config.n_heads)
        weights = weights * np.mean([reference.attention(last, head, [0])[0] for head in heads], axis=0)
        weights = weights / weights.sum()
    return weights
