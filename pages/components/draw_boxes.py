"""`draw_boxes`: a page on which boxes are drawn, each with its words, with the pointer, a finger or keys."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np

from encoder import EncoderError
from encoder.drawing import wire
from encoder.inputs.box_files import MOST_WORDS
from encoder.inputs.boxes import Box, checked
from encoder.model.boxes import LARGEST_PLACE

from . import assets, events
from .headers import BoxesHeader, DrawnBox

_render = assets.component("draw_boxes")

#: Height of a page without an image, as a share of its width.
BLANK = 1.25
#: Letters of one box.
MOST_LETTERS = 2_000


class BoxesEvent(TypedDict):
    """All boxes with words, after a change of one."""

    boxes: list[DrawnBox]


def draw_boxes(
    parts: Sequence[tuple[str, Box]],
    *,
    key: str,
    ground: bytes = b"",
    aspect: float = BLANK,
    on_boxes: Callable[[list[tuple[str, Box]]], object],
) -> None:
    """Draws the page. `on_boxes` gets all boxes that have words, after each change, before the page runs.

    parts: the words of each box; ground: the image of the page, JPEG, b"" for a blank one; aspect: its height as a
    share of its width.
    """
    header: BoxesHeader = {
        "boxes": [{"words": words, "box": list(box)} for words, box in parts],
        "largest": LARGEST_PLACE,
        "aspect": float(aspect),
        "heard": events.heard(key),
    }
    _render(
        key=key,
        data=wire.pack(header, {"ground": np.frombuffer(ground, np.uint8)}),
        height=480,
        on_boxes_change=lambda: events.tell(key, "boxes", parts_in, on_boxes),
    )


def parts_in(value: Any) -> list[tuple[str, Box]] | None:
    """The words and the box of each, as the browser sent them; None for anything else."""
    sent = value.get("boxes") if isinstance(value, dict) else None
    if not isinstance(sent, list) or len(sent) > MOST_WORDS:
        return None
    try:
        return [(_words(one["words"]), checked(one["box"], LARGEST_PLACE)) for one in sent]
    except (EncoderError, KeyError, TypeError, ValueError):
        return None


def _words(sent: object) -> str:
    if not isinstance(sent, str) or len(sent) > MOST_LETTERS or not sent.strip():
        raise ValueError("no words")
    return sent
