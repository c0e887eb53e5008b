"""Heads over a corpus. Shapes: L layers downwards, H heads to the right, B bars."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, colour_bar, margin, neutral_layout, plain_axis
from encoder.figures.colours import sequential
from encoder.figures.layers import layer_map
from encoder.figures.plotly_traces import heatmap

#: Heads in a row up to which each cell has its number.
MOST_NUMBERED = 16


@dataclass(frozen=True)
class Means:
    """One atlas: means and the ends of their intervals, [L, H] each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def corpus_map(
    means: Means,
    title: str,
    *,
    end: float,
    digits: int = 2,
    selected: tuple[int, int] | None = None,
    colours: str = "blue",
) -> go.Figure:
    """The mean of each head with its number; a hover label has the interval. NaN stays empty.

    title: of the colour bar; end: the value of the last colour; digits: of the numbers; selected: a head with a frame.
    """
    values = as_array(means.mean, name="means", ndim=2)
    cells = heatmap(
        values,
        (0.0, end),
        sequential(colours),
        colour_bar(title, nticks=5),
        "L%{y} H%{x}: %{z:.3f}<br>95% interval %{customdata[0]:.3f} to %{customdata[1]:.3f}",
        customdata=np.stack([means.low, means.high], -1).astype(np.float32),
    )
    if values.shape[1] <= MOST_NUMBERED:
        cells.update(texttemplate=f"%{{z:.{digits}f}}", textfont={"size": 10})
    return layer_map(cells, None, selected)


def text_counts(
    lower: Sequence[float], upper: Sequence[float], count: Sequence[int], name: str, *, mean: float, here: float | None
) -> go.Figure:
    """The histogram of a measure over texts. lower, upper, count [B]; mean: a dotted line; here: a solid one, or
    None."""
    left, right = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    figure = go.Figure(layout=neutral_layout(margin=margin(30), bargap=0, showlegend=False))
    figure.add_bar(
        x=(left + right) / 2,
        width=right - left,
        y=np.asarray(count),
        marker={"color": colour.NEUTRAL},
        customdata=np.stack([left, right], -1),
        hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y} texts<extra></extra>",
    )
    lines = [(mean, "dot", f"mean {mean:.2f}", "top left" if here is not None and here > mean else "top right")]
    if here is not None and np.isfinite(here):
        lines.append((here, "solid", f"here {here:.2f}", "top right" if here > mean else "top left"))
    for at, dash, said, side in lines:
        figure.add_vline(
            at,
            line={"color": colour.EMPHASIS, "width": 2, "dash": dash},
            annotation_text=said,
            annotation_position=side,
        )
    room = 1.25 * float(np.max(np.asarray(count), initial=1))  # above the bars, for the names of the lines
    figure.update_layout(xaxis=plain_axis(name), yaxis=plain_axis("texts") | {"range": [0, room]})
    return figure


def offset_shares(offsets: Sequence[int], shares: Sequence[float], reach: int = 8) -> go.Figure:
    """The share of all attention at each offset j − i from −reach to reach; the rest is one bar on each side."""
    at, share = np.asarray(offsets), np.asarray(shares, dtype=np.float64)
    inside = np.abs(at) <= reach
    names = [f"< −{reach}", *(f"{offset:+d}".replace("+0", "0").replace("-", "−") for offset in at[inside])]
    names.append(f"> +{reach}")
    values = [share[at < -reach].sum(), *share[inside], share[at > reach].sum()]
    near = [colour.EMPHASIS if name in ("−1", "0", "+1") else colour.NEUTRAL for name in names]
    figure = go.Figure(layout=neutral_layout(margin=margin(30), showlegend=False))
    figure.add_bar(
        x=names, y=np.array(values), marker={"color": near}, hovertemplate="offset %{x}: %{y:.3f}<extra></extra>"
    )
    axis = plain_axis("offset: key − query") | {"type": "category"}
    figure.update_layout(xaxis=axis, yaxis=plain_axis("share of attention") | {"rangemode": "tozero"})
    return figure
