"""The strongest weights, and the rank of a weight, of one query's row, or of one key's column.

Shapes: T tokens.
"""

from torch import Tensor


def strongest(weights: Tensor, k: int = 5) -> list[tuple[int, float]]:
    """weights [T] -> the k largest as (position, weight), largest first; earlier positions first among equals."""
    values, places = weights.float().sort(descending=True, stable=True)
    return [(int(place), float(value)) for place, value in zip(places[:k], values[:k], strict=True)]


def rank(weights: Tensor, place: int) -> tuple[int, int]:
    """weights [T] -> (rank of one of them, number of weights): 1 for the largest; equal weights share a rank.

    NaN, a weight that does not exist, is not counted.
    """
    return 1 + int((weights > weights[place]).sum()), int((~weights.isnan()).sum())
