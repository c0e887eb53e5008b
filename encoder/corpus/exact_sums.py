"""Sums that do not depend on the order of what is added: fixed-point numbers in 64-bit integers.

Floating-point addition rounds, so blocks of texts that arrive in another order would give another sum. Here each value
is rounded once, to a multiple of 2^-40, and then added as integers, which is exact, associative and commutative. So
1 worker and 3 workers give the same bits. The bound: a mean differs from that of the unrounded values by at most 2^-41.

A sum is a pair of integers: the whole parts, and the fractions in units of 2^-40. Both stay below 2^63 for up to
2^23 texts whose values are below 2^31.
"""

from __future__ import annotations

import numpy as np

FRACTION_BITS = 40
#: Larger values do not fit.
LARGEST = 2.0**31
#: Texts up to which no sum overflows.
MOST_TEXTS = 2**23


def fixed(values: np.ndarray) -> np.ndarray:
    """Finite values [...] below LARGEST -> int64 [2, ...]: the whole parts, and the fractions x 2^40."""
    values = np.asarray(values, dtype=np.float64)
    whole = np.floor(values)
    fraction = np.rint(np.ldexp(values - whole, FRACTION_BITS))
    return np.stack([whole, fraction]).astype(np.int64)


def value(sums: np.ndarray) -> np.ndarray:
    """int64 [2, ...] -> float64 [...], the sum rounded once more."""
    carried = sums[1] >> FRACTION_BITS  # whole numbers among the fractions
    fraction = sums[1] - (carried << FRACTION_BITS)
    result: np.ndarray = (sums[0] + carried) + np.ldexp(fraction.astype(np.float64), -FRACTION_BITS)
    return result


def fits(values: np.ndarray) -> np.ndarray:
    """bool [...]: whether each value is finite, and it and its square fit."""
    with np.errstate(invalid="ignore", over="ignore"):
        found: np.ndarray = np.square(np.asarray(values, dtype=np.float64)) < LARGEST
    return found  # false for NaN and infinity
