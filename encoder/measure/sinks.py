"""Sinks: heads whose attention rests on one special token, whatever the query (Clark et al. 2019, section 3.2).

Shapes: T tokens (queries i, keys j).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.measure import tokens
from encoder.trace import Trace


@dataclass(frozen=True)
class Sink:
    """Where a head's attention rests.

    kind: "opening" (the text's first token) or "separators"; tokens: their positions; share: mean weight on them
    together, over all real queries; uniform: what they would receive if attention were spread evenly.
    """

    kind: str
    tokens: tuple[int, ...]
    share: float
    uniform: float


def received(trace: Trace, layer: int, head: int) -> Tensor:
    """[T]: the mean weight that each key receives from the real queries, in bounded memory."""
    total = torch.zeros(trace.n_tokens, device=trace.mask.device)
    real = slice(0, trace.n_real)
    for _, _, attention in trace.attention_chunks(layer, slice(head, head + 1), real):
        total += attention[0].sum(dim=0)
    return total / trace.n_real


def sink(trace: Trace, layer: int, head: int, threshold: float = 0.6, mean: Tensor | None = None) -> Sink | None:
    """The special tokens on which more than `threshold` of the attention rests (0.6 in Clark et al. 2019's code).

    Candidates are the text's first token, special or not, and all special tokens after it together. None: no sink.
    mean: what `received` gives, where it is at hand.
    """
    if trace.n_real < 2:
        return None
    mean = received(trace, layer, head) if mean is None else mean
    candidates = {
        "opening": (0,),
        "separators": tuple(k for k, one in enumerate(tokens.special_position(trace, "sep")) if one),
    }
    found = [
        Sink(kind, places, float(mean[list(places)].sum()), len(places) / trace.n_real)
        for kind, places in candidates.items()
        if places
    ]
    best = max(found, key=lambda one: one.share)
    # Where special tokens are most of the text, much weight on them says nothing.
    return best if best.share > max(threshold, 1.5 * best.uniform) else None
