"""Bars of tokens: weights of a row, shares of a sum. Shapes: T tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, shown_label, token_axis
from encoder.figures.plotly_traces import LEGEND, bars

#: role -> colour of the bars that belong to it.
ROLES = {"q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "other": colour.NEUTRAL, "chosen": colour.EMPHASIS}


def token_bars(
    series: Mapping[str, object],
    labels: Sequence[str],
    *,
    roles: Sequence[str] = (),
    chosen: int | None = None,
    axis: str = "weight",
    token: str = "key token",
    first: int = 0,
) -> go.Figure:
    """A bar a token for each series, side by side: weights of a row, shares of tokens.

    series: name -> [T]; roles: a key of ROLES for each series; chosen: the token that is outlined; first: the token of
    the first bar, when a part of a longer text is drawn. Raises ValueError for lengths that differ.
    """
    arrays = {name: as_array(values, name=name, ndim=1) for name, values in series.items()}
    if len({len(values) for values in arrays.values()}) != 1:
        raise ValueError("series: specify at least one, all with one number a token.")
    count = len(next(iter(arrays.values())))
    labels = check_labels(labels, first + count, "labels")
    places = first + np.arange(count, dtype=np.int32)
    shades = [ROLES[role] for role in roles] or list(colour.SERIES)
    names = np.array([shown_label(labels[place]) for place in places], dtype=object)
    drawn = [
        bars(places, values, name, shade, f"%{{customdata}}: {name} %{{y:.4f}}", customdata=names)
        for (name, values), shade in zip(arrays.items(), shades, strict=False)
    ]
    layout = neutral_layout(
        margin=margin(36 if len(arrays) > 1 else 12),
        xaxis=token_axis(labels, first, count, title=token),
        yaxis=plain_axis(axis) | {"exponentformat": "power"},
        bargap=0.25,
        legend=LEGEND,
        showlegend=len(arrays) > 1,
        hovermode="closest",
    )
    figure = go.Figure(drawn, layout)
    if chosen is not None and first <= chosen < first + count:
        figure.add_vrect(x0=chosen - 0.5, x1=chosen + 0.5, line={"color": colour.KEY_LABEL, "width": 1.5})
    return figure
