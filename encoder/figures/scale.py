"""The end of a colour scale, where a few numbers are far larger than the rest: it leaves these out and says so."""

from dataclasses import dataclass

import numpy as np

from encoder.figures.vectors import symmetric_limit

#: Of the numbers that are not 0, the share that a scale holds at least; a number so many times larger is an outlier.
SHARE, TIMES = 0.95, 2.0


@dataclass(frozen=True)
class Scale:
    """limit: the absolute value of the full colour; beyond: how many numbers are larger; largest: of all."""

    limit: float
    beyond: int
    largest: float

    def titled(self, title: str) -> str:
        """The title of a colour bar, with what the scale leaves out."""
        if not self.beyond:
            return title
        return f"{title}; {self.beyond} beyond, up to {self.largest:.3g}"


def robust(values: object, *others: object) -> Scale:
    """A scale on which one outlier does not take all colours. NaN does not count.

    It ends at the largest absolute value, unless this is TIMES the one that SHARE of all numbers stay below. others:
    the values of maps that share the end of the scale; what is beyond it is counted in `values` only.
    """
    own, *more = (_sizes(one) for one in (values, *others))
    sizes, largest = np.concatenate([own, *more]), symmetric_limit(values, *others)
    limit = float(np.quantile(sizes, SHARE, method="lower")) if sizes.size else largest
    if largest < TIMES * limit:
        return Scale(largest, 0, largest)
    return Scale(limit, int((own > limit).sum()), symmetric_limit(values))


def _sizes(values: object) -> np.ndarray:
    """The absolute values of all numbers that are not 0."""
    sizes = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    return sizes[np.isfinite(sizes) & (sizes > 0)]
