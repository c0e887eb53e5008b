"""Texts as points of a plane: near points have similar vectors, as far as two dimensions can show it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import margin, neutral_layout, plain_axis, shown_label
from encoder.figures.plotly_traces import LEGEND

#: From so many texts on, points are small and let others show through.
CROWD = 300


def text_plane(points: object, texts: Sequence[str], shares: Sequence[float], nearest: Sequence[int] = ()) -> go.Figure:
    """points [N, 2]; texts [N]; nearest: the texts that are found.

    shares [2]: of the variance along each axis.
    """
    at = np.asarray(points, dtype=np.float32)
    found = np.zeros(len(at), dtype=bool)
    found[list(nearest)] = True
    crowded = len(at) > CROWD
    figure = go.Figure(layout=neutral_layout(margin=margin(30), legend=LEGEND))
    for name, chosen, shade, size in (
        ("other texts", ~found, colour.faded(colour.NEUTRAL, 0.5) if crowded else colour.NEUTRAL, 4 if crowded else 7),
        ("nearest to the query", found, colour.EMPHASIS, 11),
    ):
        figure.add_scatter(
            x=at[chosen, 0],
            y=at[chosen, 1],
            name=name,
            mode="markers",
            marker={"size": size, "color": shade},
            text=[shown_label(texts[int(place)]) for place in np.flatnonzero(chosen)],
            hovertemplate="%{text}<extra></extra>",
        )
    names = f"first component, {shares[0]:.0%} of the variance", f"second component, {shares[1]:.0%}"
    figure.update_layout(xaxis=plain_axis(names[0]), yaxis=plain_axis(names[1]))
    return figure
