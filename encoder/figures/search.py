"""Texts as points of a plane, and the effect of places in a text.

Near points have similar vectors, as far as two dimensions can show it.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import margin, neutral_layout, plain_axis, shown_label
from encoder.figures.plotly_traces import LEGEND, curve

#: From so many texts on, points are small and let others show through.
CROWD = 300


def text_plane(
    points: object,
    texts: Sequence[str],
    shares: Sequence[float],
    nearest: Sequence[int] = (),
    *,
    query: object = None,
    selected: int | None = None,
) -> go.Figure:
    """points [N, 2]; texts [N]; nearest: the texts that are found; query [2]: the query's point; selected: a text with
    a ring.

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
    rings: list[tuple[str, object, str, str]] = []
    if query is not None:
        rings.append(("the query", query, "star", colour.QUERY))
    if selected is not None:
        rings.append(("selected text", at[selected], "circle-open", colour.EMPHASIS))
    for name, point, symbol, shade in rings:
        x, y = np.asarray(point, dtype=np.float32)
        figure.add_scatter(
            x=[x],
            y=[y],
            name=name,
            mode="markers",
            marker={"size": 16, "symbol": symbol, "color": shade, "line": {"width": 2}},
            hovertemplate=f"{name}<extra></extra>",
        )
    names = f"first component, {shares[0]:.0%} of the variance", f"second component, {shares[1]:.0%}"
    figure.update_layout(xaxis=plain_axis(names[0]), yaxis=plain_axis(names[1]))
    return figure


def place_curve(places: object, effect: object, low: object, high: object) -> go.Figure:
    """The mean effect of leaving out a passage over its place in the text, 0 to 1, with its interval: arrays [B]."""
    at, mean, least, most = (np.asarray(one, dtype=np.float64) for one in (places, effect, low, high))
    figure = go.Figure(layout=neutral_layout(margin=margin(30), showlegend=False))
    hover = "place %{x:.0%}: %{y:.4f}"
    figure.add_trace(
        curve(
            at,
            mean,
            "effect",
            colour.QUERY,
            hover,
            error_y={"type": "data", "array": most - mean, "arrayminus": mean - least, "color": colour.NEUTRAL},
        )
    )
    figure.update_layout(
        xaxis=plain_axis("place in the text") | {"range": [0, 1], "tickformat": ".0%"},
        yaxis=plain_axis("1 − cosine without it") | {"rangemode": "tozero"},
    )
    return figure
