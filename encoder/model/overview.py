"""Maps in blocks: of T x T weights, at most S x S cells, each the largest weight of its block; and, of a long text,
these maps of all heads computed together with attention itself.

The fused kernel shows no weights, so the maps of a long text need product and softmax a second time. `in_one_pass`
computes both from the same weights, a few query rows at a time: of 8,192 tokens, in two thirds of the time.

Shapes: H heads, h some heads, T tokens (queries i, keys j), K width of a head, S, S' cells of a pooled map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.model import attend
from encoder.model.device import use_one_thread
from encoder.model.pauses import pause

#: Cells of an overview's side, at most.
SIZE = 256
#: Fewer tokens are as quick in two passes.
LONG = 512
#: The weights of one head that are computed at a time: this many numbers, and at least so many query rows.
NUMBERS, ROWS = 2**20, 64
#: Numbers in 64 bytes.
ALIGNED = 16


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


# --- all heads of a layer, during the pass ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Overview:
    """A summary of a whole map.

    pooled [S, S]: the largest weight of each block; block: its side in tokens; received [T]: the mean weight that each
    key receives from the real queries. Of several heads, [H, S, S] and [H, T].
    """

    pooled: Tensor
    block: int
    received: Tensor

    def of(self, head: int) -> Overview:
        """One of several heads."""
        return Overview(self.pooled[head], self.block, self.received[head])

    def coarser(self, size: int) -> Tensor:
        """[H, s, s], s <= size: the pooled maps of several heads, pooled once more."""
        return block_max(self.pooled, pooling_block(self.pooled.shape[-1], size))


#: Called with the layer and the overview of its heads.
Receiver = Callable[[int, Overview], None]

_receiver: ContextVar[Receiver | None] = ContextVar("encoder_overview", default=None)


@contextmanager
def receiving(receiver: Receiver | None) -> Iterator[None]:
    """Inside, a forward pass of this thread gives the receiver an overview of each layer that `fits`."""
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)


def current_receiver() -> Receiver | None:
    """The receiver of this thread or task, or None."""
    return _receiver.get()


def fits(q: Tensor) -> bool:
    """Whether queries [B, H, T, K] without a mask and bias are faster in one pass: those of one long text on a CPU."""
    one_text = q.shape[0] == 1 and q.shape[-2] > LONG
    return one_text and q.device.type == "cpu" and q.dtype == torch.float32 and not torch.is_grad_enabled()


def in_one_pass(q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Overview]:
    """q, k, v [H, T, K] of a text without padding -> z [H, T, K] and the overview of all heads.

    Every query sees every key. Each thread of torch computes heads of its own, the next one as soon as it is free: the
    threads of one small product would wait for each other half of the time. Pauses after each head.
    """
    n_heads, n_tokens, width = q.shape
    n_cells = -(-n_tokens // (block := pooling_block(n_tokens, SIZE)))
    found = Overview(q.new_zeros(n_heads, n_cells, n_cells), block, q.new_zeros(n_heads, n_tokens))
    z = q.new_empty(n_tokens, n_heads, width).transpose(0, 1)
    inference, at_once = torch.is_inference_mode_enabled(), min(torch.get_num_threads(), n_heads)

    def compute(head: int) -> None:
        with torch.inference_mode(inference), torch.no_grad():  # a thread has modes of its own
            _one_head(q[head], k[head], v[head], scale, z[head], found.of(head))

    if at_once == 1:
        for head in range(n_heads):
            compute(head)
            pause()
        return z, found
    with ThreadPoolExecutor(at_once, "overview", initializer=use_one_thread) as threads:
        waiting, running = iter(range(n_heads)), set[Future[None]]()
        while running := running | {threads.submit(compute, head) for head in islice(waiting, at_once - len(running))}:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                one.result()  # raises what its thread raised
            pause()
    return z, found


def _one_head(q: Tensor, k: Tensor, v: Tensor, scale: float, z: Tensor, found: Overview) -> None:
    """q, k, v [T, K]: fill z [T, K] and `found`, which holds zeros."""
    n_tokens = len(q)
    step = max(1, max(ROWS, NUMBERS // n_tokens) // found.block) * found.block  # whole blocks
    memory = _aligned_rows(min(step, n_tokens), n_tokens, q)
    quick = attend.fits_base_2(q, k, scale)
    # Both are read once for each group of rows. Products with few rows are faster with transposed keys.
    k, v = _aligned_rows(k.shape[1], n_tokens, k).copy_(k.t()).t(), v.contiguous()
    for start in range(0, n_tokens, step):
        rows = slice(start, min(start + step, n_tokens))
        weights = memory[: rows.stop - start]  # [rows, T]
        if quick:
            attend.pattern_base_2(attend.scores(q[rows], k, scale * attend.LOG2_E, out=weights))
        else:
            attend.pattern(attend.scores(q[rows], k, scale, out=weights), out=weights)
        z[rows] = attend.mix(weights, v)
        found.received.add_(weights.new_ones(len(weights)) @ weights, alpha=1 / n_tokens)
        put_block_max(found.pooled.unsqueeze(0), weights.unsqueeze(0), start, found.block)


def _aligned_rows(rows: int, columns: int, like: Tensor) -> Tensor:
    """Memory for [rows, columns] in which each row starts at a multiple of 64 bytes, as processors read it.

    Otherwise the scores of 8,190 tokens take 1.5 times as long.
    """
    return like.new_empty(rows, -(-columns // ALIGNED) * ALIGNED)[:, :columns]
