"""One number a head: entropy, distance, weight on the previous token, ...; `definitions` says what each means.

All come from a single walk through the attention, which can hand out the small maps of the grid on the way.

Shapes: L layers, H heads, T tokens (queries i, keys j), R query rows of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from encoder.measure import tokens
from encoder.measure.definitions import HEAD_MEASURES
from encoder.measure.tokens import Queries
from encoder.trace import Trace, pooling_block, put_block_max

if TYPE_CHECKING:
    import pandas as pd

#: A weight is strong above this value, unless the caller says otherwise.
STRONG = 0.1
#: Up to so many tokens, what depends on the pair of tokens alone (12 bytes a pair) is kept from layer to layer.
KEEP_PAIRS = 1024
OFFSETS = {"previous": -1, "self": 0, "next": 1}


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """All measures of all heads: `measures["entropy"]` is float64 [L, H], read-only; NaN: nothing to measure.

    n_tokens: real tokens, n in the formulas; n_queries: rows that count, |Q|; queries, strong: what was asked for.
    """

    values: Mapping[str, np.ndarray]
    n_tokens: int
    n_queries: int
    queries: Queries
    strong: float

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    @property
    def nbytes(self) -> int:
        """Bytes that the numbers take."""
        return sum(array.nbytes for array in self.values.values())

    def table(self) -> pd.DataFrame:
        """One row a head: layer, head, then a column for each measure, in the order of their definitions."""
        import pandas as pd

        first = next(iter(self.values.values()))
        layer, head = np.indices(first.shape)
        columns = {name: array.ravel() for name, array in self.values.items()}
        return pd.DataFrame({"layer": layer.ravel(), "head": head.ravel(), **columns})


def head_measures(trace: Trace, *, queries: Queries = "all", strong: float = STRONG) -> HeadMeasures:
    """Every measure of every head, in one walk through the attention and in bounded memory.

    queries: rows of all real tokens count ("all", as in Clark et al. 2019), or those of the text without special tokens
    ("content"). Padding is never counted, neither as query nor as key. strong: the threshold of `strong`.
    """
    return survey(trace, None, queries=queries, strong=strong)[1]


def survey(
    trace: Trace, size: int | None = 64, *, queries: Queries = "all", strong: float = STRONG
) -> tuple[Tensor | None, HeadMeasures]:
    """`trace.thumbnails(size)` and `head_measures(trace)` for the price of one walk. size None: no thumbnails."""
    around = _Around.of(trace, queries)
    n_layers, n_heads, n_tokens = trace.config.n_layers, trace.config.n_heads, trace.n_tokens
    block = 1 if size is None else pooling_block(n_tokens, size)
    side = 0 if size is None else -(-n_tokens // block)
    thumbnails = torch.zeros(n_layers, n_heads, side, side, device=trace.mask.device)
    sums: list[dict[str, np.ndarray]] = [{} for _ in range(n_layers)]
    kept: dict[int, dict[str, Tensor]] = {}
    for layer, rows, scores, attention in trace.walk(range(n_layers), block=block):
        pairs = kept.get(rows.start) or _pair_factors(rows, around)
        if n_tokens <= KEEP_PAIRS:
            kept[rows.start] = pairs
        if size is not None:
            put_block_max(thumbnails[layer], attention, rows.start, block)
        for name, value in _chunk_sums(rows, scores, attention, around, pairs, strong).items():
            sums[layer][name] = sums[layer].get(name, 0.0) + value
    totals = {name: np.stack([of_layer[name] for of_layer in sums]) for name in sums[0]}  # each [L, H]
    return (None if size is None else thumbnails), _finish(totals, around, queries, strong)


@dataclass(frozen=True)
class _Around:
    """What is the same for every head. counts [T]: 1.0 for a query that counts; keys: name -> 1.0 for such keys [T].

    ids, words [T]: equal where two tokens are the same, or of one word; different for all that is to be left out.
    """

    counts: Tensor
    keys: dict[str, Tensor]
    ids: Tensor
    words: Tensor
    n_real: int

    @classmethod
    def of(cls, trace: Trace, queries: Queries) -> _Around:
        device = trace.mask.device
        groups = {
            "cls": tokens.special_position(trace, "cls"),
            "sep": tokens.special_position(trace, "sep"),
            "punctuation": tokens.is_punctuation(trace),
        }
        content, words = tokens.is_content(trace), tokens.words(trace)
        alone = range(-2, -2 - trace.n_tokens, -1)  # a number of its own for each token that has no like
        ids = [one if inside else other for one, inside, other in zip(trace.ids, content, alone, strict=True)]
        of_word = [word if word >= 0 else other for word, other in zip(words, alone, strict=True)]
        return cls(
            counts=tokens.query_rows(trace, queries).float(),
            keys={name: tokens.as_mask(flags, trace).float() for name, flags in groups.items()},
            ids=torch.tensor(ids, device=device),
            words=torch.tensor(of_word, device=device),
            n_real=trace.n_real,
        )

    def has_like(self, labels: Tensor) -> Tensor:
        """bool [T]: whether another token has the same label."""
        _, inverse, count = labels.unique(return_inverse=True, return_counts=True)
        return count[inverse] > 1

    def eligible(self) -> dict[str, float]:
        """How many queries each kind of measure is averaged over."""
        counts = self.counts[: self.n_real]
        return {
            "all": float(counts.sum()),
            "previous": float(counts[1:].sum()),
            "next": float(counts[:-1].sum()),
            "same_token": float(self.counts[self.has_like(self.ids)].sum()),
            "own_word": float(self.counts[self.has_like(self.words)].sum()),
        }


def _chunk_sums(
    rows: slice, scores: Tensor, attention: Tensor, around: _Around, pairs: dict[str, Tensor], strong: float
) -> dict[str, np.ndarray]:
    """Sums over the counted queries of one chunk, float64 [H] each. Overwrites `scores`."""
    stop = min(rows.stop, around.n_real)
    n_rows = max(0, stop - rows.start)
    scores, attention = scores[:, :n_rows], attention[:, :n_rows]  # padding's rows do not count
    counts = around.counts[rows.start : rows.start + n_rows]  # [R]
    largest = attention.amax(-1)  # [H, R]
    sums = {"maximum": largest @ counts}
    sums |= _on_offsets(rows.start, attention, largest, counts)
    to_key = counts @ attention  # [H, T]
    sums |= {name: to_key @ group for name, group in around.keys.items()}
    flat = attention.flatten(1)  # [H, R x T]
    sums |= {name: flat @ factor for name, factor in pairs.items()}
    sums["entropy"] = _entropy(scores, attention, largest) @ counts
    torch.gt(attention, strong, out=scores)
    sums["strong"] = scores.sum(-1) @ counts
    together = torch.stack(list(sums.values())).cpu().double().numpy()  # one transfer: [measures, H]
    return dict(zip(sums, together, strict=True))


def _entropy(scores: Tensor, attention: Tensor, largest: Tensor) -> Tensor:
    """[H, R, T] -> [H, R], nats: -sum a ln a = logsumexp(s) - sum a s, as ln a = s - logsumexp(s). Writes to `scores`.

    The logsumexp comes from the largest entry, where a = exp(s - logsumexp): no second exponential is taken.
    """
    top = scores.amax(-1)
    nothing_seen = top == torch.finfo(scores.dtype).min  # every key masked: the row is uniform
    normaliser = top - largest.log()
    entropy = (normaliser - scores.mul_(attention).sum(-1)).clamp(min=0.0)
    return torch.where(nothing_seen, math.log(scores.shape[-1]), entropy)


def _on_offsets(start: int, attention: Tensor, largest: Tensor, counts: Tensor) -> dict[str, Tensor]:
    """Weight on, and maximum at, the previous token, itself, the next. A maximum shared among these is nobody's."""
    n_rows, n_keys = attention.shape[1:]
    weights = attention.new_full((len(OFFSETS), *largest.shape), -1.0)  # [3, H, R]; -1 where there is no such key
    for place, offset in enumerate(OFFSETS.values()):
        first, last = max(0, -start - offset), min(n_rows, n_keys - start - offset)
        if last > first:
            weights[place, :, first:last] = attention[:, first:last].diagonal(start + first + offset, 1, 2)
    top = weights >= largest
    top &= top.sum(0) == 1
    on, at = weights.clamp_(min=0.0) @ counts, top.to(weights.dtype) @ counts  # each [3, H]
    return dict(zip(OFFSETS, on, strict=True)) | dict(zip((f"top_{name}" for name in OFFSETS), at, strict=True))


