"""Curves of pre-norm and post-norm, each in its own colour.

Shapes: L layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, neutral_layout, plain_axis
from encoder.figures.plotly_traces import LEGEND, curve, log_axis

#: The two ends of the signed colour scale: in a difference map teal means more in pre-norm, orange in post-norm.
PLACEMENT_COLOURS = {"pre": colour.SIGNED["signed"][1], "post": colour.SIGNED["signed"][0]}
PLACEMENT_NAMES = {"pre": "pre-norm", "post": "post-norm"}
SYMBOLS = {"pre": "circle", "post": "square"}
#: The same shapes in a text.
SIGNS = {"pre": "●", "post": "■"}
DASHES = ("solid", "dash", "dot", "dashdot")


def placement_curve(x: object, y: object, placement: str, hover: str, name: str = "", **look: Any) -> go.Scatter:
    """A curve in the colour and with the symbol of a placement. hover: the label before the number."""
    shade, symbol = PLACEMENT_COLOURS[placement], SYMBOLS[placement]
    label = f"{hover}: %{{y:.3g}}"
    return curve(x, y, name or PLACEMENT_NAMES[placement], shade, label, symbol=symbol, **look)


def layer_curves(
    curves: Mapping[str, Mapping[str, object]],
    title: str,
    *,
    ticks: Sequence[str] | None = None,
    low: float | None = None,
    across: str = "layer",
) -> go.Figure:
    """A number a layer, a line for each placement (by colour) and each kind (by dash).

    curves: placement -> kind -> values [L]. A single kind may be called "". title: of the vertical axis, with its unit.
    ticks: names of the places on the horizontal axis; by default 0, 1, 2, ...
    low: the vertical axis begins here, or lower. across: title of the horizontal axis.
    """
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    n_places, floor = 0, low
    for placement, kinds in curves.items():
        for number, (kind, values) in enumerate(kinds.items()):
            array = as_array(values, name=f"{placement} {kind}".strip(), ndim=1)
            n_places = max(n_places, len(array))
            floor = None if floor is None else min(floor, float(np.nanmin(array)))
            name = " · ".join(part for part in (PLACEMENT_NAMES[placement], kind) if part)
            x, look = np.arange(len(array), dtype=np.int32), {"dash": DASHES[number % len(DASHES)]}
            # Not clipped: the highest point lies on the plot's upper edge.
            figure.add_trace(placement_curve(x, array, placement, f"{name}, %{{x}}", name, cliponaxis=False, **look))
    names = list(ticks) if ticks is not None else [str(place) for place in range(n_places)]
    figure.update_xaxes(_named_axis(across, names, n_places), range=[-0.3, n_places - 0.7])
    figure.update_yaxes(plain_axis(title))
    if floor is not None:
        figure.update_yaxes(range=[floor, None], autorangeoptions={"include": floor})
    return figure


def intervals(found: Mapping[str, Mapping[str, Any]], title: str) -> go.Figure:
    """series -> name -> a value with `mean` and `half`: a point with its interval above each name, 0 to 1."""
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for number, (series, values) in enumerate(found.items()):
        figure.add_scatter(
            x=list(values),
            y=[one.mean for one in values.values()],
            name=series,
            mode="markers",
            offsetgroup=series,
            marker={"size": 9, "color": colour.SERIES[number], "symbol": list(SYMBOLS.values())[number % 2]},
            error_y={"type": "data", "array": [one.half for one in values.values()], "thickness": 1.5, "width": 4},
            hovertemplate=f"{series}, %{{x}}: %{{y:.1%}} ± %{{error_y.array:.1%}}<extra></extra>",
        )
    # Side by side: two equal values do not hide each other.
    figure.update_layout(scattermode="group", scattergap=0.8)
    figure.update_layout(yaxis=plain_axis(title) | {"range": [0, 1.05], "tickformat": ".0%"})
    return figure


def _named_axis(title: str, names: Sequence[str], count: int) -> dict[str, Any]:
    """An axis of `count` named places with at most 16 names on it."""
    every = -(-len(names) // 16)
    ticks = {"tickvals": list(range(0, count, every)), "ticktext": names[:count:every]}
    return plain_axis(title) | ticks | {"showgrid": False, "zeroline": False}


def recorded_curves(
    runs: Mapping[str, tuple[str, str, object, object]], title: str, *, log: bool = False, across: str = "step"
) -> go.Figure:
    """Training curves over the steps, coloured by placement, with a dash for each kind of run.

    runs: name -> (placement, dash, steps [n], values [n]); values may have gaps (NaN), which lines bridge.
    """
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for name, (placement, dash, steps, values) in runs.items():
        x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
        there = np.isfinite(y)
        look = {"dash": dash, "width": 1.75, "size": 5, "mode": "lines+markers" if there.sum() <= 40 else "lines"}
        figure.add_trace(placement_curve(x[there], y[there], placement, f"{name}, {across} %{{x:,}}", name, **look))
    figure.update_xaxes(plain_axis(across), rangemode="tozero", tickformat=",d")
    figure.update_yaxes(log_axis(title, log))
    return figure
