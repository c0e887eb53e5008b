"""`head_grid`: every head of a model as a small map, all on one canvas."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from encoder.drawing import wire
from encoder.drawing.headers import GridHeader, StoredArrays

from . import assets, events, fade
from .events import GridEvent
from .store import store

_render = assets.component("head_grid")

#: Pixels of the grid's width in a usual window, above the maps, next to them, of a bar under a map, and above a map for
#: its badge: the room that the grid gets before it is drawn.
USUAL_WIDTH, ABOVE, BESIDE, BAR, MARK_ROOM = 365, 46, 29, 6, 11

Head = tuple[int, int]  # (layer, head), counted from 0


def store_maps(thumbnails: np.ndarray, colorscale: Sequence[Sequence[int]] | np.ndarray, label: StoredArrays) -> None:
    """Send the small maps of a `head_grid` apart from it, for a page that draws only its grid again.

    label: what the grid gets in their place.
    """
    maps = _maps(thumbnails, colorscale, thumbnails.shape[:2])
    store(maps, key=label["name"], digest=label["digest"])


def head_grid(
    thumbnails: np.ndarray | StoredArrays,
    *,
    layers: int | Sequence[int],
    heads: int | Sequence[int],
    selected: Head | None,
    key: str,
    alt: str,
    colorscale: Sequence[Sequence[int]] | np.ndarray,
    measure: np.ndarray | None = None,
    measure_label: str = "",
    measure_range: tuple[float, float] = (0.0, 1.0),
    badges: Mapping[str, str] | None = None,
    badge_titles: Mapping[str, str] | None = None,
    badge_marks: Mapping[str, str] | None = None,
    dim: np.ndarray | None = None,
    order: Sequence[Head] | None = None,
    pinned: Sequence[Head] = (),
    divide: float | None = None,
    sharing: int = 0,
    width: int = USUAL_WIDTH,
    leads_to: str | None = None,
    on_event: Callable[[GridEvent], None] | None = None,
) -> None:
    """Draws L x H small maps.

    Args:
        thumbnails: uint8 [L, H, s, s], an index into the colour scale for each block; or the label of `store_maps`.
        layers, heads: the numbers of the rows and columns, or their count.
        selected: the head with the outline, as (layer, head).
        key: the widget's key, and the name of a downloaded picture.
        alt: a sentence for screen readers.
        colorscale: 256 colours [red, green, blue], 0 to 255.
        measure: float [L, H]: a bar under each map; NaN leaves it empty.
        measure_label: the bar's name in the legend and in a head's label.
        measure_range: the values of an empty and a full bar.
        badges: "L0H3" -> a word or two, above the head's map if that is wide enough, else its letter.
        badge_titles: a badge -> what the head's label says in its place.
        badge_marks: a badge -> its letter.
        dim: bool [L, H]: faded maps.
        order: the heads to draw, as (layer, head); unset: all, layers as rows and heads as columns.
        pinned: heads with a numbered pin.
        divide: the share of a map's side at which the second sentence of a pair begins; None: no line.
        sharing: the number of consecutive heads that share keys and values; 0: each has its own.
        width: pixels of the grid's width in a usual window, for the room that it gets before it is drawn.
        leads_to: the key of a container with the open head, which a click scrolls to.
        on_event: called with the event before the page runs, so it may change other widgets' state.

    Raises ValueError for an array whose shape or dtype does not fit.
    """
    rows = list(range(layers)) if isinstance(layers, int) else [int(layer) for layer in layers]
    columns = list(range(heads)) if isinstance(heads, int) else [int(head) for head in heads]
    shape = (len(rows), len(columns))
    arrays = _arrays(measure, dim, shape)
    side = thumbnails.shape[2] if isinstance(thumbnails, np.ndarray) else 1
    maps = (
        store(_maps(thumbnails, colorscale, shape), key=f"{key}-maps")
        if isinstance(thumbnails, np.ndarray)
        else thumbnails
    )
    header: GridHeader = {
        "layers": rows,
        "heads": columns,
        "selected": None if selected is None else [int(selected[0]), int(selected[1])],
        "heard": events.heard(key),
        "shows": fade.shown(None),
        "order": None if order is None else [[rows.index(layer), columns.index(head)] for layer, head in order],
        "pinned": [[int(layer), int(head)] for layer, head in pinned],
        "badges": dict(badges or {}),
        "badgeTitles": dict(badge_titles or {}),
        "badgeMarks": dict(badge_marks or {}),
        "divide": divide,
        "sharing": int(sharing),
        "measureLabel": measure_label,
        "measureRange": [float(end) for end in measure_range],
        "name": key,
        "alt": alt,
        "maps": maps,
        "leadsTo": leads_to,
    }
    _render(
        key=key,
        data=wire.pack(header, arrays),
        height=_room(shape, side, width, (MARK_ROOM if badges else 0) + (0 if measure is None else BAR)),
        on_grid_change=lambda: events.tell(key, "grid", events.grid_event, on_event),
    )


def _room(shape: tuple[int, int], side: int, width: int, besides: int) -> int:
    """Pixels of the grid's height at a width, as `gridLayout` in encoder/drawing/grid_picture.js has them.

    shape: layers and heads; side: of the small maps, 1 where it is not known; besides: pixels above and below a map.
    """
    layers, heads = shape
    pitch = (width - BESIDE) / heads
    gap = 2 if pitch < 30 else 4 if pitch < 56 else 6
    size = max(14, min(88, int(pitch) - gap))
    crisp = size // side * side
    return ABOVE + layers * ((crisp if crisp >= 0.8 * size else size) + besides + gap)


def _maps(thumbnails: np.ndarray, colorscale: Any, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """The arrays that stay the same while the user selects heads."""
    if thumbnails.dtype != np.uint8 or thumbnails.ndim != 4 or thumbnails.shape[2] != thumbnails.shape[3]:
        raise ValueError(f"thumbnails must be uint8 [L, H, s, s], not {thumbnails.dtype} {list(thumbnails.shape)}.")
    if thumbnails.shape[:2] != shape:
        raise ValueError(f"thumbnails are of {list(thumbnails.shape[:2])} heads; layers and heads say {list(shape)}.")
    colours = np.asarray(colorscale)
    if colours.shape != (256, 3):
        raise ValueError(f"colorscale must be 256 colours of 3 numbers, not {list(colours.shape)}.")
    return {"thumbnails": thumbnails, "colours": colours.astype(np.uint8)}


def _arrays(measure: np.ndarray | None, dim: np.ndarray | None, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, array, dtype in (("measure", measure, np.float32), ("dim", dim, np.uint8)):
        if array is None:
            continue
        if np.shape(array) != shape:
            raise ValueError(f"{name} must be [L, H] = {list(shape)}, not {list(np.shape(array))}.")
        arrays[name] = np.asarray(array).astype(dtype)
    return arrays
