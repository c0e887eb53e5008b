"""The output: change of each token across layers, all layers in one plane, pooling, sentence similarity.

Shapes: L layers, T tokens, S = L + 1 stages of the residual stream (S = L + 2 with a final norm), D d_model.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError
from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.latex import (
    SHOWN_TERMS,
    Formula,
    bracketed,
    calculation,
    fraction,
    left_out,
    long_sum,
    number,
    stack,
)
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array
from encoder.trace.trace import Trace

PoolingKind = Literal["cls", "mean", "attention"]
POOLINGS: tuple[PoolingKind, ...] = ("cls", "mean", "attention")


def stages(trace: Trace) -> tuple[str, ...]:
    """Hook points of the residual stream: the input of layer 0, the output of each layer and of the final norm."""
    names = ["embedding", *(f"layers.{layer}.after_ffn" for layer in range(trace.config.n_layers))]
    return (*names, "output") if trace.config.final_norm else tuple(names)


def stream(trace: Trace) -> Floats:
    """[S, T, D]: the residual stream at every stage, only real tokens."""
    return np.stack([array(trace.values[name][: trace.n_real]) for name in stages(trace)])


@dataclass(frozen=True, eq=False)
class Journey:
    """How the tokens change from stage to stage.

    stages [S]; to_start [S, T]: cosine of a token's vector at a stage with its vector at stage 0; to_previous
    [S - 1, T]: with its vector one stage before; between [S, S]: every stage of the selected token with every
    other; among [S]: mean cosine between different tokens.
    """

    place: Place
    stages: tuple[str, ...]
    labels: tuple[str, ...]
    to_start: Floats
    to_previous: Floats
    between: Floats
    among: Floats
    formula: Formula

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The selected token's cosines with its embedding, from ids and weights."""
        i = self.place.query
        layers = reference.config.n_layers
        rows = [reference.stream(layer)[i] for layer in range(layers + 1)]
        if len(self.stages) > layers + 1:
            rows.append(reference.output()[i])
        unit = [row / np.sqrt(np.sum(row * row)) for row in rows]
        cosines = np.array([np.dot(unit[0], other) for other in unit])
        return (reference.check("cosines", self.to_start[:, i], cosines, (len(rows) - 1,)),)


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


@dataclass(frozen=True, eq=False)
class Similarity:
    """Cosine of two sentences' pooled vectors, as a sum over pairs of tokens.

    pairs [Ta, Tb]: the term of every pair, their sum is `cosine`; shares_a [Ta], shares_b [Tb]: sums over rows and
    columns.
    """

    kind: PoolingKind
    labels_a: tuple[str, ...]
    labels_b: tuple[str, ...]
    pairs: Floats
    shares_a: Floats
    shares_b: Floats
    cosine: float
    formula: Formula

    def check(self, first: Recomputation, second: Recomputation) -> tuple[Check, ...]:
        """The cosine and the tokens' shares, from both sentences' ids and the weights."""
        a = _recomputed_weights(first, self.kind) @ first.output()
        b = _recomputed_weights(second, self.kind) @ second.output()
        lengths = np.sqrt(a @ a) * np.sqrt(b @ b)
        shares = _recomputed_weights(first, self.kind) * (first.output() @ b) / lengths
        return (
            first.check("similarity", [self.cosine], [a @ b / lengths], (0,)),
            first.check("shares", self.shares_a, shares[: len(self.shares_a)]),
        )


def journey(trace: Trace, place: Place) -> Journey:
    """Cosines of every real token with itself across the stages."""
    place = place.checked(trace.config, trace.n_real)
    x = stream(trace)
    i = place.query
    selected = x[:, i]
    to_start = arithmetic.cosine(x, x[:1])
    last = len(x) - 1
    reached = number(to_start[last, i])
    return Journey(
        place=place,
        stages=stages(trace),
        labels=trace.labels[: trace.n_real],
        to_start=to_start,
        to_previous=arithmetic.cosine(x[1:], x[:-1]),
        between=arithmetic.cosine(selected[:, None], selected[None]),
        among=np.array([_mean_other_cosine(at) for at in x]),
        formula=Formula(
            symbols=r"\cos(x_i^0, x_i^s) = \frac{x_i^0 \cdot x_i^s}{\lVert x_i^0 \rVert\, \lVert x_i^s \rVert}",
            numbers=calculation(
                (rf"\cos(x_{{{i}}}^0, x_{{{i}}}^{{{last}}})", [_quotient(selected[0], selected[last]), reached])
            ),
        ),
    )


def _quotient(a: Floats, b: Floats) -> str:
    """The dot product over the product of the norms, in numbers."""
    lengths = rf"{number(np.linalg.norm(a))} \cdot {number(np.linalg.norm(b))}"
    return fraction(number(float(a @ b)), lengths)


def _mean_other_cosine(x: Floats) -> float:
    """x [T, D] -> the mean cosine between two different tokens; 1 for a single token."""
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    n = len(x)
    # The sum over all pairs is the squared norm of the sum of the unit vectors, so no [T, T] is needed.
    return 1.0 if n < 2 else float((np.sum(unit.sum(axis=0) ** 2) - np.sum(unit**2)) / (n * (n - 1)))


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


def similarity(first: Trace, second: Trace, kind: PoolingKind = "mean") -> Similarity:
    """Cosine of two sentences, with the share of every token and of every pair of tokens."""
    weights = [pooling_weights(trace, kind) for trace in (first, second)]
    weighted = [w[:, None] * array(t.output[: t.n_real]) for w, t in zip(weights, (first, second), strict=True)]
    a, b = (rows.sum(axis=0) for rows in weighted)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b)) or 1.0
    pairs = weighted[0] @ weighted[1].T / lengths
    rule = r"\frac{e \cdot e'}{\lVert e \rVert \lVert e' \rVert}"
    over_pairs = r"\sum_{i,j} \frac{a_i\, a'_j\; x_i \cdot x'_j}{\lVert e \rVert \lVert e' \rVert}"
    return Similarity(
        kind=kind,
        labels_a=first.labels[: first.n_real],
        labels_b=second.labels[: second.n_real],
        pairs=pairs,
        shares_a=pairs.sum(axis=1),
        shares_b=pairs.sum(axis=0),
        cosine=float(a @ b) / lengths,
        formula=Formula(
            symbols=calculation((r"\cos(e, e')", [rule, over_pairs])),
            numbers=calculation((r"\cos(e, e')", [_quotient(a, b), number(float(a @ b) / lengths)])),
        ),
    )


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
