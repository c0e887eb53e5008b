"""A part of one head's attention map, with options for special tokens, in memory that does not grow with T^2.

Where layer or head is None, the map is averaged over it, as in `aggregate.mean_attention`.

Shapes: T tokens (queries i, keys j).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from encoder.measure import aggregate
from encoder.measure.aggregate import SpecialTokens
from encoder.model.map_pooling import block_max, pooling_block, put_block_max
from encoder.model.overview import SIZE, Overview
from encoder.trace.trace import CHUNK_NUMBERS, Trace


def attention_rows(
    trace: Trace,
    layer: int | None,
    head: int | None,
    special: SpecialTokens = "show",
    queries: slice | None = None,
) -> Tensor:
    """[Ti, T]: the rows of some queries; special tokens as in `aggregate.special_tokens`."""
    return aggregate.special_tokens(aggregate.mean_attention(trace, layer, head, queries), trace, special, queries)


def attention_column(trace: Trace, layer: int | None, head: int | None, special: SpecialTokens, key: int) -> Tensor:
    """[T]: the weight of each query on one key."""
    rows = range(trace.n_tokens)
    return torch.cat([chunk[:, key] for _, chunk in _chunks(trace, layer, head, special, rows, 1)])


def pooled_window(
    trace: Trace,
    layer: int | None,
    head: int | None,
    special: SpecialTokens = "show",
    size: int = SIZE,
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


def overview(
    trace: Trace, layer: int | None, head: int | None, special: SpecialTokens = "show", size: int = SIZE
) -> Overview:
    """The `Overview` of one map in at most size x size cells."""
    block = pooling_block(trace.n_tokens, size)
    parts, received = [], torch.zeros(trace.n_tokens, device=trace.mask.device)
    for start, chunk in _chunks(trace, layer, head, special, range(trace.n_tokens), block):
        parts.append(block_max(chunk.unsqueeze(0), block)[0])
        received += chunk[: max(0, trace.n_real - start)].sum(dim=0)
    return Overview(torch.cat(parts), block, received / max(1, trace.n_real))


def layer_overview(trace: Trace, layer: int, size: int = SIZE) -> Overview:
    """The `Overview` of all heads of a layer, special tokens shown."""
    block = pooling_block(trace.n_tokens, size)
    cells = -(-trace.n_tokens // block)
    pooled = torch.zeros(trace.config.n_heads, cells, cells, device=trace.mask.device)
    received = torch.zeros(trace.config.n_heads, trace.n_tokens, device=trace.mask.device)
    for heads in trace.head_groups():
        for _, rows, _, pattern in trace.iter_attention((layer,), heads, block=block):
            put_block_max(pooled[heads], pattern, rows.start, block)
            received[heads] += pattern[:, : max(0, trace.n_real - rows.start)].sum(dim=1)
    return Overview(pooled, block, received / max(1, trace.n_real))


def strongest_pairs(
    trace: Trace,
    layer: int | None,
    head: int | None,
    special: SpecialTokens = "show",
    k: int = 5,
    seen: Overview | None = None,
) -> list[tuple[int, int, float]]:
    """The k strongest cells of a head as (query, key, weight), strongest first; padding never counts.

    They lie in the k blocks with the largest weights, so only the rows of these blocks are computed.
    seen: the map's overview, where the caller has it.
    """
    seen = seen or overview(trace, layer, head, special)
    n_real = trace.n_real  # padding comes last, as query and as key
    pooled, block = seen.pooled, seen.block
    if n_real < trace.n_tokens:  # a block may hold both, and its largest weight be padding's
        pooled, block = pooled_window(trace, layer, head, special, len(pooled), slice(0, n_real), slice(0, n_real))
    places = pooled.flatten().topk(min(k, pooled.numel())).indices.tolist()
    best: list[tuple[float, int, int]] = []
    for row in sorted({place // pooled.shape[1] for place in places}):
        rows = slice(row * block, min((row + 1) * block, n_real))
        band = attention_rows(trace, layer, head, special, rows)
        for column in sorted(place % pooled.shape[1] for place in places if place // pooled.shape[1] == row):
            cells = band[:, column * block : min((column + 1) * block, n_real)]
            weights, found = cells.flatten().topk(min(k, cells.numel()))
            best += [
                (weight, rows.start + at // cells.shape[1], column * block + at % cells.shape[1])
                for weight, at in zip(weights.tolist(), found.tolist(), strict=True)
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
