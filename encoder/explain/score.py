"""Step 4, scores: q_i . k_j term by term, / sqrt(K), the bias for the distance, the mask; scores without the scale.

Shapes: T tokens (queries i, keys j), K width of a head.
"""

from dataclasses import dataclass

import numpy as np

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.comparison import Check, compare
from encoder.explain.float64_reference import Recomputation
from encoder.explain.latex import Formula, bracketed, calculation, coloured, long_sum, number, products
from encoder.explain.place import Place
from encoder.explain.source import array, label, mask
from encoder.trace import Trace


@dataclass(frozen=True)
class Variant:
    """How scores are computed. scaled: with the factor 1/sqrt(K); causal: None for the mask of the model; True: no
    token attends to a later one; False: every token attends to every token."""

    scaled: bool = True
    causal: bool | None = None


AS_MODEL = Variant()


@dataclass(frozen=True, eq=False)
class Score:
    """One score and its row.

    q, k [K]; terms [K]: q_c k_c; dot: their sum; scale; bias: for the distance, 0 where the model adds none; visible:
    whether the mask lets token i attend to j; value: the score, before the mask. dots, row [T]: the dot
    products and the scores of token i with every key; allowed [T]; weights [T]: softmax of the row.
    """

    place: Place
    variant: Variant
    labels: tuple[str, str]
    q: Floats
    k: Floats
    terms: Floats
    dot: float
    scale: float
    bias: float
    value: float
    visible: bool
    dots: Floats
    row: Floats
    allowed: Bools
    weights: Floats
    formula: Formula

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The row of scores and the dot product, from ids and weights."""
        at, dtype = self.place, reference.dtype
        q, k = reference.qkv(at.layer, "q")[at.head, at.query], reference.qkv(at.layer, "k")[at.head]
        row = reference.scores(at.layer, at.head, [at.query], scaled=self.variant.scaled, causal=self.variant.causal)[0]
        shown = np.where(self.allowed, self.row, -np.inf)
        return (
            compare("scores", shown, row, (at.key,), dtype),
            compare("products", self.terms, q * k[at.key], dtype=dtype),
            compare("dot products", self.dots, k @ q, (at.key,), dtype),
        )


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores and weights of the queries `rows` for all keys, [Ti, T] each; allowed [Ti, T]."""

    rows: slice
    scores: Floats
    allowed: Bools
    weights: Floats


@dataclass(frozen=True, eq=False)
class ScalingEffect:
    """One row with and without 1/sqrt(K). scores, weights [2, T] (with, without); entropy [2] in nats; uniform: the
    entropy of uniform attention; mean_entropy, mean_top [2]: over all rows of real tokens, entropy and
    largest weight."""

    scale: float
    scores: Floats
    weights: Floats
    entropy: Floats
    uniform: float
    mean_entropy: Floats
    mean_top: Floats


def score(trace: Trace, place: Place, variant: Variant = AS_MODEL) -> Score:
    """The score of query i and key j: terms, sum, scale, bias, mask, and the whole row of token i."""
    place = place.checked(trace.config, trace.n_tokens, trace.config.d_head)
    i, j = place.query, place.key
    q, k = _qk(trace, place)
    q_row, k_row = q[i], k[j]
    rows = slice(i, i + 1)
    bias = _bias(trace, place.head, rows)
    scale = scale_of(trace, variant)
    dots = q_row @ k.T
    scores, allowed = _scores(trace, place, variant, rows)
    terms = q_row * k_row
    added = 0.0 if bias is None else float(bias[0, j])
    return Score(
        place=place,
        variant=variant,
        labels=(label(trace, i), label(trace, j)),
        q=q_row,
        k=k_row,
        terms=terms,
        dot=float(terms.sum()),
        scale=scale,
        bias=added,
        value=float(terms.sum() * scale + added),
        visible=bool(allowed[0, j]),
        dots=dots,
        row=scores[0],
        allowed=allowed[0],
        weights=arithmetic.softmax(scores, allowed)[0],
        formula=_formula(
            place, trace.config.d_head, q_row, k_row, scale, None if bias is None else added, allowed[0, j]
        ),
    )


