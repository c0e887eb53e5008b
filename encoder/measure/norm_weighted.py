"""What attention moves: each weight times the length of the vector that it fetches (Kobayashi et al. 2020).

A head adds sum_j alpha_ij f(x_j) to what it writes for token i, where f(x) = (x W_V + b_V) W_O is its value-output map
(their equation 3; the bias of W_O belongs to no token and is not part of f). So alpha_ij ||f(x_j)||, not alpha_ij,
says how much token j brings. ||f(x_j)|| depends on the key alone: nothing here holds more than a few rows of T x T.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.edits import AblateHead
from encoder.map_pooling import block_max, pooling_block
from encoder.measure import tokens
from encoder.trace import Trace


@torch.no_grad()
def value_output(trace: Trace, layer: int, head: int) -> Tensor:
    """f(x_j) [T, D] of every token: its value, bias included, brought into the stream by the head's rows of W_O.

    Zero where the head was ablated. Raises EncoderError for a layer or head that the model does not have.
    """
    trace.scores(layer, head, slice(0, 1))  # raises for a head that is not there
    width = trace.config.d_head
    w_o = trace.encoder.block(layer).attention.w_o.weight[:, head * width : (head + 1) * width]  # [D, K]
    moved = trace.layer_qkv(layer)[2][head].float() @ w_o.float().T
    return torch.zeros_like(moved) if AblateHead(layer, head) in trace.edits else moved


def value_norms(trace: Trace, layer: int) -> Tensor:
    """||f(x_j)|| [H, T] of every head of a layer."""
    return torch.stack([value_output(trace, layer, head).norm(dim=-1) for head in range(trace.config.n_heads)])


def norm_weighted(trace: Trace, layer: int, head: int, queries: slice | None = None) -> Tensor:
    """alpha_ij ||f(x_j)|| [Ti, T]: the length of what each key brings to the query rows asked for (all by default)."""
    return trace.attention(layer, head, queries) * value_output(trace, layer, head).norm(dim=-1)


def moved_shares(trace: Trace, layer: int, head: int, queries: slice | None = None) -> Tensor:
    """[Ti, T]: the rows of `norm_weighted`, each divided by its sum, to be compared with the attention itself.

    A row in which nothing is moved stays 0.
    """
    return as_shares(norm_weighted(trace, layer, head, queries))


def as_shares(weighted: Tensor) -> Tensor:
    """[..., T] -> the same, each row divided by its sum; a row of zeros stays as it is."""
    total = weighted.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, weighted / total.clamp(min=torch.finfo(weighted.dtype).tiny), weighted)


def pooled_norm_weighted(
    trace: Trace, layer: int, head: int, *, shares: bool = False, size: int = 256,
    queries: slice | None = None, keys: slice | None = None,
) -> Tensor:  # fmt: skip
    """`norm_weighted` (or `moved_shares`) in at most size x size cells, the largest of each block; never [T, T].

    Blocks as in `Trace.pooled_attention`; queries, keys: the window that is wanted, all of it by default.
    """
    lengths = value_output(trace, layer, head).norm(dim=-1)
    rows, columns = (range(trace.n_tokens)[window or slice(None)] for window in (queries, keys))
    block = pooling_block(max(len(rows), len(columns)), size)
    n_rows, n_columns = -(-len(rows) // block), -(-len(columns) // block)
    pooled = torch.zeros(n_rows, n_columns, device=lengths.device)
    window = slice(rows.start, rows.stop)
    for _, chunk, _, pattern in trace.iter_attention((layer,), slice(head, head + 1), window, block):
        weighted = pattern[0] * lengths
        weighted = (as_shares(weighted) if shares else weighted)[:, columns.start : columns.stop]
        first = (chunk.start - rows.start) // block
        cells = block_max(weighted.unsqueeze(0), block)[0]
        part = pooled[first : first + len(cells)]
        torch.maximum(part, cells, out=part)
    return pooled


def contribution(trace: Trace, layer: int, head: int) -> Tensor:
    """sum_j alpha_ij f(x_j) [T, D]: what the head adds to each token, before the bias of W_O. Bounded memory."""
    moved = value_output(trace, layer, head)
    rows = [pattern[0] @ moved for _, _, pattern in trace.attention_chunks(layer, slice(head, head + 1))]
    return torch.cat(rows)


# --- what each token gets and brings, over a whole layer -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerShares:
    """One layer, averaged over the queries of real tokens: what every key gets, and what it brings.

    attention [H, T]: mean weight on each key, rows sum to 1; norms [H, T]: ||f(x_j)||; moved [H, T]: mean of
    alpha_ij ||f(x_j)||, which is attention x norms. float64, padding's keys at 0. opening: position of the special
    token that opens the text, or None; words: positions of the text's own tokens.
    """

    attention: np.ndarray
    norms: np.ndarray
    moved: np.ndarray
    opening: int | None
    words: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.attention.nbytes + self.norms.nbytes + self.moved.nbytes

    @property
    def attention_share(self) -> np.ndarray:
        """[T]: share of the layer's attention that each token gets, all heads together."""
        return self.attention.mean(axis=0)

    @property
    def moved_share(self) -> np.ndarray:
        """[T]: share that each token has in the lengths of all that is moved, all heads together."""
        moved = self.moved.sum(axis=0)
        return moved / (moved.sum() or 1.0)

    def on_opening(self) -> tuple[float, float] | None:
        """(share of the attention, share of what is moved) of the opening token; None where the text has none."""
        if self.opening is None:
            return None
        return float(self.attention_share[self.opening]), float(self.moved_share[self.opening])

    def on_average_word(self) -> tuple[float, float] | None:
        """The same two shares of a token of the text itself, on average; None where nothing is typed."""
        if not self.words:
            return None
        words = list(self.words)
        return float(self.attention_share[words].mean()), float(self.moved_share[words].mean())


def layer_shares(trace: Trace, layer: int, progress: Callable[[float], None] | None = None) -> LayerShares:
    """What every token gets and brings in one layer, in one walk through its attention and in bounded memory."""
    n_real = trace.n_real
    total = np.zeros((trace.config.n_heads, trace.n_tokens))
    for rows, _, pattern in trace.attention_chunks(layer, queries=slice(0, n_real)):
        total += pattern.sum(dim=1).cpu().double().numpy()
        if progress is not None:
            progress(rows.stop / n_real)
    attention = total / n_real
    norms = value_norms(trace, layer).cpu().double().numpy()
    real = np.array(tokens.is_real(trace))
    attention, norms = np.where(real, attention, 0.0), np.where(real, norms, 0.0)
    opening = tokens.special_position(trace, "cls")
    return LayerShares(
        attention=attention,
        norms=norms,
        moved=attention * norms,
        opening=opening.index(True) if True in opening else None,
        words=tuple(place for place, inside in enumerate(tokens.is_content(trace)) if inside),
    )
