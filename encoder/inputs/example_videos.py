"""Two short clips that are computed, not stored: bundled digits that move, and a pan over a photograph.

Shapes: N frames, H height, W width.
"""

from collections.abc import Callable

import numpy as np

from encoder.inputs import digits

FRAMES = 16
#: Side of a frame, and of a digit, in pixels; the digits' sides are multiples of 8.
SIDE, DIGIT = 64, 24
#: Name of a bundled digit, where it starts, and its pixels from frame to frame: (row, column) each.
MOVING = (("3", (4, 2), (2, 3)), ("7", (36, 38), (-3, 2)))
#: Side of the window that moves over the photograph of scikit-learn, and the pixels from frame to frame.
WINDOW, STEP = 224, 24


def clip(name: str) -> np.ndarray:
    """The frames [N, H, W, 3], uint8, of a clip of CLIPS."""
    return CLIPS[name]()


def moving_digits() -> np.ndarray:
    """Two digits of MOVING that cross each other and turn back at the edges."""
    frames = np.zeros((FRAMES, SIDE, SIDE), dtype=np.float32)
    for name, start, speed in MOVING:
        ink = digits.decode(digits.examples()[name]).repeat(DIGIT // digits.SIDE, 0).repeat(DIGIT // digits.SIDE, 1)
        for index, frame in enumerate(frames):
            row, column = (
                _reflected(first + index * step, SIDE - DIGIT) for first, step in zip(start, speed, strict=True)
            )
            place = frame[row : row + DIGIT, column : column + DIGIT]
            np.maximum(place, ink, out=place)
    return (frames[..., None].repeat(3, axis=-1) * 255).round().astype(np.uint8)


def pan() -> np.ndarray:
    """A window that moves over a photograph of a temple, from left to right."""
    from sklearn.datasets import load_sample_image

    photo = load_sample_image("china.jpg")
    top = (photo.shape[0] - WINDOW) // 2
    return np.stack([photo[top : top + WINDOW, left : left + WINDOW] for left in range(0, FRAMES * STEP, STEP)])


def _reflected(place: int, most: int) -> int:
    """A place from 0 to `most` of what turns back at both ends."""
    place %= 2 * most
    return min(place, 2 * most - place)


CLIPS: dict[str, Callable[[], np.ndarray]] = {"digits": moving_digits, "pan": pan}