def score_matrix(
    trace: Trace, place: Place, variant: Variant = AS_MODEL, rows: slice | None = None, temperature: float = 1.0
) -> ScoreMatrix:
    """Scores and weights of the head for the queries `rows` (all by default)."""
    place = place.checked(trace.config, trace.n_tokens)
    rows = slice(*(rows or slice(None)).indices(trace.n_tokens))
    scores, allowed = _scores(trace, place, variant, rows)
    return ScoreMatrix(rows, scores, allowed, arithmetic.softmax(scores, allowed, temperature))


def scaling_effect(trace: Trace, place: Place, rows: int = 512) -> ScalingEffect:
    """The softmax with and without the scale, for row i and on average over the first `rows` real tokens."""
    place = place.checked(trace.config, trace.n_tokens)
    first = slice(0, min(rows, trace.n_real))
    variants = (AS_MODEL, Variant(scaled=False))
    row = [score_matrix(trace, place, variant, slice(place.query, place.query + 1)) for variant in variants]
    every = [score_matrix(trace, place, variant, first).weights for variant in variants]
    return ScalingEffect(
        scale=scale_of(trace, AS_MODEL),
        scores=np.stack([matrix.scores[0] for matrix in row]),
        weights=np.stack([matrix.weights[0] for matrix in row]),
        entropy=np.array([arithmetic.entropy(matrix.weights[0]) for matrix in row]),
        uniform=float(np.log(max(1, row[0].allowed.sum()))),
        mean_entropy=np.array([arithmetic.entropy(weights).mean() for weights in every]),
        mean_top=np.array([weights.max(axis=-1).mean() for weights in every]),
    )


def scale_of(trace: Trace, variant: Variant) -> float:
    """The factor of the dot products, 1 without the scale."""
    return float(trace.config.attention_scale or 1.0) if variant.scaled else 1.0


def _qk(trace: Trace, place: Place) -> tuple[Floats, Floats]:
    """[T, K] each."""
    q, k, _ = trace.layer_qkv(place.layer)
    return array(q[place.head]), array(k[place.head])


def _bias(trace: Trace, head: int, rows: slice) -> Floats | None:
    """[Ti, T]: the bias for the distance, or None."""
    if trace.encoder.relative_bias is None:
        return None
    table = array(trace.encoder.relative_bias.weight)[:, head : head + 1]
    queries = np.arange(trace.n_tokens)[rows]
    bias: Floats = arithmetic.relative_bias(trace.config, table, queries, trace.n_tokens)[0]
    return bias


def _scores(trace: Trace, place: Place, variant: Variant, rows: slice) -> tuple[Floats, Bools]:
    """[Ti, T] each: scores before the mask, and the mask."""
    q, k = _qk(trace, place)
    causal = trace.config.causal if variant.causal is None else variant.causal
    window = trace.config.window_of_layer(place.layer)
    allowed = arithmetic.allowed(mask(trace), np.arange(trace.n_tokens)[rows], causal, window)
    return arithmetic.scores(q[rows], k, scale_of(trace, variant), _bias(trace, place.head, rows)), allowed


def _formula(
    place: Place, d_head: int, q: Floats, k: Floats, scale: float, bias: float | None, visible: bool
) -> Formula:
    i, j = place.query, place.key
    dot = float((q * k).sum())
    total = dot * scale + (bias or 0.0)
    pair = rf"{coloured('q', 'q_i')} \cdot {coloured('k', 'k_j')}"
    added, plus = ("", "") if bias is None else (r" + b_{j - i}", rf" + {bracketed(bias)}")
    if abs(scale - 1.0) < 1e-9:
        rule, value = pair, number(dot)
    elif abs(scale - d_head**-0.5) < 1e-6:
        rule, value = rf"\frac{{{pair}}}{{\sqrt{{K}}}}", rf"\frac{{{number(dot)}}}{{\sqrt{{{d_head}}}}}"
    else:
        rule, value = rf"{number(scale)}\; {pair}", rf"{number(dot)} \cdot {number(scale)}"
    left = rf"{coloured('q', rf'q_{{{i}}}')} \cdot {coloured('k', rf'k_{{{j}}}')}"
    outcome = number(total) + ("" if visible else r" \;\to\; -\infty")
    numbers = calculation(
        (left, [long_sum(products(q, k, ("q", "k"))), number(dot)]),
        (f"s_{{{i},{j}}}", [outcome] if value + plus == number(total) else [value + plus, outcome]),
    )
    return Formula(symbols=f"s_{{i,j}} = {rule}{added}", numbers=numbers)
