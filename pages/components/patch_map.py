"""`patch_map`: an image cut into patches, with weights laid over it; a click selects a patch."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np

from encoder.drawing import wire

from . import assets, events
from .headers import PatchHeader

_render = assets.component("patch_map")


class PatchEvent(TypedDict):
    """ "select" has the `row` and the `column` of a patch; "clear" is Esc."""

    event: Literal["select", "clear"]
    row: NotRequired[int]
    column: NotRequired[int]


def patch_map(
    image: np.ndarray,
    weights: np.ndarray,
    *,
    key: str,
    alt: str,
    colorscale: Sequence[Sequence[int]] | np.ndarray,
    label: str,
    names: Sequence[str],
    tile: int = 0,
    selected: tuple[int, int] | None = None,
    opacity: float = 0.6,
    top: float | None = None,
    signed: bool = False,
    size: int = 360,
    on_event: Callable[[PatchEvent], None] | None = None,
) -> None:
    """Draws the image with a colour over each patch.

    Args:
        image: uint8 [H, W, 3], what the model sees.
        weights: [R, C] from 0 on, one for each patch; NaN for all draws the image only.
        key: the widget's key.
        alt: a sentence for screen readers.
        colorscale: 256 colours [red, green, blue], 0 to 255.
        label: what the weights are, for the label of a patch.
        names: of the patches, row by row.
        tile: patches of a side of each of several pictures, side by side; 0: it is one.
        selected: (row, column) with the frame.
        opacity: of the colours, 0 to 1.
        top: the weight of the last colour; None: the largest.
        signed: weights may be below 0: the colours run from -top to top, and 0 is transparent.
        size: pixels of the drawing's longer side, where there is room.
        on_event: called with the event before the page runs.

    Raises ValueError for an array whose shape or dtype does not fit.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(f"image must be uint8 [H, W, 3], not {image.dtype} {list(image.shape)}.")
    weights = np.asarray(weights, dtype=np.float32)
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(f"weights must be [R, C], not {list(weights.shape)}.")
    rows, columns = weights.shape
    most = float(np.nanmax(np.abs(weights) if signed else weights)) if np.isfinite(weights).any() else 0.0
    header: PatchHeader = {
        "alt": alt,
        "label": label,
        "names": list(names),
        "tile": int(tile),
        "selected": None if selected is None else [int(part) for part in selected],
        "opacity": float(opacity),
        "top": most if top is None else float(top),
        "size": int(size),
        "signed": signed,
        "heard": events.heard(key),
    }
    arrays = {"image": image, "weights": weights, "colours": np.asarray(colorscale).astype(np.uint8)}
    _render(
        key=key,
        data=wire.pack(header, arrays),
        height=round(size * image.shape[0] / max(image.shape[:2])) + 30,
        on_patch_change=lambda: events.tell(key, "patch", lambda value: _event(value, rows, columns), on_event),
    )


def _event(value: Any, rows: int, columns: int) -> PatchEvent | None:
    """An event as the browser sent it; None for anything else, such as a patch that does not exist."""
    if not isinstance(value, dict) or value.get("event") not in ("select", "clear"):
        return None
    if value["event"] == "clear":
        return {"event": "clear"}
    row, column = value.get("row"), value.get("column")
    if not (isinstance(row, int) and isinstance(column, int) and 0 <= row < rows and 0 <= column < columns):
        return None
    return {"event": "select", "row": row, "column": column}
