"""`row_sketch`: a reader draws a row of attention; then the model's row is shown next to it."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from encoder.drawing import wire

from . import assets, events
from .headers import SketchHeader

_render = assets.component("row_sketch")


def row_sketch(
    labels: Sequence[str],
    *,
    key: str,
    question: str,
    drawn: Sequence[float] | None = None,
    truth: Sequence[float] | None = None,
    on_answer: Callable[[list[float]], None] | None = None,
    button: str = "Compare with the model",
) -> None:
    """Draws a slider for each of T tokens, for pointer, finger and keyboard alike.

    Args:
        labels: T names of the keys.
        key: the widget's key.
        question: another question gets fresh sliders.
        drawn: T weights that were drawn before, or None.
        truth: T weights of the model, which end the drawing, or None.
        button: the text of the button that ends the drawing.
        on_answer: called with T weights that sum to 1, before the page runs.
    """
    arrays = {
        name: np.asarray(weights, dtype=np.float32)
        for name, weights in (("drawn", drawn), ("truth", truth))
        if weights is not None
    }
    count = len(labels)
    header: SketchHeader = {"labels": [str(label) for label in labels], "question": question, "button": button}
    _render(
        key=key,
        data=wire.pack(header, arrays),
        on_answer_change=lambda: events.tell(key, "answer", lambda value: _weights(value, count), on_answer),
    )


def _weights(value: Any, count: int) -> list[float] | None:
    """The weights of an event, or None for anything else that a browser may send."""
    weights = value.get("weights") if isinstance(value, dict) else None
    if not isinstance(weights, list) or len(weights) != count:
        return None
    if not all(isinstance(weight, int | float) and math.isfinite(weight) and 0 <= weight <= 1 for weight in weights):
        return None
    return [float(weight) for weight in weights]
