"""Where the vectors of two programs differ: by text, and number by number.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis, shown_label
from encoder.figures.plotly_traces import LEGEND

#: Texts that are drawn.
MOST_TEXTS = 200
#: Room for the ticks of a low picture. Measured by Plotly, it would change the ticks, and these the room again.
ROOM = {"l": 72, "b": 48}
FIXED = {"automargin": False}


def text_differences(
    texts: Sequence[str], without: object, explained: object | None = None, kind: str = "text"
) -> go.Figure:
    """A bar for each text: the largest difference of its vector, without the faults and with them. [N] each.

    texts: or the names of other inputs, of this kind; explained: None where no fault was found.
    """
    figure = go.Figure(layout=neutral_layout(margin=margin(30) | ROOM, legend=LEGEND, barmode="group"))
    shown = [shown_label(text[:40]) for text in texts[:MOST_TEXTS]]
    series = [("without the fault", without, colour.KEY), ("with the fault", explained, colour.VALUE)]
    if explained is None:
        series = [("difference from the model", without, colour.KEY)]
    for name, values, shade in series:
        heights = as_array(values, name=name, ndim=1)[:MOST_TEXTS]
        figure.add_bar(
            x=np.arange(1, len(heights) + 1, dtype=np.int32),  # lines of a file count from 1
            y=heights,
            name=name,
            marker={"color": shade},
            text=shown,
            textposition="none",
            hovertemplate="%{text}: %{y:.3g}<extra></extra>",
        )
    figure.update_layout(xaxis=plain_axis(kind) | FIXED, yaxis=plain_axis("largest difference") | FIXED)
    return figure


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
        neutral_layout(margin=margin(8) | ROOM, bargap=0, showlegend=False),
    )
    figure.update_layout(
        xaxis=plain_axis("number of the vector") | FIXED, yaxis=plain_axis("theirs minus the model's") | FIXED
    )
    return figure
