"""Bars of the forward pass: terms of a sum, weights of a row, shares of heads. Shapes: T tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, shown_label, token_axis
from encoder.figures.plotly_traces import LEGEND, bars

#: role -> colour of the bars that belong to it.
ROLES = {"q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "other": colour.NEUTRAL, "chosen": colour.EMPHASIS}


def term_bars(
    terms: object, *, chosen: int | None = None, axis: str = "d", most: int = 40, names: Sequence[str] | None = None
) -> go.Figure:
    """The terms of a sum as bars, the largest first, at most `most` of them, and one bar for the rest.

    names: of the terms; their numbers by default. chosen: a term that is outlined.
    """
    values = as_array(terms, name="terms", ndim=1)
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    shown, texts = values[order], [str(names[k]) if names is not None else str(k) for k in order]
    if len(values) > most:
        shown = np.append(shown, np.float32(values.sum() - shown.sum()))
        texts.append(f"{len(values) - most:,} others")
    figure = _bars(shown, texts, height_of="term", title=f"{axis}, largest first")
    figure.update_layout(uirevision=f"{len(values)}")
    if chosen is not None and chosen in order.tolist():
        _outline(figure, order.tolist().index(chosen))
    return figure


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
        raise ValueError("series: give at least one, all with one number a token.")
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


def named_bars(values: object, names: Sequence[str], *, axis: str, chosen: int | None = None) -> go.Figure:
    """A signed bar for each name, such as the shares of heads."""
    numbers = as_array(values, name="values", ndim=1)
    figure = _bars(numbers, check_labels(names, len(numbers), "names"), height_of=axis, title="")
    if chosen is not None:
        _outline(figure, chosen)
    return figure


def _bars(values: np.ndarray, names: Sequence[str], *, height_of: str, title: str) -> go.Figure:
    """A bar for each name in the colour of its sign."""
    places = np.arange(len(values), dtype=np.int32)
    texts = [shown_label(name) for name in names]
    below, above = colour.SIGNED["residual"]
    shades = [below if value < 0 else above for value in values]
    drawn = bars(places, values, None, shades, "%{customdata}: %{y:.4f}", customdata=np.array(texts, dtype=object))
    across = plain_axis(title) | {
        "range": [-0.6, len(values) - 0.4],
        "tickvals": places,
        "ticktext": texts,
        "tickangle": 0 if len(values) <= 14 else -90,
        "showgrid": False,
    }
    look = {"margin": margin(12), "showlegend": False, "hovermode": "closest"}
    drawn.width = 0.8
    return go.Figure(drawn, neutral_layout(xaxis=across, yaxis=plain_axis(height_of), **look))


def _outline(figure: go.Figure, place: int) -> None:
    figure.add_vrect(x0=place - 0.48, x1=place + 0.48, line={"color": colour.EMPHASIS, "width": 1.5})
