"""Probes as curves: accuracy over the layers, with intervals and the control task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import margin, neutral_layout, plain_axis
from encoder.figures.marks import ring
from encoder.figures.plotly_traces import LEGEND, curve


@dataclass(frozen=True, eq=False)
class ProbeCurve:
    """name: of the curve; accuracy, low, high, control: [L + 1] each."""

    name: str
    accuracy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    control: np.ndarray


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")


def layer_names(n_layers: int) -> list[str]:
    """The names of the places that probes read: the input of each layer, then the output."""
    return [f"input of L{layer}" for layer in range(n_layers)] + ["output"]


def probe_curves(curves: Sequence[ProbeCurve], majority: float, selected: tuple[int, int] | None = None) -> go.Figure:
    """Accuracy over the layers; bars: the 95% interval; dotted: the control task; dashed: always the largest class.

    selected: (curve, layer), which is circled, and whose control task is the only one drawn: six curves cross too
    often. Curves of models with other depths share the axis of the deepest.
    """
    n_layers = max(len(one.accuracy) for one in curves) - 1
    figure = go.Figure(layout=neutral_layout(margin=margin(64, right=12)))
    for place, one in enumerate(curves):
        shade = colour.SERIES[place % len(colour.SERIES)]
        x = np.arange(len(one.accuracy), dtype=np.int32)
        drawn = curve(
            x,
            one.accuracy,
            one.name,
            shade,
            f"{one.name}, %{{text}}: %{{y:.1%}}",
            symbol=SYMBOLS[place % len(SYMBOLS)],
            size=9,
        )
        drawn.text = layer_names(len(x) - 1)
        drawn.error_y = {
            "type": "data",
            "symmetric": False,
            "array": one.high - one.accuracy,
            "arrayminus": one.accuracy - one.low,
            "thickness": 1,
            "width": 3,
        }
        figure.add_trace(drawn)
    for place, one in enumerate(curves):
        if selected is not None and place != selected[0]:
            continue
        shade = colour.SERIES[place % len(colour.SERIES)]
        hover = f"{one.name}, control task, %{{text}}: %{{y:.1%}}"
        drawn = curve(np.arange(len(one.control), dtype=np.int32), one.control, "", shade, hover, size=4, dash="dot")
        figure.add_trace(drawn.update(showlegend=False, text=layer_names(len(one.control) - 1)))
    look: dict[str, Any] = {"mode": "lines", "dash": "dot", "hoverinfo": "skip"}
    figure.add_trace(curve([None], [None], "control task", colour.NEUTRAL, "", **look))  # in the legend only
    figure.add_hline(
        y=majority,
        line={"color": colour.NEUTRAL, "dash": "dash", "width": 1},
        annotation={"text": "always the largest class", "font": {"size": 11}, "yanchor": "top"},
        annotation_position="bottom right",
    )
    if selected is not None:
        place, layer = selected
        figure.add_trace(ring((layer, curves[place].accuracy[layer])))
    names = [f"L{layer}" for layer in range(n_layers)] + ["out"]
    figure.update_layout(
        xaxis=plain_axis("input of each layer; a curve ends with its model’s output")
        | {"tickvals": list(range(n_layers + 1)), "ticktext": names, "tickangle": 0},
        yaxis=plain_axis("accuracy on held-out texts") | {"range": [0, 1.02], "tickformat": ".0%"},
        legend=LEGEND | {"y": 1.02, "traceorder": "normal"},
    )
    return figure
