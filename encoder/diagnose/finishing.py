"""What a program does to finished vectors before it stores them, fitted to its vectors and then run: whole numbers, a
vector that is subtracted, another order of components.

Shapes: N texts, D components of a vector, D' numbers that are stored of it, k directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoder.diagnose.comparing import SAME

Form = Literal["int8", "int8 cut towards 0", "uint8", "int8 of 127", "binary", "ubinary", "signs", "bits"]
#: Forms with a bit for each component, of which the first two store eight in a number.
OF_BITS: tuple[Form, ...] = ("binary", "ubinary", "signs", "bits")
PACKED = OF_BITS[:2]
#: Steps between the lowest and the highest number of a component.
STEPS = 255
#: Of int8, what is taken from the number of the step.
MIDDLE = 128
#: Texts from which ranges are fitted: two values of each component are free. Of an offset, one is.
FEWEST_OF_RANGES, FEWEST_OF_OFFSET = 5, 3
#: Steps of the search for a range, each of which leaves two thirds of it.
SEARCHED = 80
#: Texts from which an offset and an order of components are fitted.
MOST_FITTED = 100


@dataclass(frozen=True, eq=False)
class Codes:
    """Vectors as whole numbers. low, step [D]: of forms with a range for each component."""

    form: Form
    low: np.ndarray | None = None
    step: np.ndarray | None = None

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """[N, D] -> [N, D']."""
        return self._packed(self._levels(vectors))

    def settled(self, vectors: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """[N, D] -> [N, D'], with the number of `theirs` where the last digits of float32 decide between two."""
        own = self._levels(vectors)
        wanted = self._unpacked(theirs)
        if wanted is None or wanted.shape != own.shape:
            return self._packed(own)
        room = SAME * np.abs(vectors).max(axis=1, keepdims=True)
        is_near = (self._levels(vectors - room) <= wanted) & (wanted <= self._levels(vectors + room))
        return self._packed(np.where(is_near, wanted, own))

    def _levels(self, vectors: np.ndarray) -> np.ndarray:
        """[N, D]: the step of each component, or its bit."""
        if self.form in OF_BITS:
            return (vectors > 0).astype(np.float32)
        if self.low is None or self.step is None:
            return np.rint(unit(vectors) * 127)
        steps = (vectors - self.low) / self.step
        if self.form == "int8 cut towards 0":
            return np.clip(np.trunc(steps - MIDDLE), -MIDDLE, STEPS - MIDDLE)
        found: np.ndarray = np.clip(np.floor(steps), 0, STEPS) - (MIDDLE if self.form == "int8" else 0)
        return found

    def _packed(self, levels: np.ndarray) -> np.ndarray:
        if self.form in PACKED:
            levels = np.packbits(levels > 0, axis=1).astype(np.float32) - (MIDDLE if self.form == "binary" else 0)
        elif self.form == "signs":
            levels = 2 * levels - 1
        return levels.astype(np.float32)

    def _unpacked(self, stored: np.ndarray) -> np.ndarray | None:
        """What `_packed` made; None for what it does not make."""
        if self.form in PACKED:
            whole = stored + (MIDDLE if self.form == "binary" else 0)
            is_byte = (whole >= 0).all() and (whole <= 255).all()
            return np.unpackbits(whole.astype(np.uint8), axis=1).astype(np.float32) if is_byte else None
        return (stored + 1) / 2 if self.form == "signs" else stored


def ranges_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[N, D] -> the lowest number of each component, and its step; a component of one number has the step 1."""
    low = vectors.min(axis=0)
    step = (vectors.max(axis=0) - low) / STEPS
    return low, np.where(step == 0, 1, step)


def fitted_ranges(vectors: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The ranges that give levels 0 to 255 [N, D] of vectors [N, D], as calibration with other texts does; else None.

    Level q means q <= u x + w < q + 1, with the step 1/u. The room that is left for w is concave in u, so thirds of an
    interval find its largest value.
    """
    if len(vectors) < FEWEST_OF_RANGES:
        return None
    x = vectors.astype(np.float64)
    centred = x - x.mean(axis=0)
    slope = (centred * levels).sum(axis=0) / np.maximum((centred**2).sum(axis=0), 1e-24)
    if not (slope > 0).mean() > 0.9:
        return None
    lowest = np.where(levels <= 0, -1e9, levels)
    highest = np.where(levels >= STEPS, 1e9, levels + 1)

    def border(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (lowest - u * x).max(axis=0), (highest - u * x).min(axis=0)

    least, most = slope / 4, slope * 4
    for _ in range(SEARCHED):
        one, two = least + (most - least) / 3, most - (most - least) / 3
        below, above = border(one), border(two)
        is_first = below[1] - below[0] > above[1] - above[0]
        least, most = np.where(is_first, least, one), np.where(is_first, two, most)
    u = np.maximum((least + most) / 2, 1e-9)
    first, last = border(u)
    w = np.clip((first + last) / 2, -1e8, 1e8)
    return -w / u, 1 / u


@dataclass(frozen=True, eq=False)
class Moved:
    """Vectors without one vector [D] and without directions [k, D] of norm 1, then scaled to norm 1 or not."""

    offset: np.ndarray
    directions: np.ndarray
    scales: bool

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """[N, D] -> [N, D]."""
        found = vectors.astype(np.float64) - self.offset
        found -= (found @ self.directions.T) @ self.directions
        return (unit(found) if self.scales else found).astype(np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors [N, D] scaled to norm 1."""
    found: np.ndarray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return found


def principal(vectors: np.ndarray, number: int) -> np.ndarray:
    """[N, D] -> [number, D]: the directions of their largest variance, of norm 1."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    found: np.ndarray = np.linalg.svd(centred, full_matrices=False)[2][:number]
    return found


def fitted_offset(ours: np.ndarray, theirs: np.ndarray, *, scaled: bool) -> np.ndarray | None:
    """The vector c [D] for which theirs [N, D] is nearest to ours - c, or where it is scaled, to a multiple of it.

    A scaled vector t of a right one r has r - c = s t, so s and c are the least squares of all texts together. None
    for fewer texts than tell c from chance.
    """
    r, t = (one[:MOST_FITTED].astype(np.float64) for one in (ours, theirs))
    if r.shape != t.shape or len(r) < FEWEST_OF_OFFSET:
        return None
    if not scaled:
        found: np.ndarray = (r - t).mean(axis=0)
        return found
    equations = np.diag((t**2).sum(axis=1)) - t @ t.T / len(t)
    wanted = (t * (r - r.mean(axis=0))).sum(axis=1)
    scales = np.linalg.lstsq(equations, wanted, rcond=None)[0]
    offset: np.ndarray = (r - scales[:, None] * t).mean(axis=0)
    return offset


@dataclass(frozen=True, eq=False)
class Reordered:
    """Vectors whose components are in another order: the places from which they come, [D]."""

    order: np.ndarray

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """[N, D] -> [N, D]."""
        return vectors[:, self.order]


def fitted_order(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray | None:
    """The place in ours from which each component of theirs comes, [D]; None where some place comes twice."""
    r, t = (one[:MOST_FITTED].astype(np.float64) for one in (ours, theirs))
    if r.shape != t.shape or len(r) < FEWEST_OF_OFFSET:
        return None
    squares = (t**2).sum(axis=0)[:, None] - 2 * t.T @ r + (r**2).sum(axis=0)
    order: np.ndarray = squares.argmin(axis=1)
    return order if len(np.unique(order)) == len(order) else None


Finish = Codes | Moved | Reordered
