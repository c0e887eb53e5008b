"""The deletion test as curves: the change of the embedding over the number of hidden tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, margin, neutral_layout, plain_axis
from encoder.figures.norm_weighted import ATTENTION, NORM_WEIGHTED
from encoder.figures.plotly_traces import LEGEND, curve


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
    named = {
        "largest attention first": favourite,
        "largest norm-weighted first": weighted,
    }
    return _curves(np.array(counts, dtype=np.int32), named, draws, (ATTENTION, NORM_WEIGHTED), "hidden tokens", change)


def occlusion_curves(
    counts: Sequence[int], curves: Mapping[str, object], random: object, parts: str, change: str
) -> go.Figure:
    """The change of an outcome over counts [n] of covered parts of an image or a sound.

    curves: name of an order -> [n]; random [S, n]: S random orders; parts: what is covered; change: what is measured.
    Raises ValueError for other shapes.
    """
    named = {name: as_array(values, name=name, ndim=1) for name, values in curves.items()}
    draws = as_array(random, name="random", ndim=2)
    if any(len(values) != len(counts) for values in named.values()) or draws.shape[1] != len(counts):
        raise ValueError(f"{len(counts)} counts need as many changes in each curve.")
    shades = [ATTENTION, NORM_WEIGHTED, *colour.SERIES[2:]][: len(named)]
    figure = _curves(np.array(counts, dtype=np.int32), named, draws, shades, f"covered {parts}", change)
    figure.update_layout(xaxis={"tickvals": None})
    return figure


def _curves(
    x: np.ndarray, named: Mapping[str, np.ndarray], draws: np.ndarray, shades: Sequence[str], over: str, change: str
) -> go.Figure:
    """Named curves next to a band from the smallest to the largest random draw and their mean."""
    figure = go.Figure(layout=neutral_layout(margin=margin(74, right=12)))
    band = {"mode": "lines", "line": {"width": 0, "color": colour.NEUTRAL}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=draws.min(axis=0), **band)
    fill = colour.faded(colour.NEUTRAL, 0.25)
    figure.add_scatter(x=x, y=draws.max(axis=0), fill="tonexty", fillcolor=fill, **band)
    done = over.split()[0]
    every = {f"random, mean of {len(draws)} draws": (draws.mean(axis=0), colour.NEUTRAL, "diamond", "dot")}
    symbols = ("circle", "square", "triangle-up", "cross")
    for (name, y), shade, symbol in zip(named.items(), shades, symbols, strict=False):
        every[name] = (y, shade, symbol, "solid")
    for name, (y, shade, symbol, dash) in every.items():
        hover = f"{name}, %{{x}} {done}: %{{y:.3g}}"
        figure.add_trace(curve(x, y, name, shade, hover, symbol=symbol, size=9, dash=dash))
    figure.update_layout(
        xaxis=plain_axis(over) | {"tickvals": x, "tickangle": 0},
        yaxis=plain_axis(change) | {"rangemode": "tozero"},
        legend=LEGEND | {"y": 1.02, "traceorder": "normal"},
    )
    return figure


def window_bars(edges: object, falls: object, weights: object, fall: str, weight: str) -> go.Figure:
    """Windows of a sound: what the outcome loses where each is silent, and below it the attention on each.

    edges [P + 1]: in seconds; falls, weights [P]; fall, weight: titles of the axes. Raises ValueError for other shapes.
    """
    at, values = as_array(edges, name="edges", ndim=1), as_array(falls, name="falls", ndim=1)
    shares = as_array(weights, name="weights", ndim=1)
    if not len(at) - 1 == len(values) == len(shares):
        raise ValueError(f"{len(at)} edges need {len(at) - 1} falls and weights.")
    middle, width = (at[:-1] + at[1:]) / 2, np.diff(at)
    negative, positive = colour.SIGNED["signed"]
    names = [f"{start:.2f}-{end:.2f} s" for start, end in pairwise(at)]
    shape = {"x": middle, "width": width * 0.92, "customdata": names}
    bars = [
        go.Bar(
            **shape, y=values, marker={"color": [positive if one >= 0 else negative for one in values]},
            hovertemplate="%{customdata}: %{y:.3g}<extra></extra>", yaxis="y2",
        ),
        go.Bar(
            **shape, y=shares, marker={"color": colour.KEY}, hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
        ),
    ]  # fmt: skip
    layout = neutral_layout(
        margin=margin(12, right=12), showlegend=False,
        xaxis=plain_axis("seconds") | {"range": [float(at[0]), float(at[-1])]},
        yaxis2=plain_axis(fall) | {"domain": [0.45, 1.0]}, yaxis=plain_axis(weight) | {"domain": [0.0, 0.36]},
    )  # fmt: skip
    return go.Figure(bars, layout)
