"""The deletion test as curves: the change of the embedding over how many tokens are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, neutral_layout, plain_axis
from encoder.figures.norm_weighted import ATTENTION, NORM_WEIGHTED


def deletion_curves(counts: Sequence[int], by_attention: object, by_norm_weighted: object, random: object) -> go.Figure:
    """counts [n]: tokens hidden; by_attention, by_norm_weighted [n]: change for the largest; random [S, n]: S draws.

    Random draws are a band from the least to the largest, and their mean. Raises ValueError for other shapes.
    """
    favourite = as_array(by_attention, name="by_attention", ndim=1)
    weighted = as_array(by_norm_weighted, name="by_norm_weighted", ndim=1)
    draws = as_array(random, name="random", ndim=2)
    if not len(counts) == len(favourite) == len(weighted) == draws.shape[1]:
        raise ValueError(
            f"{len(counts)} counts, {len(favourite)}, {len(weighted)} and {draws.shape[1]} changes: as many are needed."
        )
    x = np.array(counts, dtype=np.int32)
    figure = go.Figure(layout=neutral_layout(margin={"l": 8, "r": 12, "t": 74, "b": 8}))
    band = {"mode": "lines", "line": {"width": 0, "color": colour.NEUTRAL}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=draws.min(axis=0), **band)
    fill = colour.faded(colour.NEUTRAL, 0.25)
    figure.add_scatter(x=x, y=draws.max(axis=0), fill="tonexty", fillcolor=fill, **band)
    curves = (
        (f"random, mean of {len(draws)} draws", draws.mean(axis=0), colour.NEUTRAL, "diamond", "dot"),
        ("the most attended", favourite, ATTENTION, "circle", "solid"),
        ("largest norm-weighted attention", weighted, NORM_WEIGHTED, "square", "solid"),
    )
    for name, y, shade, symbol, dash in curves:
        figure.add_scatter(
            x=x,
            y=y,
            name=name,
            mode="lines+markers",
            marker={"symbol": symbol, "size": 9, "color": shade},
            line={"color": shade, "width": 2, "dash": dash},
            hovertemplate=f"{name}, %{{x}} hidden: %{{y:.3g}}<extra></extra>",
        )
    figure.update_layout(
        xaxis=plain_axis("tokens hidden") | {"tickvals": x, "tickangle": 0},
        yaxis=plain_axis("change of the embedding") | {"rangemode": "tozero"},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )
    return figure
