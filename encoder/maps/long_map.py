"""One head's attention map of a text of any length, with options for special tokens, in memory that does not grow with
T^2.

Shapes: T tokens (queries i, keys j).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.maps import aggregate
from encoder.maps.aggregate import SpecialTokens
from encoder.model.overview import SIZE, Overview, block_max, pooling_block, put_block_max
from encoder.trace.trace import CHUNK_NUMBERS, Trace


@dataclass(frozen=True, eq=False)
class LongMap:
    """A map that is computed part by part, with the methods of `TokenMap`: every token has a row and a column.

    layer, head: None: averaged over, as in `aggregate.mean_attention`; special: as in `aggregate.special_tokens`; look:
    returns its `overview` from a cache; unset: the overview is computed.
    """

    trace: Trace
    layer: int | None
    head: int | None
    special: SpecialTokens = "show"
    look: Callable[[], Overview] | None = None

    @property
    def query_labels(self) -> tuple[str, ...]:
        return self.trace.labels

    @property
    def key_labels(self) -> tuple[str, ...]:
        return self.trace.labels

    @property
    def places(self) -> tuple[Sequence[int], Sequence[int]]:
        return range(self.trace.n_tokens), range(self.trace.n_tokens)

    def row_of(self, token: int) -> int | None:
        return token if token < self.trace.n_tokens else None

    def column_of(self, token: int) -> int | None:
        return self.row_of(token)

    def query_tokens(self, row: int) -> tuple[int, ...]:
        return (row,)

    def key_tokens(self, column: int) -> tuple[int, ...]:
        return (column,)

    def rows(self, queries: slice | None = None) -> Tensor:
        """[Ti, T]: the rows of some queries."""
        weights = aggregate.mean_attention(self.trace, self.layer, self.head, queries)
        return aggregate.special_tokens(weights, self.trace, self.special, queries)

    def column(self, key: int) -> Tensor:
        """[T]: the weight of each query on one key."""
        return torch.cat([chunk[:, key] for _, chunk in self._chunks(range(self.trace.n_tokens), 1)])

    def from_rows(self, rows: Sequence[int]) -> Tensor:
        return torch.cat([self.rows(slice(row, row + 1)) for row in rows]).sum(dim=0).cpu()

    def to_columns(self, columns: Sequence[int]) -> Tensor:
        return torch.stack([self.column(column) for column in columns]).sum(dim=0).cpu()

    def received(self) -> Tensor:
        return self.overview.received.cpu()

    def pooled(self, size: int, rows: slice, columns: slice) -> tuple[Tensor, int]:
        if rows == columns == slice(0, self.trace.n_tokens):
            seen = self.overview
            if seen.block == pooling_block(self.trace.n_tokens, size):
                return seen.pooled, seen.block
        return self.window(size, rows, columns)

    def window(self, size: int = SIZE, queries: slice | None = None, keys: slice | None = None) -> tuple[Tensor, int]:
        """A window in at most size x size cells: (largest weight of each block, its side in tokens)."""
        rows, columns = (range(*(one or slice(None)).indices(self.trace.n_tokens)) for one in (queries, keys))
        block = pooling_block(max(len(rows), len(columns)), size)
        parts = [
            block_max(chunk[:, columns.start : columns.stop].unsqueeze(0), block)[0]
            for _, chunk in self._chunks(rows, block)
        ]
        return torch.cat(parts), block

    @property
    def overview(self) -> Overview:
        """The whole map in blocks, and what each key receives."""
        return self.look() if self.look else self.in_blocks()

    def in_blocks(self, size: int = SIZE) -> Overview:
        """The `Overview` in at most size x size cells."""
        n_tokens, n_real = self.trace.n_tokens, self.trace.n_real
        block = pooling_block(n_tokens, size)
        parts, received = [], torch.zeros(n_tokens, device=self.trace.mask.device)
        for start, chunk in self._chunks(range(n_tokens), block):
            parts.append(block_max(chunk.unsqueeze(0), block)[0])
            received += chunk[: max(0, n_real - start)].sum(dim=0)
        return Overview(torch.cat(parts), block, received / max(1, n_real))

    def strongest(self, k: int) -> list[tuple[int, int, float]]:
        """The k strongest cells as (query, key, weight), strongest first; padding never counts.

        They lie in the k blocks with the largest weights, so only the rows of these blocks are computed.
        """
        n_real = self.trace.n_real  # padding comes last, as query and as key
        seen = self.overview
        pooled, block = seen.pooled, seen.block
        if n_real < self.trace.n_tokens:  # a block may hold both, and its largest weight be padding's
            pooled, block = self.window(len(pooled), slice(0, n_real), slice(0, n_real))
        places = pooled.flatten().topk(min(k, pooled.numel())).indices.tolist()
        best: list[tuple[float, int, int]] = []
        for row in sorted({place // pooled.shape[1] for place in places}):
            rows = slice(row * block, min((row + 1) * block, n_real))
            band = self.rows(rows)
            for column in sorted(place % pooled.shape[1] for place in places if place // pooled.shape[1] == row):
                cells = band[:, column * block : min((column + 1) * block, n_real)]
                weights, found = cells.flatten().topk(min(k, cells.numel()))
                best += [
                    (weight, rows.start + at // cells.shape[1], column * block + at % cells.shape[1])
                    for weight, at in zip(weights.tolist(), found.tolist(), strict=True)
                ]
        best.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
        return [(query, key, weight) for weight, query, key in best[:k]]

    def _chunks(self, rows: range, block: int) -> Iterator[tuple[int, Tensor]]:
        """(first query, rows [Ti, T]) over `rows`, whole blocks at a time."""
        step = max(1, CHUNK_NUMBERS // self.trace.n_tokens // block) * block
        for start in range(rows.start, rows.stop, step):
            yield start, self.rows(slice(start, min(start + step, rows.stop)))


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
