"""Gradients at initialisation over depth and layer, and the squared norm of the residual stream, pre- and post-norm."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import neutral_layout, plain_axis
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES, SYMBOLS, placement_curve
from encoder.figures.plotly_traces import LEGEND


def last_layer_gradients(frame: pd.DataFrame, theory: Mapping[str, tuple[Sequence[int], Sequence[float]]]) -> go.Figure:
    """Gradient norm of the last layer over depth, both logarithmic: a point a seed, a line through their means.

    frame: one row a layer with placement, depth, seed, layer, gradient_norm; the last layer's rows are drawn. theory:
    placement -> (depths, values) of Theorem 1's upper bound, scaled to a measured point and drawn as dotted lines;
    empty where the theorem does not apply.
    """
    last = frame[frame.layer == frame.depth - 1]
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for placement, rows in last.groupby("placement", sort=False):
        name, shade = PLACEMENT_NAMES[str(placement)], PLACEMENT_COLOURS[str(placement)]
        means = rows.groupby("depth").gradient_norm.mean()
        figure.add_scatter(
            x=rows.depth.to_numpy(),
            y=rows.gradient_norm.to_numpy(),
            mode="markers",
            showlegend=False,
            marker={"color": colour.faded(shade, 0.45), "symbol": SYMBOLS[str(placement)], "size": 6},
            customdata=rows.seed.to_numpy(),
            hovertemplate=f"{name}, %{{x}} layers, seed %{{customdata}}: %{{y:.3g}}<extra></extra>",
        )
        hover = f"{name}, %{{x}} layers, mean"
        figure.add_trace(placement_curve(means.index.to_numpy(), means.to_numpy(), str(placement), hover, size=9))
    for placement, (depths, values) in theory.items():
        figure.add_scatter(
            x=list(depths),
            y=list(values),
            name=f"Theorem 1 bound, {PLACEMENT_NAMES[placement]}",
            mode="lines",
            line={"color": PLACEMENT_COLOURS[placement], "width": 1.5, "dash": "dot"},
            hoverinfo="skip",
        )
    depths = sorted(set(frame.depth))
    figure.update_xaxes(plain_axis("layers L"), type="log", tickvals=depths, ticktext=[str(d) for d in depths])
    figure.update_yaxes(plain_axis("gradient norm, last layer"), **_log_axis(last.gradient_norm))
    return figure


def layer_gradients(frame: pd.DataFrame) -> go.Figure:
    """Gradient norm of every layer of encoders of one depth, means over the seeds, on a logarithmic axis."""
    figure = _by_layer(frame, "gradient_norm", "gradient norm of W_out")
    figure.update_yaxes(**_log_axis(frame.gradient_norm))
    return figure


def _log_axis(values: pd.Series) -> dict[str, object]:
    """A logarithmic axis of at least one power of ten, so that a flat line looks flat. Ticks at 1, 2 and 5."""
    low, high = (float(np.log10(end)) for end in (values.min(), values.max()))
    margin = max(0.08 * (high - low), (1.0 - (high - low)) / 2)
    low, high = low - margin, high + margin
    steps = (1, 2, 5) if high - low < 2.5 else (1,)
    ticks = [step * 10.0**power for power in range(int(low) - 2, int(high) + 2) for step in steps]
    ticks = [tick for tick in ticks if low <= np.log10(tick) <= high]
    return {"type": "log", "range": [low, high], "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _by_layer(frame: pd.DataFrame, what: str, title: str) -> go.Figure:
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for placement, rows in frame.groupby("placement", sort=False):
        means = rows.groupby("layer")[what].mean()
        hover = f"{PLACEMENT_NAMES[str(placement)]}, L%{{x}}"
        figure.add_trace(placement_curve(means.index.to_numpy(), means.to_numpy(), str(placement), hover))
    figure.update_xaxes(plain_axis("layer"), dtick=max(1, -(-int(frame.layer.max() + 1) // 12)), showgrid=False)
    figure.update_yaxes(plain_axis(title))
    return figure
