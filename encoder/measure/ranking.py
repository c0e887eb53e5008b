"""The strongest weights of one query's row, or of one key's column.

Shapes: T tokens.
"""

from torch import Tensor


def strongest(weights: Tensor, k: int = 5) -> list[tuple[int, float]]:
    """weights [T] -> the k largest as (position, weight), largest first; earlier positions first among equals."""
    values, places = weights.float().sort(descending=True, stable=True)
    return [(int(place), float(value)) for place, value in zip(places[:k], values[:k], strict=True)]
