"""A number on the screen beside its float64 recomputation: their difference and the verdict."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Doubles = NDArray[np.float64]

#: The largest difference that counts as equal, relative to the largest number of the vector.
TOLERANCE = {"torch.float32": 1e-4, "torch.float16": 2e-2, "torch.bfloat16": 1e-1}


@dataclass(frozen=True, eq=False)
class Check:
    """One number on the screen, or a whole vector, beside its recomputation.

    shown, recomputed: arrays of one shape; scale: the largest recomputed number; tolerance: the largest `relative` that
    counts as equal; index: of the selected number.
    """

    name: str
    shown: Doubles
    recomputed: Doubles
    scale: float = 0.0
    tolerance: float = 1e-4
    index: tuple[int, ...] = field(default=())

    @property
    def difference(self) -> float:
        """The largest difference between the two, in the numbers' own unit."""
        return float(np.max(np.abs(self.shown - self.recomputed), initial=0.0))

    @property
    def relative(self) -> float:
        """The largest difference as a share of `scale`."""
        return self.difference / self.scale if self.scale else self.difference

    @property
    def agrees(self) -> bool:
        """Whether the two are equal within the tolerance."""
        return bool(np.isfinite(self.relative)) and self.relative <= self.tolerance

    @property
    def shown_number(self) -> float:
        """The selected number on the screen."""
        return float(self.shown[self.index])

    @property
    def recomputed_number(self) -> float:
        """The selected number in float64."""
        return float(self.recomputed[self.index])


def compare(
    name: str, shown: ArrayLike, recomputed: ArrayLike, index: tuple[int, ...] = (), dtype: str = "torch.float32"
) -> Check:
    """Compare whole vectors. index: of the selected number, by default the one with the largest difference.

    Masked scores (the lowest number) count as equal where both sides are masked.
    """
    left, right = np.asarray(shown, dtype=np.float64), np.asarray(recomputed, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"{name}: {left.shape} is shown and {right.shape} recomputed.")
    masked = (left < -1e30) & ~(right > -1e30)
    left, right = np.where(masked, 0.0, left), np.where(masked, 0.0, right)
    scale = float(np.max(np.abs(right), initial=0.0))
    if not index and left.size:
        index = tuple(int(place) for place in np.unravel_index(np.argmax(np.abs(left - right)), left.shape))
    return Check(name, left, right, scale, TOLERANCE.get(dtype, 1e-4), index)
