"""Intervals by the Poisson bootstrap: each replicate counts a text Poisson(1) times, independently of all others.

For many texts this is the usual bootstrap (Hanley and MacGibbon 2006; Chamandy et al. 2012, "Estimating uncertainty for
massive data streams"). It needs one pass and no order of the texts. The weights of a text depend on the seed and the
text's index alone, so workers agree on them.

Shapes: B texts, R replicates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Values are rounded to multiples of 2^-24. A block's sums are then whole numbers below 2^53, so products in float64
#: are exact, in whatever order a library adds them.
BITS = 24
#: Percentiles of an interval.
INTERVAL = (2.5, 97.5)


def weights(texts: Sequence[int], replicates: int, seed: int) -> np.ndarray:
    """float64 [R, B]: how often each replicate counts each text."""
    rows = []
    for text in texts:
        draw = np.random.Generator(np.random.Philox(key=seed, counter=[0, text, 0, 0]))
        rows.append(draw.poisson(1.0, replicates))
    drawn: np.ndarray = np.stack(rows, axis=1).astype(np.float64)
    return drawn


def weighted_sums(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """weights [R, B], values [B, ...], NaN counts as 0 -> int64 [R, ...], in units of 2^-BITS."""
    whole = np.rint(np.ldexp(np.nan_to_num(values), BITS)).reshape(len(values), -1)
    sums: np.ndarray = (weights @ whole).astype(np.int64)
    return sums.reshape(len(weights), *values.shape[1:])


def replicate_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sums int64 [R, ...], counts [R, ...] with trailing axes of 1 -> float64 [R, ...]; NaN without any text."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: np.ndarray = np.ldexp(sums.astype(np.float64), -BITS) / np.where(counts > 0, counts, np.nan)
    return means


def interval(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 [R, ...] -> the percentiles INTERVAL, [...] each; NaN where no replicate has a value."""
    with np.errstate(invalid="ignore"):
        filled = np.where(np.isnan(means).all(0), 0.0, means)
        low, high = np.nanpercentile(filled, INTERVAL, axis=0)
    lacking = np.isnan(means).all(0)
    return np.where(lacking, np.nan, low), np.where(lacking, np.nan, high)
