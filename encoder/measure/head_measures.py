"""Measures of heads: entropy, distance, weight on the previous token, ...; `measure.HEAD_MEASURES` explains each.

All come from a single pass over the attention, which can give the small maps of the grid, too.

Shapes: L layers, H heads, T tokens (queries i, keys j), R query rows of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from encoder.errors import EncoderError, quoted
from encoder.measure.head_definitions import HEAD_MEASURES, own
from encoder.measure.one_trace import check_trace
from encoder.model.overview import block_max, pooling_block, put_block_max
from encoder.model.shown import Shown
from encoder.trace import tokens
from encoder.trace.tokens import Queries
from encoder.trace.trace import SHORT, Trace

#: The default threshold of a strong weight.
STRONG = 0.1
#: Up to this many tokens, factors of pairs of tokens (12 bytes a pair) are kept from layer to layer.
KEEP_PAIRS = 1024
#: A factor that is not 0 for less than one of so many pairs is kept as a list of those pairs.
SPARSE = 32
OFFSETS = {"previous": -1, "self": 0, "next": 1}


@dataclass(frozen=True, eq=False, repr=False)
class HeadMeasures(Shown):
    """All measures of all heads: `measures["entropy"]` is float64 [L, H], read-only; NaN: nothing to measure.

    n_tokens: real tokens, n in the formulas; n_queries: rows that count, |Q|; queries, strong: the arguments.
    """

    values: Mapping[str, np.ndarray]
    n_tokens: int
    n_queries: int
    queries: Queries
    strong: float

    def __repr__(self) -> str:
        n_layers, n_heads = next(iter(self.values.values())).shape
        return (
            f"<HeadMeasures of {self.n_tokens:,} tokens: {len(self.values)} measures of {n_layers} x {n_heads} heads>"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "values": dict(self.values)}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise EncoderError(f"No measure {quoted(name)}: choose one of {', '.join(self.values)}.")
        return self.values[name]

    def table(self) -> pd.DataFrame:
        """One row a head: layer, head, then a column for each measure, in the order of their definitions."""
        first = next(iter(self.values.values()))
        layer, head = np.indices(first.shape)
        columns = {name: array.ravel() for name, array in self.values.items()}
        return pd.DataFrame({"layer": layer.ravel(), "head": head.ravel(), **columns})


def head_measures(trace: Trace, *, queries: Queries = "all", strong: float = STRONG) -> HeadMeasures:
    """Every measure of every head, in one pass over the attention and in bounded memory.

    queries: rows of all real tokens count ("all", as in Clark et al. 2019), or those of the text without special tokens
    ("content"). Padding is never counted, neither as query nor as key. strong: the threshold of `strong`.
    """
    return survey(trace, None, queries=queries, strong=strong)[1]


def survey(
    trace: Trace, size: int | None = 64, *, queries: Queries = "all", strong: float = STRONG
) -> tuple[Tensor | None, HeadMeasures]:
    """`trace.thumbnails(size)` and `head_measures(trace)` in one pass. size None: no thumbnails."""
    check_trace(trace)
    around = _Around.of(trace, queries)
    block = None if size is None else pooling_block(trace.n_tokens, size)
    walk = _all_at_once if trace.n_tokens <= SHORT else _by_layer
    thumbnails, sums = walk(trace, block, around, strong)
    values = _finish(sums, around, trace.config.causal) | {one.name: one.of(trace) for one in own()}
    measures = MappingProxyType(values)
    return thumbnails, HeadMeasures(measures, around.n_real, int(around.eligible()["all"]), queries, strong)


def _all_at_once(
    trace: Trace, block: int | None, around: _Around, strong: float
) -> tuple[Tensor | None, dict[str, np.ndarray]]:
    """Small maps [L, H, S, S] with the largest weight of each block, and sums [L, H] of each measure."""
    scores, attention = trace.every_layer()
    n_layers, n_heads = scores.shape[:2]
    scores, attention = scores.flatten(0, 1), attention.flatten(0, 1)  # all heads of all layers, like those of one
    thumbnails = None
    if block is not None:
        pooled = block_max(attention, block)
        thumbnails = pooled.reshape(n_layers, n_heads, *pooled.shape[1:])
    rows = slice(0, trace.n_tokens)
    layer = _Layer(around, len(scores), trace.n_tokens)
    layer.add(rows, scores, attention, _pair_factors(rows, around), strong)
    return thumbnails, {name: total.reshape(n_layers, n_heads) for name, total in layer.totals().items()}


def _by_layer(
    trace: Trace, block: int | None, around: _Around, strong: float
) -> tuple[Tensor | None, dict[str, np.ndarray]]:
    """The same in bounded memory."""
    n_layers, n_heads, n_tokens = trace.config.n_layers, trace.config.n_heads, trace.n_tokens
    side = 0 if block is None else -(-n_tokens // block)
    thumbnails = torch.zeros(n_layers, n_heads, side, side, device=trace.mask.device)
    totals: list[dict[str, np.ndarray]] = []  # a layer each
    kept: dict[int, dict[str, Tensor]] = {}
    layers = (_Layer(around, n_heads, n_tokens) for _ in range(n_layers))
    layer = next(layers)
    for number, rows, scores, attention in trace.iter_attention(range(n_layers), block=block or 1):
        if block is not None:
            put_block_max(thumbnails[number], attention, rows.start, block)
        pairs = kept.get(rows.start) or _pair_factors(rows, around)
        if n_tokens <= KEEP_PAIRS:
            kept[rows.start] = pairs
        layer.add(rows, scores, attention, pairs, strong)
        if rows.stop == n_tokens:
            totals.append(layer.totals())
            layer = next(layers, layer)
    sums = {name: np.stack([of_layer[name] for of_layer in totals]) for name in totals[0]}
    return (None if block is None else thumbnails), sums


@dataclass(frozen=True)
class _Around:
    """The same for every head. counts [T]: 1.0 for a query that counts; keys: name -> 1.0 for such keys [T].

    labels: "same_token", "own_word" -> [T], equal where two tokens are the same, or of one word; unique for tokens that
    are left out. like: the same names -> places of the tokens whose label occurs again.
    """

    counts: Tensor
    keys: dict[str, Tensor]
    labels: dict[str, Tensor]
    like: dict[str, Tensor]
    n_real: int

    @classmethod
    def of(cls, trace: Trace, queries: Queries) -> _Around:
        device = trace.mask.device
        groups = {
            "cls": tokens.special_position(trace, "cls"),
            "sep": tokens.special_position(trace, "sep"),
            "punctuation": tokens.is_punctuation(trace),
        }
        labels = {
            name: torch.tensor(of_kind, device=device)
            for name, of_kind in tokens.pair_labels(trace.ids, tokens.is_content(trace), tokens.words(trace)).items()
        }
        return cls(
            counts=tokens.query_rows(trace, queries).float(),
            keys={name: tokens.as_mask(flags, trace).float() for name, flags in groups.items()},
            labels=labels,
            like={name: _not_alone(of_kind) for name, of_kind in labels.items()},
            n_real=trace.n_real,
        )

    def eligible(self) -> dict[str, float]:
        """The number of queries that each kind of measure is averaged over."""
        counts = self.counts[: self.n_real]
        return {
            "all": float(counts.sum()),
            "previous": float(counts[1:].sum()),
            "next": float(counts[:-1].sum()),
        } | {name: float(self.counts[like].sum()) for name, like in self.like.items()}


def _not_alone(labels: Tensor) -> Tensor:
    """Places of the entries that occur again."""
    _, inverse, count = torch.unique(labels, return_inverse=True, return_counts=True)
    return (count[inverse] > 1).nonzero()[:, 0]


class RowSums:
    """Numbers of each query of one layer's heads, summed when the layer is complete; of one text or a batch of texts.

    The leading axes (...) are those of the heads: [H], [L x H], or [B, H] of B texts. A chunk takes only operations on
    its weights: many small operations would cost more than they compute.

    offsets [3, ..., n]: the weight of each query on the keys at OFFSETS; -1: no such key.
    """

    def __init__(self, heads: tuple[int, ...], n_queries: int, n_tokens: int, device: torch.device) -> None:
        self._n_tokens = n_tokens
        # [4, ..., n]: the largest weight and score of a row, sum of weight x score, strong weights.
        self._rows = torch.zeros(4, *heads, n_queries, device=device)
        self.offsets = torch.full((len(OFFSETS), *heads, n_queries), -1.0, device=device)

    def add(self, rows: slice, scores: Tensor, attention: Tensor, strong: float) -> None:
        """The queries `rows`, both [..., R, T]. strong: the threshold of a strong weight. Overwrites `scores`."""
        largest, top, product, above = self._rows[..., rows]
        torch.amax(attention, -1, out=largest)
        torch.amax(scores, -1, out=top)
        torch.sum(scores.mul_(attention), -1, out=product)
        torch.sum(torch.gt(attention, strong, out=scores), -1, out=above)
        for weights, offset in zip(self.offsets, OFFSETS.values(), strict=True):
            first, last = max(rows.start, -offset), min(rows.stop, self._n_tokens - offset)
            if last > first:
                some = attention[..., first - rows.start : last - rows.start, :]
                weights[..., first:last] = some.diagonal(first + offset, -2, -1)

    def totals(self, counts: Tensor | None = None) -> dict[str, Tensor]:
        """Sums over the queries, [...] each. counts [n]: 1.0 for a query that counts, 0.0 for others; None: all do."""
        largest, top, product, above = self._rows
        best = self.offsets >= largest
        best &= best.sum(0) == 1  # a maximum shared among these counts for none
        rows = dict(zip(OFFSETS, self.offsets.clamp(min=0.0), strict=True))
        rows |= {f"top_{name}": one for name, one in zip(OFFSETS, best, strict=True)}
        rows |= {"maximum": largest, "entropy": row_entropy(largest, top, product, self._n_tokens), "strong": above}
        return {name: (value if counts is None else value * counts).sum(-1) for name, value in rows.items()}


def row_entropy(largest: Tensor, top: Tensor, product: Tensor, n_tokens: int) -> Tensor:
    """[H, R] each -> [H, R], nats: -sum a ln a = logsumexp(s) - sum a s, as ln a = s - logsumexp(s).

    largest: max a; top: max s; product: sum a s. The logsumexp comes from the largest entry, where a = exp(s -
    logsumexp): no second exponential is taken.
    """
    nothing_seen = top == torch.finfo(top.dtype).min  # every key masked: the row is uniform
    return torch.where(nothing_seen, math.log(n_tokens), (top - largest.log() - product).clamp(min=0.0))


class _Layer:
    """The sums of one layer of a trace, or of all of them as one."""

    def __init__(self, around: _Around, n_heads: int, n_tokens: int) -> None:
        device = around.counts.device
        self._around = around
        self._rows = RowSums((n_heads,), around.n_real, n_tokens, device)
        self._received = torch.zeros(n_heads, 1, n_tokens, device=device)  # by each key, from the queries that count
        self._pairs: dict[str, Tensor] = {}  # each [H]

    def add(self, rows: slice, scores: Tensor, attention: Tensor, pairs: dict[str, Tensor], strong: float) -> None:
        """One chunk, both [H, R, T]. Overwrites `scores`."""
        real_rows = slice(rows.start, min(rows.stop, self._around.n_real))  # padding's rows do not count
        n_rows = real_rows.stop - real_rows.start
        if n_rows <= 0:
            return
        attention = attention[:, :n_rows]
        self._rows.add(real_rows, scores[:, :n_rows], attention, strong)
        counts = self._around.counts[real_rows].expand(len(attention), 1, -1)  # [H, 1, R]
        self._received.baddbmm_(counts, attention)
        flat = attention.flatten(1)  # [H, R x T]
        for name, pair in pairs.items():
            value = flat @ pair if pair.is_floating_point() else flat[:, pair].sum(-1)
            self._pairs[name] = self._pairs.get(name, 0.0) + value

    def totals(self) -> dict[str, np.ndarray]:
        """Sums over the counted queries, float64 [H] each."""
        sums = self._rows.totals(self._around.counts[: self._around.n_real])
        sums |= {name: self._received[:, 0] @ group for name, group in self._around.keys.items()} | self._pairs
        together = torch.stack(list(sums.values())).cpu().double().numpy()  # one transfer: [measures, H]
        return dict(zip(sums, together, strict=True))


def _pair_factors(rows: slice, around: _Around) -> dict[str, Tensor]:
    """Factors that depend on the pair of tokens only: distance, same token, same word.

    Each is a factor for every weight, float [R x T], 0 for queries left out; or, where few weights have a factor and
    it is 1, the places of those among the R x T, whole numbers.
    """
    counts = around.counts[rows.start : min(rows.stop, around.n_real)].unsqueeze(-1)  # [R, 1]
    places = torch.arange(len(around.counts), device=counts.device, dtype=counts.dtype)
    queries = places[rows.start : rows.start + len(counts)].unsqueeze(-1)
    factors = {"distance": (queries - places).abs_().mul_(counts).flatten()}
    for name, like in around.like.items():
        factors[name] = _alike(rows.start, counts, around.labels[name], like)
    return factors


def _alike(start: int, counts: Tensor, labels: Tensor, like: Tensor) -> Tensor:
    """One of the factors: 1 where two tokens have the same label.

    like: places of the tokens whose label occurs again; only these are compared.
    """
    queries = like[(like >= start) & (like < start + len(counts))]  # [r]
    same = labels[queries].unsqueeze(-1) == labels[like]  # [r, S]
    same &= (queries.unsqueeze(-1) != like) & (counts[queries - start] > 0)
    row, column = same.nonzero(as_tuple=True)
    flat = (queries[row] - start) * len(labels) + like[column]
    if len(flat) * SPARSE < len(counts) * len(labels):
        return flat
    return counts.new_zeros(len(counts) * len(labels)).index_fill_(0, flat, 1.0)


def _finish(totals: dict[str, np.ndarray], around: _Around, causal: bool) -> dict[str, np.ndarray]:
    """Sums [L, H] -> means."""
    eligible = around.eligible()
    counted = around.counts[: around.n_real].nonzero().flatten().cpu().numpy()
    values = means(totals, eligible, around.n_real, uniform_entropy(around.n_real, causal, counted))
    for array in values.values():
        array.flags.writeable = False
    return values


def means(
    totals: Mapping[str, np.ndarray], n_queries: Mapping[str, float | np.ndarray], n_tokens: int, uniform: float
) -> dict[str, np.ndarray]:
    """Sums over queries [..., L, H] -> the measures, float64, in the order of their definitions; NaN over no query.

    n_queries: "all", "previous", "next", "same_token", "own_word" -> |Q| or |Q'| of such measures; of a batch, arrays
    that broadcast. uniform: the mean entropy of uniform attention.
    """
    over = {"same_token": "same_token", "own_word": "own_word"}
    over |= {name: side for side in ("previous", "next") for name in (side, f"top_{side}")}
    counts = {name: n_queries[over.get(name, "all")] for name in totals} | {"strong": n_queries["all"] * n_tokens}
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {name: total / counts[name] for name, total in totals.items()}
    found["relative_entropy"] = found["entropy"] / uniform
    return {definition.name: found[definition.name] for definition in HEAD_MEASURES}


# --- uniform attention: what the measures compare a head with --------------------------------------------------------


def visible_keys(n: int, causal: bool, queries: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
    """How many keys each of these queries sees (None: all n): n, or query + 1 under a causal mask."""
    places = np.arange(n) if queries is None else np.asarray(queries, dtype=np.int64)
    return places + 1 if causal else np.full(len(places), n)


def uniform_entropy(n: int, causal: bool, queries: Sequence[int] | np.ndarray | None = None) -> float:
    """Mean entropy of uniform attention over these queries in nats, ln n without a mask; NaN where it is 0."""
    seen = visible_keys(n, causal, queries)
    if not len(seen) or seen.max() < 2:
        return math.nan
    return float(np.log(seen).mean()) if causal else math.log(n)


def uniform_share(n: int, causal: bool, keys: Sequence[int]) -> float:
    """The share of uniform attention that these keys receive together, mean over all queries."""
    if not causal:
        return len(keys) / n
    seen = visible_keys(n, causal)
    return float(sum((1 / seen[key:]).sum() for key in keys) / n)
