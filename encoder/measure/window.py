"""A part of one head's attention map, with special tokens treated as asked, in memory that does not grow with T^2.

Where layer or head is None, the map is averaged over it, as in `aggregate.mean_attention`.

Shapes: T tokens (queries i, keys j).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from encoder.measure import tokens
from encoder.measure.aggregate import SpecialTokens, mean_attention
from encoder.trace import CHUNK_NUMBERS, Trace, block_max, pooling_block


def attention_rows(
    trace: Trace,
    layer: int | None,
    head: int | None,
    special: SpecialTokens = "show",
    queries: slice | None = None,
) -> Tensor:
    """[Ti, T]: the rows of some queries; special tokens shown, zeroed or left out as in `aggregate.special_tokens`."""
    if layer is None or head is None:
        rows = mean_attention(trace, layer, head, queries)
    else:
        rows = trace.attention(layer, head, queries)
    if special == "show":
        return rows
    ordinary = ~tokens.as_mask(tokens.is_special(trace), trace)  # [T]
    rows = rows * ordinary * ordinary[queries or slice(None)].unsqueeze(-1)
    if special == "zero":
        return rows
    total = rows.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, rows / total.clamp(min=torch.finfo(rows.dtype).tiny), rows)


def attention_column(trace: Trace, layer: int | None, head: int | None, special: SpecialTokens, key: int) -> Tensor:
    """[T]: what each query gives to one key."""
    rows = range(trace.n_tokens)
    return torch.cat([chunk[:, key] for _, chunk in _chunks(trace, layer, head, special, rows, 1)])


def pooled_window(
    trace: Trace,
    layer: int | None,
    head: int | None,
    special: SpecialTokens = "show",
    size: int = 256,
    queries: slice | None = None,
    keys: slice | None = None,
) -> tuple[Tensor, int]:
    """The window queries x keys in at most size x size cells: (largest weight of each block, its side in tokens)."""
    rows, columns = (range(*(window or slice(None)).indices(trace.n_tokens)) for window in (queries, keys))
    block = pooling_block(max(len(rows), len(columns)), size)
    parts = [
        block_max(chunk[:, columns.start : columns.stop].unsqueeze(0), block)[0]
        for _, chunk in _chunks(trace, layer, head, special, rows, block)
    ]
    return torch.cat(parts), block


def strongest_pairs(
    trace: Trace, layer: int | None, head: int | None, special: SpecialTokens = "show", k: int = 5
) -> list[tuple[int, int, float]]:
    """The k strongest cells of a head as (query, key, weight), strongest first; padding never counts."""
    best: list[tuple[float, int, int]] = []
    real = range(trace.n_real)  # padding stands at the end, as query and as key
    for start, chunk in _chunks(trace, layer, head, special, real, 1):
        weights, places = chunk.flatten().topk(min(k, chunk.numel()))
        n_keys = chunk.shape[1]
        best += [
            (float(weight), start + int(place) // n_keys, int(place) % n_keys)
            for weight, place in zip(weights, places, strict=True)
        ]
    best.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [(query, key, weight) for weight, query, key in best[:k]]


def _chunks(
    trace: Trace, layer: int | None, head: int | None, special: SpecialTokens, rows: range, block: int
) -> Iterator[tuple[int, Tensor]]:
    """(first query, rows [Ti, T]) over `rows`, whole blocks at a time."""
    step = max(1, CHUNK_NUMBERS // trace.n_tokens // block) * block
    for start in range(rows.start, rows.stop, step):
        yield start, attention_rows(trace, layer, head, special, slice(start, min(start + step, rows.stop)))
