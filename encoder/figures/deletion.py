"""The deletion test as curves: the change of the embedding over the number of hidden tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis
from encoder.figures.norm_weighted import ATTENTION, NORM_WEIGHTED
from encoder.figures.traces import LEGEND, curve


def deletion_curves(
    counts: Sequence[int],
    by_attention: object,
    by_norm_weighted: object,
    random: object,
    change: str = "change of the embedding",
) -> go.Figure:
    """The change, by default of the embedding, over counts [n] of hidden tokens.

    by_attention, by_norm_weighted [n]: tokens of the largest attention, or norm-weighted attention, are hidden first;
    random [S, n]: S random draws, shown as a band from the smallest to the largest and their mean. Raises ValueError
    for other shapes.
    """
    favourite = as_array(by_attention, name="by_attention", ndim=1)
    weighted = as_array(by_norm_weighted, name="by_norm_weighted", ndim=1)
    draws = as_array(random, name="random", ndim=2)
    if not len(counts) == len(favourite) == len(weighted) == draws.shape[1]:
        raise ValueError(
            f"{len(counts)} counts, {len(favourite)}, {len(weighted)} and {draws.shape[1]} changes: as many of each."
        )
    x = np.array(counts, dtype=np.int32)
    figure = go.Figure(layout=neutral_layout(margin=margin(74, right=12)))
    band = {"mode": "lines", "line": {"width": 0, "color": colour.NEUTRAL}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=draws.min(axis=0), **band)
    fill = colour.faded(colour.NEUTRAL, 0.25)
    figure.add_scatter(x=x, y=draws.max(axis=0), fill="tonexty", fillcolor=fill, **band)
    curves = (
        (f"random, mean of {len(draws)} draws", draws.mean(axis=0), colour.NEUTRAL, "diamond", "dot"),
        ("largest attention first", favourite, ATTENTION, "circle", "solid"),
        ("largest norm-weighted first", weighted, NORM_WEIGHTED, "square", "solid"),
    )
    for name, y, shade, symbol, dash in curves:
        hover = f"{name}, %{{x}} hidden: %{{y:.3g}}"
        figure.add_trace(curve(x, y, name, shade, hover, symbol=symbol, size=9, dash=dash))
    figure.update_layout(
        xaxis=plain_axis("hidden tokens") | {"tickvals": x, "tickangle": 0},
        yaxis=plain_axis(change) | {"rangemode": "tozero"},
        legend=LEGEND | {"y": 1.02, "traceorder": "normal"},
    )
    return figure
