"""The strongest weights of an attention map: for one query, for one key, or over the whole map.

Shapes: T tokens (queries i, keys j).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Weight:
    """One cell of an attention map: token `query` attends to token `key` with `weight`."""

    query: int
    key: int
    weight: float


def strongest_keys(attention: Tensor, query: int, k: int = 5) -> list[Weight]:
    """attention [T, T] -> the k keys that `query` attends to most, strongest first; earlier keys first among equals."""
    return [Weight(query, key, weight) for key, weight in _top(attention[query], k)]


def strongest_queries(attention: Tensor, key: int, k: int = 5) -> list[Weight]:
    """attention [T, T] -> the k queries that attend to `key` most, strongest first."""
    return [Weight(query, key, weight) for query, weight in _top(attention[:, key], k)]


def strongest_pairs(attention: Tensor, k: int = 5, rows: Tensor | None = None) -> list[Weight]:
    """attention [T, T] -> the k strongest cells; rows [T] (bool): only these queries and keys count."""
    if rows is not None:
        attention = attention * rows.unsqueeze(-1) * rows
    n_keys = attention.shape[1]
    return [Weight(cell // n_keys, cell % n_keys, weight) for cell, weight in _top(attention.flatten(), k)]


def _top(weights: Tensor, k: int) -> list[tuple[int, float]]:
    values, places = weights.float().sort(descending=True, stable=True)
    return [(int(place), float(value)) for place, value in zip(places[:k], values[:k], strict=True)]
