"""The strongest weights, and the rank of a weight, of one query's row, or of one key's column.

Shapes: T tokens.
"""

import math
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from encoder.measure import tokens
from encoder.trace import Trace

#: The weights of a row or a column, for pages, which know no tensors.
Weights = Tensor


def strongest(weights: Tensor, k: int = 5) -> list[tuple[int, float]]:
    """weights [T] -> the k largest as (position, weight), largest first; earlier positions first among equals.

    NaN, a weight that does not exist, is left out.
    """
    values, places = weights.float().nan_to_num(nan=-math.inf).sort(descending=True, stable=True)
    found = zip(places[:k].tolist(), values[:k].tolist(), strict=True)
    return [(place, value) for place, value in found if value != -math.inf]


def rank(weights: Tensor, place: int) -> tuple[int, int]:
    """weights [T] -> (rank of one of them, number of weights): 1 for the largest; equal weights share a rank.

    NaN, a weight that does not exist, is not counted.
    """
    return 1 + int((weights > weights[place]).sum()), int((~weights.isnan()).sum())


def largest_between_words(
    weights: np.ndarray, trace: Trace, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]
) -> float:
    """weights [R, C] -> the largest one whose row and column hold words alone, no special token or padding.

    1 if none is above 0. rows, columns: the tokens of each row and column. [CLS] and [SEP] often receive most of the
    attention: colours that end here show what words do.
    """
    content = tokens.is_content(trace)
    of_words = [np.array([all(content[token] for token in group) for group in side], bool) for side in (rows, columns)]
    inside = weights[np.ix_(*of_words)]
    return float(inside[~np.isnan(inside)].max(initial=0.0)) or 1.0


def token_blocks(first: int, count: int, block: int, n_tokens: int) -> list[range]:
    """The tokens of each row or column of a pooled map: `count` blocks from token `first` on; the last may be short."""
    return [range(start, min(start + block, n_tokens)) for start in range(first, first + count * block, block)]
