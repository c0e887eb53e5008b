"""Names of points: on which side of its point each has room, and in which order.

A figure does not know its size on the screen, so names are placed for two sizes at once, a projector and a phone. Names
with room on both come first, then those with room on the projector only. The page hides names that overlap, the last
ones first (`layout.meta["names"]`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from encoder.figures.axes import CLEAR

#: (width, height) in pixels of the area of the points, a little less than the real one.
PROJECTOR, PHONE = (620, 340), (235, 330)
#: Pixels: a letter's width, a line's height, half of a point and of the ring around a selected one.
LETTER, LINE, POINT, RING = 7.2, 15, 5, 11
#: Sides of a point for its name, as (across, up).
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0), "middle left": (-1, 0)}
#: Positions of a tag: the side, and pixels up.
TAG_STEPS = [(0, 20), (0, -20), (1, 0), (-1, 0)] + [
    (across, sign * far) for far in (38, 58) for sign in (1, -1) for across in (0, 1, -1)
]

#: Pixels that a name may reach beyond the outermost points, to the left and to the right.
BEYOND = 24


class Names:
    """Names around points [N, 2]: first `tag` those that must be shown, then `place` the others.

    sides: point -> side of its name; order: the named points, the most important first.
    """

    def __init__(self, at: np.ndarray) -> None:
        low, spread = at.min(axis=0), np.ptp(at, axis=0)
        units = np.array((PROJECTOR, PHONE)) / np.where(spread > 0, spread, 1.0)
        self._pixels = [(at - low) * unit for unit in units.min(axis=1)]  # one unit is as long across as up
        # Boxes [n, 4] at either size, left, bottom, right and top.
        self._taken = [np.hstack((pixels - POINT, pixels + POINT)) for pixels in self._pixels]
        self.order: list[int] = []
        self.sides: dict[int, str] = {}

    def tag(self, point: int, text: str) -> tuple[float, float]:
        """(across, up): pixels from a point to the middle of its tag, which covers as little as it can."""
        half = LETTER * len(text) / 2 + 4
        shifts = [(across * (half + (16 if up == 0 else 6)), float(up)) for across, up in TAG_STEPS]
        best = min(shifts, key=lambda shift: sum(self._covered(point, shift, half)))  # the first among equals
        for size, pixels in enumerate(self._pixels):
            self._take(size, _box(pixels[point], RING, RING))
            self._take(size, _box(pixels[point] + best, half, 10))
        return best

    def _covered(self, point: int, shift: tuple[float, float], half: float) -> Iterator[int]:
        """How many points, tags and rings a tag there would cover, at either size."""
        for size, pixels in enumerate(self._pixels):
            box = _box(pixels[point] + shift, half, 10)
            yield self._overlapping(size, box) + (100 if self._beyond(size, box) else 0)

    def place(self, wanted: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """Give names, as (point, text), a side each where there is room, the first before the others; those without."""
        left = [one for one in wanted if not self._put(*one, sizes=(0, 1))]
        return [one for one in left if not self._put(*one, sizes=(0,))]

    def _put(self, point: int, text: str, sizes: tuple[int, ...]) -> bool:
        half = LETTER * len(text) / 2 + 1
        for side, (across, up) in SIDES.items():
            shift = across * (half + POINT + 1), up * (POINT + 1 + LINE / 2)
            boxes = {size: _box(self._pixels[size][point] + shift, half, LINE / 2) for size in sizes}
            if not any(self._beyond(size, box) or self._overlapping(size, box) for size, box in boxes.items()):
                for size, box in boxes.items():
                    self._take(size, box)
                self.sides[point] = side
                self.order.append(point)
                return True
        return False

    def _overlapping(self, size: int, box: np.ndarray) -> int:
        """How many boxes that are taken this one overlaps."""
        taken = self._taken[size]
        return int(((taken[:, :2] < box[2:]) & (box[:2] < taken[:, 2:])).all(axis=1).sum())

    def _beyond(self, size: int, box: np.ndarray) -> bool:
        across = self._pixels[size][:, 0]
        return bool(box[0] < across.min() - BEYOND or box[2] > across.max() + BEYOND)

    def _take(self, size: int, box: np.ndarray) -> None:
        self._taken[size] = np.vstack((self._taken[size], box))


def name_tag(
    text: str, at: np.ndarray, shift: tuple[float, float], shade: str, *, filled: bool = True
) -> dict[str, Any]:
    """A name next to a point as an annotation, white on its colour or in its colour, with a line to a distant point.

    at [2]: the point; shift: as `Names.tag` gives it.
    """
    across, up = shift
    return {
        "text": text, "x": float(at[0]), "y": float(at[1]), "showarrow": True, "ax": across, "ay": -up, "borderpad": 2,
        "arrowhead": 0, "arrowwidth": 1.5, "arrowcolor": shade if abs(up) > 2 * RING else CLEAR, "standoff": RING - 1,
        "font": {"size": 12, "color": "#ffffff" if filled else shade}, "bgcolor": shade if filled else CLEAR,
    }  # fmt: skip


def _box(middle: np.ndarray, half_width: float, half_height: float) -> np.ndarray:
    half = np.array((half_width, half_height))
    return np.concatenate((middle - half, middle + half))
