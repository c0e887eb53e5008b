"""The deletion test as curves: the change of the embedding over the number of hidden tokens."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis
from encoder.figures.norm_weighted import ATTENTION, NORM_WEIGHTED
from encoder.figures.plotly_traces import LEGEND, curve

#: The colours of the named curves, and their symbols.
SHADES = (ATTENTION, NORM_WEIGHTED, *colour.SERIES[2:])
SYMBOLS = ("circle", "square", "triangle-up", "cross")
#: Up to so many counts each one has a tick.
MOST_TICKS = 8


def deletion_curves(
    counts: Sequence[int], curves: Mapping[str, object], random: object, over: str, change: str
) -> go.Figure:
    """The change of an outcome over counts [n] of hidden tokens, or of covered parts of an image or a sound.

    curves: name of an order, such as "largest attention first" -> [n]; random [S, n]: S random orders, shown as a band
    from the smallest to the largest and their mean; over: what is counted, such as "hidden tokens"; change: what is
    measured.
    """
    named = {name: as_array(values, name=name, ndim=1) for name, values in curves.items()}
    draws, x = as_array(random, name="random", ndim=2), np.array(counts, dtype=np.int32)
    figure = go.Figure(layout=neutral_layout(margin=margin(74, right=12)))
    band = {"mode": "lines", "line": {"width": 0, "color": colour.NEUTRAL}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=draws.min(axis=0), **band)
    fill = colour.faded(colour.NEUTRAL, 0.25)
    figure.add_scatter(x=x, y=draws.max(axis=0), fill="tonexty", fillcolor=fill, **band)
    done = over.split()[0]
    every = {f"random, mean of {len(draws)} draws": (draws.mean(axis=0), colour.NEUTRAL, "diamond", "dot")}
    for (name, y), shade, symbol in zip(named.items(), SHADES, SYMBOLS, strict=False):
        every[name] = (y, shade, symbol, "solid")
    for name, (y, shade, symbol, dash) in every.items():
        hover = f"{name}, %{{x}} {done}: %{{y:.3g}}"
        figure.add_trace(curve(x, y, name, shade, hover, symbol=symbol, size=9, dash=dash))
    figure.update_layout(
        xaxis=plain_axis(over) | {"tickvals": x if len(x) <= MOST_TICKS else None, "tickangle": 0},
        yaxis=plain_axis(change) | {"rangemode": "tozero"},
        legend=LEGEND | {"y": 1.02, "traceorder": "normal"},
    )
    return figure


def window_bars(edges: object, falls: object, weights: object, fall: str, weight: str) -> go.Figure:
    """Windows of a sound: what the outcome loses where each is silent, and below it the attention on each.

    edges [P + 1]: in seconds; falls, weights [P]; fall, weight: titles of the axes.
    """
    at, values = as_array(edges, name="edges", ndim=1), as_array(falls, name="falls", ndim=1)
    shares = as_array(weights, name="weights", ndim=1)
    middle, width = (at[:-1] + at[1:]) / 2, np.diff(at)
    negative, positive = colour.SIGNED["signed"]
    names = [f"{start:.2f}-{end:.2f} s" for start, end in pairwise(at)]
    shape = {"x": middle, "width": width * 0.92, "customdata": names}
    bars = [
        go.Bar(
            **shape,
            y=values,
            marker={"color": [positive if one >= 0 else negative for one in values]},
            hovertemplate="%{customdata}: %{y:.3g}<extra></extra>",
            yaxis="y2",
        ),
        go.Bar(
            **shape,
            y=shares,
            marker={"color": colour.KEY},
            hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
        ),
    ]
    layout = neutral_layout(
        margin=margin(12, right=12),
        showlegend=False,
        xaxis=plain_axis("seconds") | {"range": [float(at[0]), float(at[-1])]},
        yaxis2=plain_axis(fall) | {"domain": [0.45, 1.0]},
        yaxis=plain_axis(weight) | {"domain": [0.0, 0.36]},
    )
    return go.Figure(bars, layout)
