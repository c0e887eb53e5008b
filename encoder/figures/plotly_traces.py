"""Traces that many figures share: heatmaps whose cells count from 0, and curves with a marker at each point."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures.axes import colour_bar, ends_below, plain_axis
from encoder.figures.colours import STEP, diverging, diverging_root, is_beyond, sequential, stepped, stepped_around

#: A legend in one line above the plot.
LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}


def heatmap(
    values: np.ndarray,
    limits: tuple[float, float],
    scale: tuple[tuple[float, str], ...],
    bar: dict[str, Any],
    hover: str,
    *,
    first: tuple[int, int] = (0, 0),
    **more: Any,
) -> go.Heatmap:
    """values [R, C] as cells. limits: the values of the two ends of the colour scale; first: row and column number of
    the first cell."""
    return go.Heatmap(
        z=values,
        x=first[1] + np.arange(values.shape[1], dtype=np.int32),
        y=first[0] + np.arange(values.shape[0], dtype=np.int32),
        zmin=limits[0],
        zmax=limits[1],
        colorscale=scale,
        colorbar=bar,
        hovertemplate=f"{hover}<extra></extra>",
        **more,
    )


def signed_heatmap(
    values: np.ndarray,
    kind: str,
    limit: float,
    hover: str,
    title: str = "value",
    first: tuple[int, int] = (0, 0),
    *,
    root: bool = False,
) -> go.Heatmap:
    """values [R, C] coloured around 0. kind: of `colours.diverging`; limit: the value of the full colour, and numbers
    beyond it have a colour of their own; root: whether the colour follows the square root."""
    scale, bar = diverging_root(kind) if root else diverging(kind), colour_bar(title, nticks=5)
    if is_beyond(values, limit):
        scale, bar = stepped_around(scale), colour_bar(title, **ends_below(limit, around=True))
        limit *= STEP
    return heatmap(values, (-limit, limit), scale, bar, hover, first=first)


def heatmap_from_0(
    values: np.ndarray, theme: str, limit: float, hover: str, title: str, first: tuple[int, int] = (0, 0)
) -> go.Heatmap:
    """values [R, C], none below 0. theme: of `colours.sequential`; limit: as in `signed_heatmap`."""
    if not is_beyond(values, limit):
        return heatmap(values, (0.0, limit), sequential(theme), colour_bar(title, nticks=5), hover, first=first)
    bar = colour_bar(title, **ends_below(limit))
    return heatmap(values, (0.0, limit * STEP), stepped(theme), bar, hover, first=first)


def one_sided(cells: go.Heatmap) -> go.Heatmap:
    """Cells around 0, whose colour bar ends at 0 where no value is on its other side. Each value keeps its colour."""
    below, above = (cells.z < 0).any(), (cells.z > 0).any()
    if below == above:
        return cells
    half = [stop for stop in cells.colorscale if (stop[0] >= 0.5 if above else stop[0] <= 0.5)]
    scale = [(float(2 * place - above), shade) for place, shade in half]
    return cells.update(colorscale=scale, zmin=0 if above else cells.zmin, zmax=0 if below else cells.zmax)


def curve(
    x: object,
    y: object,
    name: str,
    shade: str,
    hover: str,
    *,
    symbol: str = "circle",
    size: int = 7,
    width: float = 2,
    dash: str = "solid",
    mode: str = "lines+markers",
    **more: Any,
) -> go.Scatter:
    """A line with a marker at each point."""
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode=mode,
        marker={"symbol": symbol, "size": size, "color": shade},
        line={"color": shade, "width": width, "dash": dash},
        hovertemplate=f"{hover}<extra></extra>",
        **more,
    )


def bars(x: object, y: object, name: str | None, shade: str | list[str], hover: str, **more: Any) -> go.Bar:
    """Bars without an outline. shade: the colour of all bars, or of each."""
    marker = {"color": shade, "line": {"width": 0}}
    return go.Bar(x=x, y=y, name=name, marker=marker, hovertemplate=f"{hover}<extra></extra>", **more)


def log_axis(title: str, log: bool) -> dict[str, Any]:
    """An axis of numbers, logarithmic where `log`."""
    return plain_axis(title) | {"type": "log" if log else "linear"}
