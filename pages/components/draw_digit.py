"""`draw_digit`: a square to draw a digit in, with the pointer, a finger or keys."""

from collections.abc import Callable
from typing import Any

import numpy as np

from encoder.drawing import wire

from . import assets, events
from .headers import DigitHeader

_render = assets.component("draw_digit")

#: Pixels of the bitmap's side, as in the data that the digits come from.
SIDE = 32


def draw_digit(start: np.ndarray, *, key: str, on_drawing: Callable[[np.ndarray], None], height: int = 252) -> None:
    """Draws the square. `on_drawing` gets uint8 [32, 32], 255 for ink, after each stroke, before the page runs.

    start: uint8 [32, 32], what a new square shows, 0 without ink. An empty square calls nothing.
    """
    header: DigitHeader = {"side": SIDE}
    _render(
        key=key,
        data=wire.pack(header, {"start": (start > 0).astype(np.uint8)}),
        height=height,
        on_drawing_change=lambda: events.tell(key, "drawing", bitmap_of, on_drawing),
    )


def bitmap_of(value: Any) -> np.ndarray | None:
    """A drawing as the browser sent it, 256 hexadecimal digits of 4 pixels each; None for anything else, or no ink."""
    text = value.get("bits") if isinstance(value, dict) else None
    if not isinstance(text, str) or len(text) != SIDE * SIDE // 4 or not set(text) <= set("0123456789abcdef"):
        return None
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8)).reshape(SIDE, SIDE)
    return bits * np.uint8(255) if bits.any() else None
