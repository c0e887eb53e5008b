"""Is this score much? Its place among random pairs of a collection.

Shapes: N texts, E width of a vector.
"""

from dataclasses import dataclass

import numpy as np

from encoder.errors import EncoderError
from encoder.search.collection import Collection

#: Random pairs of different texts. The standard error of a percentile is at most 0.5 points.
PAIRS = 10_000
#: Two texts are one pair: nothing to compare with.
LEAST_TEXTS = 3
#: Fewer pairs have no percentile: one of them would be more than 1%.
LEAST_PAIRS = 100
#: Where 90% of the pairs are within so small a difference, ranks say little: the texts have nearly one vector.
NARROW = 0.1
#: Of fewer pairs, none is among the highest 5%.
LEAST_FOR_RANGE = 20


@dataclass(frozen=True)
class Place:
    """Where a score is among random pairs. percentile: the share of pairs with a lower score, 0 to 100, ties counted
    half; low, high: between these are 90% of the pairs; median; n_pairs: the number of pairs."""

    percentile: float
    low: float
    median: float
    high: float
    n_pairs: int

    @property
    def is_narrow(self) -> bool:
        """Whether 90% of the pairs lie so close together that ranks say little."""
        return self.high - self.low < NARROW

    @property
    def is_drawn(self) -> bool:
        """Whether the pairs of `random_cosines` are a random draw, and not all pairs."""
        return self.n_pairs >= PAIRS

    @property
    def pairs(self) -> str:
        """The pairs in words: "all 66 pairs", "10,000 random pairs"."""
        return f"{self.n_pairs:,} random pairs" if self.is_drawn else f"all {self.n_pairs:,} pairs"

    @property
    def share(self) -> str:
        """How many pairs have a lower score: "82% of all 66 pairs"; never rounded up to all of them."""
        if self.percentile == 100:
            return f"all {self.pairs}" if self.is_drawn else self.pairs
        return f"{int(self.percentile)}% of {self.pairs}"


def random_cosines(collection: Collection, seed: int = 0) -> np.ndarray:
    """The cosines of PAIRS random pairs of different texts, or of all pairs where there are fewer: float64 [n], sorted.

    Raises EncoderError for fewer than 2 texts.
    """
    n_texts = len(collection)
    if n_texts < 2:
        raise EncoderError("Random pairs need at least 2 texts: add some to the collection.")
    if n_texts * (n_texts - 1) // 2 <= PAIRS:
        first, second = np.triu_indices(n_texts, k=1)
    else:
        draw = np.random.default_rng(seed)
        first = draw.integers(0, n_texts, PAIRS)
        second = (first + draw.integers(1, n_texts, PAIRS)) % n_texts
    found: np.ndarray = np.einsum("ne,ne->n", collection.vectors[first], collection.vectors[second], dtype=np.float64)
    return np.sort(found)


def place(score: float, cosines: np.ndarray) -> Place:
    """The place of a score among sorted cosines [n]."""
    below, upto = np.searchsorted(cosines, score, "left"), np.searchsorted(cosines, score, "right")
    low, median, high = np.quantile(cosines, (0.05, 0.5, 0.95))
    return Place(100 * float(below + upto) / 2 / len(cosines), float(low), float(median), float(high), len(cosines))
