"""Handwritten digits as 8 x 8 images: the data set, its split, the examples, and a digit out of any picture.

The data are the 1,797 digits of scikit-learn: the test part of "Optical Recognition of Handwritten Digits"
(Alpaydin and Kaynak 1998, UCI Machine Learning Repository, CC BY 4.0). A 32 x 32 bitmap was cut into blocks of 4 x 4,
and each number, 0 to 16, counts the ink in one of them.

Shapes: N images, 8 rows, 8 columns.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE, INK = 8, 16
#: A digit as text has one of these for each pixel, row by row: 0 to 16 units of ink.
NUMBERS = "0123456789abcdefg"
EXAMPLES = Path(__file__).parents[1] / "data" / "digits.json"
#: The share of ink below which strokes are thickened; the data has 0.31 on average.
INKED = 0.22
#: Grey values below the brightest of ink, 0 to 255, that count as paper.
PAPER = 48


def dataset() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images [N, 8, 8] from 0 to 1 and labels [N] to train on; images and labels held out: every fifth image."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    images = torch.from_numpy(found.images).float() / INK
    labels = torch.from_numpy(found.target).long()
    held_out = torch.arange(len(labels)) % 5 == 4
    return images[~held_out], labels[~held_out], images[held_out], labels[held_out]


def encode(image: Tensor | np.ndarray[Any, Any]) -> str:
    """An image [8, 8] from 0 to 1 -> its 64 characters, each a number of ink from 0 to 16 (`NUMBERS`)."""
    numbers = np.rint(np.asarray(image, dtype=np.float64) * INK).astype(int)
    return "".join(NUMBERS[number] for number in numbers.ravel())


def decode(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What `encode` wrote -> the image [8, 8] from 0 to 1, float32. Raises EncoderError for another text."""
    if len(text) != SIDE * SIDE or not set(text) <= set(NUMBERS):
        raise EncoderError(f"A digit has {SIDE * SIDE} of the characters {NUMBERS}: draw one, or choose an example.")
    numbers = np.array([NUMBERS.index(character) for character in text], dtype=np.float32)
    return numbers.reshape(SIDE, SIDE) / np.float32(INK)


def as_digit(image: Image, *, dark_ink: bool | None = None) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A picture of one digit -> [8, 8] from 0 to 1, as the data were made: cut out, scaled, ink counted.

    Thin strokes are thickened to those of the data.

    dark_ink: whether the ink is darker than the paper; None: what the border says. Raises EncoderError for a picture
    without ink.
    """
    from PIL import Image as pillow
    from PIL import ImageFilter

    small = image.convert("L")
    small.thumbnail((256, 256))
    grey = np.asarray(small, dtype=np.float32)
    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    if dark_ink if dark_ink is not None else np.median(border) > 127:
        grey = 255.0 - grey
    grey = grey - np.median(grey[grey <= np.percentile(grey, 50)])  # paper is rarely black
    ink = grey > max(PAPER, 0.4 * float(grey.max()))
    if not ink.any():
        raise EncoderError("This picture has no ink: draw a digit, or use a picture with more contrast.")
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    cut = pillow.fromarray(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.uint8) * 255)
    scale = 32 / max(cut.size)
    width, height = (max(1, round(side * scale)) for side in cut.size)
    bitmap = pillow.new("L", (32, 32))
    bitmap.paste(cut.resize((width, height), pillow.Resampling.BOX), ((32 - width) // 2, (32 - height) // 2))
    while np.asarray(bitmap).mean() < INKED * 255:  # a thin pen; the data has thick strokes
        bitmap = bitmap.filter(ImageFilter.MaxFilter(3))
    counted = np.asarray(bitmap, dtype=np.float32).reshape(SIDE, 4, SIDE, 4).mean(axis=(1, 3)) / 255.0
    return (np.rint(counted * INK) / INK).astype(np.float32)


def examples() -> dict[str, str]:
    """Name -> digit as text: bundled images of the held-out part."""
    return json.loads(EXAMPLES.read_text(encoding="utf-8"))
