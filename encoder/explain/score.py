"""Scores: q_i . k_j term by term, DeBERTa's terms, / sqrt(K), the cap, the bias for the distance, the mask.

Shapes: T tokens (queries i, keys j), K width of a head.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.latex import Formula, bracketed, calculation, coloured, long_sum, number, products, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import array
from encoder.model.attend import pattern_with_sinks
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class Variant:
    """How scores are computed. scaled: with the factor 1/sqrt(K); causal: None for the mask of the model; True: no
    token attends to a later one; False: every token attends to every token."""

    scaled: bool = True
    causal: bool | None = None


AS_MODEL = Variant()
#: The terms of distances (`encoder.model.disentangled`, `distances`) in formulas.
TERMS = {
    "content to position": rf"{coloured('q', 'q_i')} \cdot K^p_{{i-j}}",
    "position to content": rf"{coloured('k', 'k_j')} \cdot Q^p_{{i-j}}",
    "bias to content": rf"u \cdot {coloured('k', 'k_j')}",
    "bias to position": r"v \cdot K^p_{i-j}",
}


@dataclass(frozen=True, eq=False)
class Score:
    """One score and its row."""

    place: Place
    variant: Variant
    #: [K].
    q: Floats
    #: [K].
    k: Floats
    #: [K]: q_c k_c.
    terms: Floats
    #: Their sum.
    dot: float
    #: The terms of distances by name, before scaling.
    of_positions: dict[str, float]
    scale: float
    #: Of the score before bias and mask; None without one.
    cap: float | None
    #: For the distance; 0 where the model adds none.
    bias: float
    #: The score, before the mask.
    value: float
    #: Whether the mask lets token i attend to j.
    visible: bool
    #: [T]: the dot products of token i with every key.
    dots: Floats
    #: [T]: its scores with every key.
    row: Floats
    #: [T].
    allowed: Bools
    #: [T]: softmax of the row.
    weights: Floats
    #: What the bias follows, in formulas: the distance in the text, or also that on the page; "" without one.
    bias_by: str = ""

    @property
    def formula(self) -> Formula:
        """The dot product, with DeBERTa's terms their sum t, then the score; with a cap the score u before it."""
        i, j = self.place.query, self.place.key
        product, total = rf"{coloured('q', 'q_i')} \cdot {coloured('k', 'k_j')}", self.dot
        left = rf"{coloured('q', rf'q_{{{i}}}')} \cdot {coloured('k', rf'k_{{{j}}}')}"
        symbols: list[str] = []
        numbers = [(left, [long_sum(products(self.q, self.k, ("q", "k"))), number(self.dot)])]
        if self.of_positions:
            symbols.append(" + ".join((rf"t_{{i,j}} = {product}", *(TERMS[name] for name in self.of_positions))))
            parts = [number(self.dot), *map(bracketed, self.of_positions.values())]
            product, total = "t_{i,j}", self.dot + sum(self.of_positions.values())
            numbers.append((f"t_{{{i},{j}}}", [long_sum(parts), number(total)]))
        n_terms, width = 1 + len(self.of_positions), len(self.q)
        if abs(self.scale - 1.0) < 1e-9:
            rule, value = product, number(total)
        elif counted := next((n for n in (1, n_terms) if abs(self.scale - (n * width) ** -0.5) < 1e-6), 0):
            below = f"{counted}\\, d_k" if counted > 1 else "d_k"
            rule = rf"\frac{{{product}}}{{\sqrt{{{below}}}}}"
            value = rf"\frac{{{number(total)}}}{{\sqrt{{{counted * width}}}}}"
        else:
            rule, value = rf"{number(self.scale)}\; {product}", rf"{number(total)} \cdot {number(self.scale)}"
        if self.cap is not None:
            symbols.append(f"u_{{i,j}} = {rule}")
            numbers.append((f"u_{{{i},{j}}}", [value, number(total * self.scale)]))
            within = ("u_{i,j}", number(total * self.scale))
            rule, value = (rf"{number(self.cap)} \tanh \frac{{{one}}}{{{number(self.cap)}}}" for one in within)
        added, plus = (rf" + b_{{{self.bias_by}}}", rf" + {bracketed(self.bias)}") if self.bias_by else ("", "")
        outcome = number(self.value) + ("" if self.visible else r" \;\to\; -\infty")
        steps = [outcome] if value + plus == number(self.value) else [value + plus, outcome]
        return Formula(
            symbols=stack(*symbols, f"s_{{i,j}} = {rule}{added}"),
            numbers=calculation(*numbers, (f"s_{{{i},{j}}}", steps)),
        )

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The row of scores and the dot product, from ids and weights."""
        at = self.place
        q, k = reference.qkv(at.layer, "q")[at.head, at.query], reference.qkv(at.layer, "k")[at.head]
        row = reference.scores(at.layer, at.head, [at.query], scaled=self.variant.scaled, causal=self.variant.causal)[0]
        shown = np.where(self.allowed, self.row, -np.inf)
        return (
            reference.check("scores", shown, row, (at.key,)),
            reference.check("products", self.terms, q * k[at.key]),
            reference.check("dot products", self.dots, k @ q, (at.key,)),
        )


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores and weights of the queries `rows` for all keys, [Ti, T] each; allowed [Ti, T]."""

    rows: slice
    scores: Floats
    allowed: Bools
    weights: Floats