def _pair_factors(rows: slice, around: _Around) -> dict[str, Tensor]:
    """What depends on the pair of tokens alone: distance, same token, same word; [R x T], 0 for queries left out."""
    places = torch.arange(len(around.counts), device=around.counts.device)
    own = places[rows.start : min(rows.stop, around.n_real)]
    counts = around.counts[own].unsqueeze(-1)  # [R, 1]
    distance = (own.unsqueeze(-1) - places).abs().to(counts.dtype)  # [R, T]
    factors = {"distance": (distance * counts).flatten()}
    for name, labels in (("same_token", around.ids), ("own_word", around.words)):
        alike = labels[own].unsqueeze(-1) == labels
        factors[name] = (alike & (distance > 0)).to(counts.dtype).mul_(counts).flatten()
    return factors


def _finish(totals: dict[str, np.ndarray], around: _Around, queries: Queries, strong: float) -> HeadMeasures:
    """Sums [L, H] -> means, in the order of the definitions."""
    eligible = around.eligible()
    over = {"same_token": "same_token", "own_word": "own_word"}
    over |= {name: side for side in ("previous", "next") for name in (side, f"top_{side}")}
    means = {}
    for name, total in totals.items():
        n_queries = eligible[over.get(name, "all")]
        means[name] = total / n_queries if n_queries else np.full_like(total, np.nan)
    means["strong"] = means["strong"] / around.n_real
    uniform = math.log(around.n_real) if around.n_real > 1 else math.nan
    means["relative_entropy"] = means["entropy"] / uniform
    for array in means.values():
        array.flags.writeable = False
    values = {definition.name: means[definition.name] for definition in HEAD_MEASURES}
    return HeadMeasures(MappingProxyType(values), around.n_real, int(eligible["all"]), queries, strong)
