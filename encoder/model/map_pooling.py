"""Pooling of attention maps: a map of T x T weights becomes one of at most S x S cells, by the maximum of each block.

Shapes: h heads, T tokens (queries i, keys j), S, S' cells.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def pooling_block(n_tokens: int, size: int) -> int:
    """Side, in tokens, of the block that one cell shows in a map of at most `size` cells. 1 means exact."""
    return -(-n_tokens // size)


def block_max(x: Tensor, block: int) -> Tensor:
    """[h, Ti, Tj] -> [h, ceil(Ti / block), ceil(Tj / block)]: the largest entry of each block."""
    if block == 1:
        return x
    # Rows first: this compares whole rows, and leaves 1 / block of the numbers for the columns.
    return _block_max_of_axis(_block_max_of_axis(x, block, 1), block, 2)


def _block_max_of_axis(x: Tensor, block: int, axis: int) -> Tensor:
    """The largest of each `block` entries along one axis; the last block may be shorter.

    A short block is not padded: a chunk that is an eighth of a block would become eight times as large.
    """
    whole = x.shape[axis] // block * block
    parts = []
    if whole:
        blocks = x.narrow(axis, 0, whole)
        if axis == x.dim() - 1 and blocks.is_floating_point():  # eight times as fast as `amax` of so few neighbours
            parts.append(F.max_pool1d(blocks, block))
        else:
            parts.append(blocks.reshape(*x.shape[:axis], -1, block, *x.shape[axis + 1 :]).amax(axis + 1))
    if whole < x.shape[axis]:
        parts.append(x.narrow(axis, whole, x.shape[axis] - whole).amax(axis, keepdim=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)


def put_block_max(pooled: Tensor, x: Tensor, first_row: int, block: int) -> None:
    """Raise the cells of `pooled` [h, S, S'] to the block-wise maximum of x [h, Ti, Tj].

    first_row: the first of x's rows in the whole map. x contains whole blocks of rows, or is part of one block.
    """
    cells = pooled[:, first_row // block : -(-(first_row + x.shape[1]) // block)]
    torch.maximum(cells, block_max(x, block), out=cells)
