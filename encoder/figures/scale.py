"""The end of a colour scale, where a few numbers are far larger than the rest: it leaves these out and says so."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from encoder.figures.colours import over
from encoder.figures.numbers import three_digits
from encoder.figures.vectors import symmetric_limit

#: Of the numbers that are not 0, the share that a scale holds at least; a number so many times larger is an outlier.
SHARE, TIMES = 0.95, 2.0
#: A limit is written with so many digits. It is rounded up to them, so that the written one is where colours end.
_UP = Context(prec=3, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Scale:
    """limit: the absolute value of the full colour; beyond: how many numbers are larger in size; largest: the one of
    the largest size, with its sign."""

    limit: float
    beyond: int
    largest: float

    def titled(self, title: str) -> str:
        """The title of a colour bar, with what the scale leaves out."""
        if not self.beyond:
            return title
        return f"{title}; {self.beyond} beyond, up to {three_digits(self.largest)}"


def robust(values: object, *others: object) -> Scale:
    """A scale on which one outlier does not take all colours. NaN does not count.

    It ends at the largest absolute value, unless this is TIMES the one that SHARE of all numbers stay below: this one,
    rounded up. others: the values of maps that share the end of the scale; what is beyond counts in `values` only.
    """
    own, *more = (_sizes(one) for one in (values, *others))
    sizes, largest = np.concatenate([own, *more]), symmetric_limit(values, *others)
    limit = float(np.quantile(sizes, SHARE, method="lower")) if sizes.size else largest
    if largest < TIMES * limit:
        return Scale(largest, 0, largest)
    limit = float(_UP.create_decimal_from_float((1 - 1e-6) * limit))  # float32 holds 0.002 as a little more
    return ending(values, limit)


def ending(values: object, limit: float) -> Scale:
    """A scale that ends at this limit, with what is beyond it."""
    return Scale(limit, int(over(_sizes(values), limit).sum()), _farthest(values))


def _farthest(values: object) -> float:
    """The number of the largest absolute value."""
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64).ravel(), posinf=0, neginf=0)
    return float(numbers[np.abs(numbers).argmax()]) if numbers.size else 0.0


def _sizes(values: object) -> np.ndarray:
    """The absolute values of all numbers that are not 0."""
    sizes = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    return sizes[np.isfinite(sizes) & (sizes > 0)]
