"""Which way a map is computed, by the length of its text: of one head for a page, and of all heads of a layer, small.

A row shows a query token or word, a column a key. Where layer or head is None, the map is averaged over it.

Shapes: L layers, H heads, R rows, C columns, S cells.
"""

from collections.abc import Callable
from typing import Unpack

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.maps import aggregate
from encoder.maps.aggregate import Cells, TokenMap, dense_map
from encoder.maps.long_map import LongMap, layer_overview
from encoder.model.overview import SIZE, Overview, block_max, pooling_block
from encoder.trace.trace import Trace

#: The longest text, in tokens, whose map is computed as a whole; words, pairs of sentences and lines need that.
WHOLE_TOKENS = 512
#: Up to this many tokens a map has one cell per pair; above, a cell covers a block of tokens until you zoom in.
EXACT_TOKENS = SIZE
#: A map of any size.
HeadMap = TokenMap | LongMap
#: What `seen` is: it gives blocks of tokens that are known already, or are kept.
Seen = Callable[[], Overview]


def is_whole(trace: Trace) -> bool:
    """Whether maps of this text are computed as a whole, with every option."""
    return trace.n_tokens <= WHOLE_TOKENS


def beyond(trace: Trace, what: str, remedy: str = "") -> str:
    """That `what` ("Lines work") ends at a length, and what to do; "" for a text whose maps are computed as a whole."""
    if is_whole(trace):
        return ""
    return f"{what} up to {WHOLE_TOKENS} tokens; this text has {trace.n_tokens:,}. {remedy}".strip()


def head_map(
    trace: Trace, layer: int | None, head: int | None, *, seen: Seen | None = None, **options: Unpack[Cells]
) -> HeadMap:
    """The map of a head: whole, or of a long text computed part by part when it is asked for.

    options: of `aggregate.token_map`; padding of a long text is left out as `trace.unpadded` leaves it out. seen: the
    overview of the map of a long text, which is computed otherwise. Raises EncoderError for options that need a
    shorter text, and for a layer or head that the model does not have.
    """
    if is_whole(trace):
        return dense_map(trace, layer, head, **options)
    if options.get("pairs", "all") != "all" or options.get("words"):
        remedy = "Leave these options out, or choose a shorter text."
        raise EncoderError(beyond(trace, "Whole words and pairs of sentences work", remedy))
    return LongMap(trace, layer, head, options.get("special", "show"), seen)


def followed(trace: Trace, **options: Unpack[Cells]) -> Cells:
    """The options that `small_maps` of this text follow: those of a long text show all weights as computed."""
    return options if is_whole(trace) else Cells()


def small_maps(
    trace: Trace, layer: int, size: int = 64, *, seen: Seen | None = None, **options: Unpack[Cells]
) -> Tensor:
    """[H, S, S], S <= size: the largest weight of each block of cells, in the map of every head of a layer.

    options: as in `head_map`; of a long text `followed` says which count. seen: the overview of all heads of the layer
    of a long text. A map that is not square is stretched to one by repeating its cells.
    """
    if not is_whole(trace):  # the large maps of these heads need the same overview
        return (seen() if seen else layer_overview(trace, layer)).coarser(size)
    if aggregate.keeps_all(trace, **options):  # without a whole layer's weights in memory
        return trace.layer_thumbnails(layer, size)
    return squares(layer_maps(trace, layer, **options), size)


def layer_maps(trace: Trace, layer: int | None, **options: Unpack[Cells]) -> Tensor:
    """[H, R, C]: the weights of `dense_map` of every head of a layer; None: of all layers, [L, H, R, C]."""
    attention = trace.every_layer()[1] if layer is None else trace.layer_attention(layer)
    return aggregate.chosen_cells(attention, trace, **options)[0]


def squares(cells: Tensor, size: int = 64) -> Tensor:
    """[h, R, C] -> [h, S, S], S <= size: the largest weight of each block of cells, as in `small_maps`."""
    n_rows, n_columns = cells.shape[1:]
    cells = block_max(cells, pooling_block(max(n_rows, n_columns), size))
    side = max(cells.shape[1:])
    for axis in (1, 2):
        if cells.shape[axis] != side:
            places = torch.arange(side, device=cells.device) * cells.shape[axis] // side
            cells = cells.index_select(axis, places)
    return cells


def drawn(maps: np.ndarray, size: int = 64) -> np.ndarray:
    """float32 [L, H, R, C] -> uint8 [L, H, S, S], S <= size: `squares` of them, 255 for the weight 1."""
    small = squares(torch.from_numpy(maps).flatten(0, 1), size)
    return aggregate.to_uint8(small).reshape(*maps.shape[:2], *small.shape[1:])
