"""Cost over the length of a text."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import neutral_layout, plain_axis
from encoder.figures.plotly_traces import LEGEND, curve


def cost_curves(
    lengths: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    crossover: float,
    here: float,
) -> go.Figure:
    """FLOPs of one layer over the number of tokens, both axes logarithmic. crossover, here: lengths that are marked."""
    figure = go.Figure(layout=neutral_layout())
    x = np.asarray(lengths, dtype=float)
    for number, (name, values) in enumerate(curves.items()):
        y, shade = np.asarray(values, dtype=float), colour.SERIES[number]
        figure.add_trace(curve(x, y, name, shade, f"%{{x:,.0f}} tokens: {name} %{{y:.3g}}", mode="lines"))
    figure.update_layout(
        xaxis=plain_axis("tokens") | {"type": "log", "dtick": "D2"},
        yaxis=plain_axis("FLOPs of one layer") | {"type": "log", "exponentformat": "SI"},
        legend=LEGEND,
    )
    for place, word in ((crossover, "crossover"), (here, "this text")):
        figure.add_vline(x=place, line={"color": colour.EMPHASIS, "width": 1, "dash": "dot"})
        figure.add_annotation(
            x=float(np.log10(place)), y=1, yref="y domain", yanchor="top", xanchor="left",
            text=f"{word}: {place:,.0f}", showarrow=False, font={"size": 11}, xshift=3,
        )  # fmt: skip
    return figure
