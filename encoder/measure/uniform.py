"""Attention that is spread evenly over all keys that a query sees: what the measures compare a head with.

Shapes: n tokens, without padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def visible_keys(n: int, causal: bool, queries: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
    """How many keys each of these queries sees (None: all n): n, or query + 1 under a causal mask."""
    places = np.arange(n) if queries is None else np.asarray(queries, dtype=np.int64)
    return places + 1 if causal else np.full(len(places), n)


def uniform_entropy(n: int, causal: bool, queries: Sequence[int] | np.ndarray | None = None) -> float:
    """Mean entropy of uniform attention over these queries in nats, ln n without a mask; NaN where it is 0."""
    seen = visible_keys(n, causal, queries)
    if not len(seen) or seen.max() < 2:
        return math.nan
    return float(np.log(seen).mean()) if causal else math.log(n)


def uniform_share(n: int, causal: bool, keys: Sequence[int]) -> float:
    """The share of uniform attention that these keys receive together, mean over all queries."""
    if not causal:
        return len(keys) / n
    seen = visible_keys(n, causal)
    return float(sum((1 / seen[key:]).sum() for key in keys) / n)
