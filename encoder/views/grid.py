"""All heads of a trace as small maps: a row for each layer, a column for each head."""

import numpy as np

from encoder.drawing.headers import GridHeader
from encoder.drawing.picture import Picture
from encoder.figures.colours import thumbnails_lut
from encoder.maps import aggregate
from encoder.trace.trace import Trace

#: Side of the small maps, in cells, and in pixels.
SIDE, PIXELS = 64, 70


def grid(trace: Trace, layer: int | None = None, head: int | None = None, *, colours: str = "blue") -> Picture:
    """The small maps of all heads. A notebook shows them.

    layer, head: framed, if both are given; colours: the theme, one of `figures.colours.THEMES`. A cell is the largest
    weight of its block of tokens.
    """
    n_layers, n_heads = trace.config.n_layers, trace.config.n_heads
    maps = aggregate.to_uint8(trace.thumbnails(SIDE))
    header: GridHeader = {
        "layers": list(range(n_layers)),
        "heads": list(range(n_heads)),
        "selected": None if layer is None or head is None else [layer, head],
        "pinned": [],
        "badges": {},
        "divide": None,
        "sharing": 0,
        "order": None,
        "measureLabel": "",
        "measureRange": [0.0, 1.0],
        "name": "heads",
        "alt": f"All {n_layers} × {n_heads} heads as small maps.",
    }
    return Picture(
        "head_grid",
        header,
        {"thumbnails": maps, "colours": np.asarray(thumbnails_lut(colours), np.uint8)},
        PIXELS * n_layers,
    )
