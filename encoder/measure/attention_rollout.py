"""Attention rollout: the attention of all layers up to one, multiplied, with the residual (Abnar and Zuidema 2020).

A_l, the mean over the heads of layer l, becomes (A_l + I) / 2 with its rows scaled to sum 1 (section 3.1): half for the
residual connection. The rollout of layer l is the product of these matrices from layer l down to 0; row i estimates
how much each input token contributes to token i. It is a heuristic: it gives residual connection and attention equal
weight, and leaves out values, LayerNorm and the feed-forward layers.

Shapes: L layers, H heads, T tokens (queries i, keys j), R query rows.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.measure.one_trace import check_trace
from encoder.trace.trace import Trace

#: The longest text, in tokens, whose rollout is computed as a whole: beyond, T^3 products a layer take minutes.
LONGEST_WHOLE = 1024


def rollout(trace: Trace, layer: int, queries: slice | None = None) -> Tensor:
    """[Ti, T]: the rollout of one layer for the queries asked for (all by default); each row sums to 1.

    A few rows cost L x T^2 and never hold [T, T], as the product is taken from the left. Raises EncoderError for a
    layer that the model does not have, and for more than LONGEST_WHOLE rows of a text longer than that.
    """
    check_trace(trace)
    layer, _ = trace.place(layer)
    wanted = range(trace.n_tokens)[queries or slice(None)]
    if len(wanted) > LONGEST_WHOLE:
        raise EncoderError(
            f"The rollout of {len(wanted):,} rows would take minutes: ask for {LONGEST_WHOLE:,} at most, "
            "queries=slice(first, last)."
        )
    rows = torch.zeros(len(wanted), trace.n_tokens, device=trace.mask.device)
    rows[torch.arange(len(wanted)), torch.tensor(wanted)] = 1.0
    for below in range(layer, -1, -1):
        rows = _times_layer(rows, trace, below)
    return rows


def rollouts(trace: Trace) -> Tensor:
    """[L, T, T]: the rollout of every layer, in one pass. Up to LONGEST_WHOLE tokens; EncoderError beyond."""
    check_trace(trace)
    if trace.n_tokens > LONGEST_WHOLE:
        raise EncoderError(
            f"This text is {trace.n_tokens:,} tokens; whole rollouts are computed up to {LONGEST_WHOLE:,}. Use "
            "rollout(trace, layer, queries) for a few rows."
        )
    made: list[Tensor] = []
    for layer in range(trace.config.n_layers):
        mixed = torch.cat([with_residual(part, start) for start, part in _mean_heads(trace, layer)])
        made.append(mixed @ made[-1] if made else mixed)
    return torch.stack(made)


def kept(rollouts: Tensor) -> list[float]:
    """[L, T, T] -> the mean rollout from a token to itself after each layer."""
    return rollouts.diagonal(dim1=1, dim2=2).mean(dim=1).tolist()


def with_residual(attention: Tensor, first: int = 0) -> Tensor:
    """attention [R, T], rows `first` onwards of a map -> (A + I) / 2, each row divided by its sum."""
    mixed = attention * 0.5
    own = torch.arange(len(attention), device=attention.device)
    mixed[own, first + own] += 0.5
    return mixed / mixed.sum(dim=-1, keepdim=True)


def _times_layer(rows: Tensor, trace: Trace, layer: int) -> Tensor:
    """rows [R, T] times (A_l + I) / 2 [T, T], a few rows at a time."""
    out = torch.zeros_like(rows)
    for start, part in _mean_heads(trace, layer):
        out += rows[:, start : start + len(part)] @ with_residual(part, start)
    return out


def _mean_heads(trace: Trace, layer: int) -> Iterator[tuple[int, Tensor]]:
    """(first row, rows [R, T]) of the layer's attention, averaged over its heads, chunk by chunk."""
    for rows, _, pattern in trace.attention_chunks(layer):
        yield rows.start, pattern.mean(dim=0)
