"""The strongest weights, and the rank of a weight, of one query's row or one key's column; correlation of ranks.

Shapes: T tokens, n numbers of each of two measures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.trace import tokens
from encoder.trace.trace import Trace

#: The weights of a row or a column, for pages, which know no tensors.
Weights = Tensor


def strongest(weights: Tensor, k: int = 5) -> list[tuple[int, float]]:
    """weights [T] -> the k largest as (position, weight), largest first; earlier positions first among equals.

    NaN, a weight that does not exist, is left out.
    """
    values, places = weights.float().nan_to_num(nan=-math.inf).sort(descending=True, stable=True)
    found = zip(places[:k].tolist(), values[:k].tolist(), strict=True)
    return [(place, value) for place, value in found if value != -math.inf]


def rank(values: Tensor | np.ndarray, place: int | tuple[int, ...]) -> tuple[int, int]:
    """values [T], or of more axes -> (rank of the one at a place, how many): 1 for the largest; equals share a rank.

    NaN, a weight that does not exist, is not counted.
    """
    found = torch.as_tensor(values)
    return 1 + int((found > found[place]).sum()), int((~found.isnan()).sum())


def falls_most(before: Tensor, after: Tensor) -> int:
    """The place whose number is smaller in `after` than in `before` by most. before, after [T]."""
    return int((before - after).nan_to_num(nan=-math.inf).argmax())


def largest_cell(values: np.ndarray) -> tuple[int, int]:
    """(row, column) of the largest number of a map [R, C]; NaN is left out."""
    row, column = np.unravel_index(int(np.nan_to_num(values, nan=-np.inf).argmax()), values.shape)
    return int(row), int(column)


def largest_between_words(
    weights: np.ndarray,
    trace: Trace,
    rows: Sequence[Sequence[int]],
    columns: Sequence[Sequence[int]],
    least: float = 0.0,
) -> float:
    """weights [R, C] -> the largest one whose row and column hold words only, no special token or padding.

    1 if none is above 0 or there is one word only, and never below `least`. rows, columns: the tokens of each row and
    column. [CLS] and [SEP] often receive most of the attention: colours that end here show what words do.
    """
    content = tokens.is_content(trace)
    if sum(content) < 2:
        return 1.0
    of_words = [np.array([all(content[token] for token in group) for group in side], bool) for side in (rows, columns)]
    inside = weights[np.ix_(*of_words)]
    return max(float(inside[~np.isnan(inside)].max(initial=0.0)) or 1.0, least)


def uniform(trace: Trace) -> float:
    """The weight of each token in uniform attention: 1 / T. Colours that end below it show noise."""
    return 1 / max(trace.n_real, 1)


def token_blocks(first: int, count: int, block: int, n_tokens: int) -> list[range]:
    """The tokens of each row or column of a pooled map: `count` blocks from token `first` on; the last may be short."""
    return [range(start, min(start + block, n_tokens)) for start in range(first, first + count * block, block)]


# --- two measures of the same things ----------------------------------------------------------------------------------

#: Fewer pairs have no rank correlation worth a number.
FEWEST = 5


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho, and the middle 95% of its values over resampled pairs. NaN where a side is constant."""

    value: float
    low: float
    high: float


def rank_correlation(x: np.ndarray, y: np.ndarray, resamples: int = 2000, seed: int = 0) -> RankCorrelation:
    """Spearman's rank correlation of x [n] and y [n], with a percentile bootstrap interval (Efron 1979).

    Samples in which one side is constant are left out of the interval.
    """
    picks = np.random.default_rng(seed).integers(len(x), size=(resamples, len(x)))
    values = spearman(x[picks], y[picks])
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
    return RankCorrelation(float(spearman(x, y)), float(low), float(high))


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[..., n], [..., n] -> [...]: Pearson's correlation of the ranks. NaN where all values of a side are equal."""
    from scipy.stats import rankdata

    a, b = (rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2 for values in (x, y))  # their mean is 0
    with np.errstate(invalid="ignore", divide="ignore"):
        found: np.ndarray = (a * b).sum(-1) / np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    return found
