"""Norm-weighted attention: each weight times the norm of the value vector that it scales (Kobayashi et al. 2020).

A head adds sum_j alpha_ij f(x_j) to what it writes for token i, where f(x) = (x W_V + b_V) W_O is its value-output map
(their equation 3; the bias of W_O belongs to no token and is not part of f). alpha_ij ||f(x_j)|| is the norm of token
j's summand. Limits: summands that point in opposite directions cancel, which norms do not show; the residual connection
and LayerNorm are left out (Kobayashi et al. 2021 add both). ||f(x_j)|| depends on the key only, so no function here
holds more than a few rows of T x T.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.edits import ablates
from encoder.maps import aggregate
from encoder.measure.one_trace import check_trace
from encoder.model.overview import pooling_block, put_block_max
from encoder.trace import tokens
from encoder.trace.trace import Trace


@torch.no_grad()
def value_output(trace: Trace, layer: int, head: int) -> Tensor:
    """f(x_j) [T, D] of every token: its value, bias included, times the head's rows of W_O.

    Zero where the head was ablated. Raises EncoderError for a layer or head that the model does not have.
    """
    check_trace(trace)
    layer, head = trace.place(layer, head)
    width = trace.config.d_head
    w_o: Tensor = trace.encoder.block(layer).attention.w_o.weight[:, head * width : (head + 1) * width]  # [D, K]
    output = trace.layer_qkv(layer)[2][head].float() @ w_o.float().T
    return torch.zeros_like(output) if ablates(trace.edits, layer, head) else output


def value_norms(trace: Trace, layer: int) -> Tensor:
    """||f(x_j)|| [H, T] of every head of a layer."""
    return torch.stack([value_output(trace, layer, head).norm(dim=-1) for head in range(trace.config.n_heads)])


def norm_weighted(trace: Trace, layer: int, head: int, queries: slice | None = None) -> Tensor:
    """alpha_ij ||f(x_j)|| [Ti, T] for the query rows asked for (all by default)."""
    norms: Tensor = value_output(trace, layer, head).norm(dim=-1)
    return trace.gated(trace.attention(layer, head, queries) * norms, layer, head, queries or slice(None))


def norm_weighted_shares(trace: Trace, layer: int, head: int, queries: slice | None = None) -> Tensor:
    """[Ti, T]: the rows of `norm_weighted`, each divided by its sum, to compare with the attention itself.

    A row of zeros stays 0.
    """
    return aggregate.rows_to_one(norm_weighted(trace, layer, head, queries))


def pooled_norm_weighted(
    trace: Trace,
    layer: int,
    head: int,
    *,
    shares: bool = False,
    size: int = 256,
    queries: slice | None = None,
    keys: slice | None = None,
) -> Tensor:
    """`norm_weighted` (or its shares) in at most size x size cells, the largest of each block; never holds [T, T].

    Blocks as in `Trace.pooled_attention`; queries, keys: the window, all of the map by default.
    """
    norms = value_output(trace, layer, head).norm(dim=-1)
    rows, columns = (range(trace.n_tokens)[window or slice(None)] for window in (queries, keys))
    block = pooling_block(max(len(rows), len(columns)), size)
    pooled = torch.zeros(1, -(-len(rows) // block), -(-len(columns) // block), device=norms.device)
    window = slice(rows.start, rows.stop)
    for _, chunk, _, pattern in trace.iter_attention((layer,), slice(head, head + 1), window, block):
        weighted = trace.gated(pattern * norms, layer, slice(head, head + 1), chunk)
        weighted = aggregate.rows_to_one(weighted) if shares else weighted
        put_block_max(pooled, weighted[..., columns.start : columns.stop], chunk.start - rows.start, block)
    return pooled[0]


# --- every key of a layer --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerShares:
    """One layer, averaged over the queries of real tokens.

    attention [H, T]: mean weight on each key, rows sum to 1; norms [H, T]: ||f(x_j)||; norm_weighted [H, T]: mean of
    alpha_ij ||f(x_j)||, which is attention x norms. float64, padding's keys at 0. opening: position of the special
    token that opens the text, or None; words: positions of the text's own tokens.
    """

    attention: np.ndarray
    norms: np.ndarray
    norm_weighted: np.ndarray
    opening: int | None
    words: tuple[int, ...]

    @property
    def attention_share(self) -> np.ndarray:
        """[T]: share of the layer's attention on each token, all heads together."""
        return self.attention.mean(axis=0)

    @property
    def norm_weighted_share(self) -> np.ndarray:
        """[T]: share of the layer's norm-weighted attention on each token, all heads together."""
        total: np.ndarray = self.norm_weighted.sum(axis=0)
        return total / (total.sum() or 1.0)

    def on_opening(self) -> tuple[float, float] | None:
        """(attention share, norm-weighted share) of the opening token; None where the text has none."""
        if self.opening is None:
            return None
        return float(self.attention_share[self.opening]), float(self.norm_weighted_share[self.opening])

    def on_average_word(self) -> tuple[float, float] | None:
        """The same two shares of a token of the text itself, on average; None where nothing is typed."""
        if not self.words:
            return None
        words = list(self.words)
        return float(self.attention_share[words].mean()), float(self.norm_weighted_share[words].mean())


def layer_shares(trace: Trace, layer: int) -> LayerShares:
    """Attention and norm-weighted attention on every token of a layer, from one walk in bounded memory."""
    real = np.array(tokens.is_real(trace))
    attention = np.where(real, aggregate.received(trace, layer).numpy(), 0.0)
    norms = np.where(real, value_norms(trace, layer).cpu().double().numpy(), 0.0)
    opening = tokens.special_position(trace, "cls")
    return LayerShares(
        attention=attention,
        norms=norms,
        norm_weighted=attention * norms,
        opening=opening.index(True) if True in opening else None,
        words=tuple(place for place, inside in enumerate(tokens.is_content(trace)) if inside),
    )
