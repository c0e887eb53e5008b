"""A signed number for each token, as bars. Shapes: T tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, token_axis


def token_bars(values: object, labels: Sequence[str], title: str, selected: int | None = None) -> go.Figure:
    """A bar for each token, teal above 0 and orange below.

    values [T]; labels [T]: the tokens; title: of the values; selected: the token whose bar has a frame. Raises
    ValueError for other shapes.
    """
    numbers = as_array(values, name="values", ndim=1)
    names = check_labels(labels, len(numbers), "labels")
    below, above = colour.SIGNED["signed"]
    bars = go.Bar(
        x=np.arange(len(numbers), dtype=np.int32),
        y=numbers,
        marker={
            "color": [above if number >= 0 else below for number in numbers],
            "line": {"width": [2.5 if one == selected else 0 for one in range(len(numbers))], "color": colour.EMPHASIS},
        },
        hovertemplate="%{x}: %{y:+.3g}<extra></extra>",
    )
    figure = go.Figure(bars, neutral_layout(margin=margin(8), bargap=0.2, showlegend=False))
    across = token_axis(names, 0, len(numbers), title="token")
    figure.update_layout(xaxis=across, yaxis=plain_axis(title) | {"zeroline": True, "zerolinewidth": 2})
    return figure
