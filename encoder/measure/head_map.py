"""One head's attention map with the options of a page: by tokens or words, between sentences, averaged, for any length.

A row shows a query token or word, a column a key. Where layer or head is None, the map is averaged over it.

Shapes: T tokens, R rows, C columns.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from torch import Tensor

from encoder.measure import aggregate, tiled_attention
from encoder.measure.aggregate import Cells, Groups, SpecialTokens, TokenMap
from encoder.model.map_pooling import block_max, pooling_block
from encoder.model.overview import Overview
from encoder.trace.trace import Trace

#: The longest text, in tokens, whose map is computed as a whole; words, pairs of sentences and lines need that.
WHOLE_TOKENS = 512


@dataclass(frozen=True, eq=False)
class LongMap:
    """A map of any length, computed part by part, with the methods of `TokenMap`: every token has a row and a column.

    look: returns its `overview` from a cache; unset: the overview is computed.
    """

    trace: Trace
    layer: int | None
    head: int | None
    special: SpecialTokens = "show"
    look: Callable[[], Overview] | None = None

    @property
    def _which(self) -> tuple[Trace, int | None, int | None, SpecialTokens]:
        return self.trace, self.layer, self.head, self.special

    @property
    def overview(self) -> Overview:
        """The whole map in blocks, and what each key receives."""
        return self.look() if self.look else tiled_attention.overview(*self._which)

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

    def from_rows(self, rows: Sequence[int]) -> Tensor:
        return (
            torch.cat([tiled_attention.attention_rows(*self._which, slice(row, row + 1)) for row in rows])
            .sum(dim=0)
            .cpu()
        )

    def to_columns(self, columns: Sequence[int]) -> Tensor:
        return torch.stack([tiled_attention.attention_column(*self._which, one) for one in columns]).sum(dim=0).cpu()

    def received(self) -> Tensor:
        return self.overview.received.cpu()

    def strongest(self, k: int) -> list[tuple[int, int, float]]:
        return tiled_attention.strongest_pairs(*self._which, k, self.overview)

    def pooled(self, size: int, rows: slice, columns: slice) -> tuple[Tensor, int]:
        if rows == columns == slice(0, self.trace.n_tokens):
            seen = self.overview
            if seen.block == pooling_block(self.trace.n_tokens, size):
                return seen.pooled, seen.block
        return tiled_attention.pooled_window(*self._which, size, rows, columns)


#: A map of any size.
HeadMap = TokenMap | LongMap


def dense_map(trace: Trace, layer: int | None, head: int | None, **options: Unpack[Cells]) -> TokenMap:
    """The whole map with all options, in the order of `aggregate.token_map`; holds [T, T]."""
    attention = aggregate.mean_attention(trace, layer, head).cpu()
    return aggregate.token_map(attention, _on_cpu(trace), **options)


def layer_maps(
    trace: Trace, layer: int | None, *, special: SpecialTokens = "show", **options: Unpack[Groups]
) -> Tensor:
    """[H, R, C]: the weights of `dense_map` of every head of a layer; None: of all layers, [L, H, R, C]."""
    attention = trace.every_layer()[1] if layer is None else trace.layer_attention(layer)
    weights = aggregate.special_tokens(attention, trace, special)
    queries, keys = aggregate.token_groups(trace, **options)
    return aggregate.merged(weights, queries, keys)


def small_maps(trace: Trace, layer: int, size: int = 64, **options: Unpack[Cells]) -> Tensor:
    """[H, S, S], S <= size: `squares` of `layer_maps`. Holds [H, T, T]."""
    return squares(layer_maps(trace, layer, **options), size)


def drawn_small(maps: np.ndarray, size: int = 64) -> np.ndarray:
    """float32 [L, H, R, C] -> uint8 [L, H, S, S], S <= size: `squares` of them, 255 for the weight 1."""
    small = squares(torch.from_numpy(maps).flatten(0, 1), size)
    return aggregate.to_uint8(small).reshape(*maps.shape[:2], *small.shape[1:])


def squares(cells: Tensor, size: int = 64) -> Tensor:
    """[h, R, C] -> [h, S, S], S <= size: the largest weight of each block of cells.

    A map that is not square is stretched to one by repeating its cells.
    """
    n_rows, n_columns = cells.shape[1:]
    cells = block_max(cells, pooling_block(max(n_rows, n_columns), size))
    side = max(cells.shape[1:])
    for axis in (1, 2):
        if cells.shape[axis] != side:
            places = torch.arange(side, device=cells.device) * cells.shape[axis] // side
            cells = cells.index_select(axis, places)
    return cells


def _on_cpu(trace: Trace) -> Trace:
    return trace if trace.mask.device.type == "cpu" else dataclasses.replace(trace, mask=trace.mask.cpu())
