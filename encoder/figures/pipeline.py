"""Where the vectors of two programs differ: by text, and number by number.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.plotly_traces import LEGEND

#: Texts that are drawn.
MOST_TEXTS = 200
#: Up to so many texts, each has its number on the axis.
FEW = 12
#: Room for the ticks of a low picture. Measured by Plotly, it would change the ticks, and these the room again.
ROOM = {"l": 72, "b": 48}
FIXED = {"automargin": False}


def text_differences(
    texts: Sequence[str],
    without: object,
    explained: object | None = None,
    kind: str = "text",
    selected: int | None = None,
) -> go.Figure:
    """A bar for each text: the largest difference of its vector; a point: that with the faults. [N] each.

    A point is visible at 0, where a bar is not. texts: or the names of other inputs, of this kind; explained: None
    where no fault was found; selected: the text whose bar has a frame.
    """
    figure = go.Figure(layout=neutral_layout(margin=margin(30) | ROOM, legend=LEGEND))
    named = [shown_label(text[:40]) for text in texts[:MOST_TEXTS]]
    hover: dict[str, Any] = {"text": named, "hovertemplate": "%{text}: %{y:.2g}<extra></extra>"}
    places, name, heights = _series("from the model" if explained is None else "without the fault", without)
    frames = {"width": [2.5 if at == selected else 0 for at in range(len(heights))], "color": colour.EMPHASIS}
    bars = {"marker": {"color": colour.NEUTRAL, "line": frames}, "textposition": "none"}
    figure.add_bar(x=places, y=heights, name=name, **bars, **hover)
    if explained is not None:
        places, name, heights = _series("with it", explained)
        look = {"mode": "markers", "marker": {"color": colour.VALUE, "size": 9, "symbol": "diamond"}}
        figure.add_scatter(x=places, y=heights, name=name, cliponaxis=False, **look, **hover)
    few = {"dtick": 1} if len(places) <= FEW else {}
    figure.update_layout(xaxis=plain_axis(kind) | FIXED | few, yaxis=plain_axis("largest difference") | FIXED)
    return figure


def _series(name: str, values: object) -> tuple[np.ndarray, str, np.ndarray]:
    """Places, name with the largest value, and heights of the texts that are drawn."""
    every = as_array(values, name=name, ndim=1)
    heights = every[:MOST_TEXTS]
    places = np.arange(1, len(heights) + 1, dtype=np.int32)  # lines of a file count from 1
    return places, f"{name}: up to {float(every.max(initial=0.0)):.2g}", heights


def dimension_differences(differences: object) -> go.Figure:
    """The differences of one text's vectors, number by number, [D']."""
    values = as_array(differences, name="differences", ndim=1)
    below, above = colour.SIGNED["signed"]
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(values), dtype=np.int32),
            y=values,
            marker={"color": [above if value >= 0 else below for value in values], "line": {"width": 0}},
            hovertemplate="number %{x}: %{y:+.3g}<extra></extra>",
        ),
        neutral_layout(margin=margin(30) | ROOM, bargap=0, showlegend=False),
    )
    figure.update_layout(
        xaxis=plain_axis("component of the vector") | FIXED, yaxis=plain_axis("theirs minus the model's") | FIXED
    )
    return figure