def score(trace: Trace, place: Place, variant: Variant = AS_MODEL) -> Score:
    """The score of query i and key j: terms, sum, scale, cap, bias, mask, and the whole row of token i."""
    place = place.checked(trace.config, trace.n_tokens, trace.config.d_head)
    i, j = place.query, place.key
    q, k = _qk(trace, place)
    q_row, k_row, dots = array(q[i]), array(k[j]), array(k @ q[i])
    rows = slice(i, i + 1)
    bias = _bias(trace, place, rows)
    scale = scale_of(trace, variant)
    row = score_matrix(trace, place, variant, rows)
    terms = q_row * k_row
    context = trace.contexts[place.layer]
    added = 0.0 if bias is None else float(bias[0, j])
    of_positions: dict[str, float] = {}
    if context.terms is not None:
        apart = context.terms.apart(q[None, rows], k[None], context.encoded, rows, slice(place.head, place.head + 1))
        of_positions = {name: float(term[0, 0, j]) for name, term in apart.items()}
    value = (float(terms.sum()) + sum(of_positions.values())) * scale
    value = value if context.cap is None else context.cap * math.tanh(value / context.cap)
    return Score(
        place=place,
        variant=variant,
        q=q_row,
        k=k_row,
        terms=terms,
        dot=float(terms.sum()),
        of_positions=of_positions,
        scale=scale,
        cap=context.cap,
        bias=added,
        value=value + added,
        visible=bool(row.allowed[0, j]),
        dots=dots,
        row=row.scores[0],
        allowed=row.allowed[0],
        weights=row.weights[0],
        bias_by="" if bias is None else "j - i" if context.boxes is None and context.beside is None else "i,j",
    )


def score_matrix(trace: Trace, place: Place, variant: Variant = AS_MODEL, rows: slice | None = None) -> ScoreMatrix:
    """Scores and weights of the head for the queries `rows` (all by default)."""
    place = place.checked(trace.config, trace.n_tokens)
    rows = slice(*(rows or slice(None)).indices(trace.n_tokens))
    scores, allowed = _scores(trace, place, variant, rows)
    sinks = trace.contexts[place.layer].sinks
    sink = None if sinks is None else sinks[place.head : place.head + 1]
    weights = _weights(scores, allowed, sink)
    return ScoreMatrix(rows, array(scores), allowed.cpu().numpy(), array(weights))


def scale_of(trace: Trace, variant: Variant) -> float:
    """The factor of the dot products, 1 without the scale."""
    return trace.config.score_scale if variant.scaled else 1.0


def _qk(trace: Trace, place: Place) -> tuple[Tensor, Tensor]:
    """[T, K] each, in float32 like the model's scores."""
    q, k, _ = trace.layer_qkv(place.layer)
    return q[place.head].float(), k[place.head].float()


def _bias(trace: Trace, place: Place, rows: slice) -> Tensor | None:
    """[Ti, T]: the bias for the two positions, or None."""
    bias = trace.contexts[place.layer].bias(rows, heads=slice(place.head, place.head + 1))
    return None if bias is None else bias[0].float()


def _scores(trace: Trace, place: Place, variant: Variant, rows: slice) -> tuple[Tensor, Tensor]:
    """[Ti, T] each: scores before the mask, and the mask.

    Those of the model are the trace's. Masked scores, and those of another variant, are products of its q and k.
    """
    recorded = trace.scores(place.layer, place.head, rows)
    seen = recorded > torch.finfo(recorded.dtype).min
    q, k = _qk(trace, place)
    context = replace(trace.contexts[place.layer], scale=scale_of(trace, variant))
    scores = context.products(q[None, rows], k[None], rows, slice(place.head, place.head + 1))[0]
    if (bias := _bias(trace, place, rows)) is not None:
        scores = scores + bias
    if variant.scaled:
        scores = torch.where(seen, recorded, scores)
    if variant.causal in (None, trace.config.causal):
        return scores, seen
    keys, window = torch.arange(trace.n_tokens, device=q.device), trace.config.window_of_layer(place.layer)
    distance = keys[rows].unsqueeze(-1) - keys  # [Ti, T], i - j
    allowed = trace.mask.expand(distance.shape)
    if variant.causal:
        allowed = allowed & (distance >= 0)
    if block := trace.config.attention_block:
        allowed = allowed & (keys[rows].unsqueeze(-1) // block == keys // block)
    return scores, allowed if window is None else allowed & (distance.abs() <= window)


def _weights(scores: Tensor, allowed: Tensor, sink: Tensor | None) -> Tensor:
    """[Ti, T]: the softmax of allowed scores; uniform in a row without any, as in the model. sink [1]: learned."""
    masked = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    if sink is None:
        return torch.softmax(masked, dim=-1)
    return pattern_with_sinks(masked[None], sink)[0]
