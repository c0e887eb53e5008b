"""One head's attention map with the options of a page: by tokens or words, between sentences, averaged, for any length.

A row shows a query token or word, a column a key. Where layer or head is None, the map is averaged over it.

Shapes: T tokens, R rows, C columns.
"""

import dataclasses
from typing import Unpack

import numpy as np
import torch
from torch import Tensor

from encoder.maps import aggregate
from encoder.maps.aggregate import Cells, Groups, SpecialTokens, TokenMap
from encoder.maps.long_map import LongMap
from encoder.model.overview import block_max, pooling_block
from encoder.trace.trace import Trace

#: The longest text, in tokens, whose map is computed as a whole; words, pairs of sentences and lines need that.
WHOLE_TOKENS = 512
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
