"""LayerNorms at work. Shapes: N norms in the order in which they act, T tokens, D channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    band,
    channel_axis,
    check_labels,
    colour_bar,
    neutral_layout,
    pill,
    plain_axis,
    token_axis,
)
from encoder.figures.vectors import signed_bars, symmetric_limit

#: Channels farther than this many standard deviations from the mean of all are named as outliers.
OUTLIER = 4.0


def norm_label(name: str) -> str:
    """The name of a norm in a trace as an axis shows it: "layers.3.ffn_norm" -> "L3 FFN"."""
    parts = name.split(".")
    owner = {"attention_norm": "attention", "ffn_norm": "FFN", "embedding_norm": "embedding", "final_norm": "final"}
    last = owner.get(parts[-1], parts[-1])
    return f"L{parts[1]} {last}" if parts[0] == "layers" and len(parts) == 3 else last


def norm_statistics(
    mean: object,
    std: object,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    colours: str = "viridis",
    limits: tuple[float, float] | None = None,
    selected: tuple[int | None, int | None] | None = None,
) -> go.Figure:
    """Mean and standard deviation of every token's vector at every norm: two maps side by side, norms downwards.

    Args:
        mean, std: [N, T] each, before or after the norms.
        names: of the norms, as in a trace.
        labels: one a token.
        colours: the theme of the map of standard deviations, which start at 0; the means are coloured around 0.
        limits: the largest absolute mean and the largest std on the colour scales; those of the arrays by default.
        selected: (norm, token), either may be None: row and column are framed in both maps.

    Raises:
        ValueError: shapes or labels that do not fit.
    """
    means, stds = as_array(mean, name="mean", ndim=2), as_array(std, name="std", ndim=2)
    if means.shape != stds.shape or len(names) != len(means):
        raise ValueError(
            f"mean is {list(means.shape)}, std is {list(stds.shape)}, for {len(names)} norms: all need one row a norm."
        )
    n_norms, n_tokens = means.shape
    labels = check_labels(labels, n_tokens, "labels")
    shown = [norm_label(name) for name in names]
    limits = limits or (symmetric_limit(means), symmetric_limit(stds))
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(neutral_layout(margin={"l": 8, "r": 8, "t": 60, "b": 8}, uirevision=f"{n_norms}x{n_tokens}"))
    places = {"x": np.arange(n_tokens, dtype=np.int32), "y": np.arange(n_norms, dtype=np.int32)}
    maps = (
        ("mean", means, colour.diverging("residual"), (-limits[0], limits[0])),
        ("standard deviation", stds, colour.sequential(colours), (0, limits[1])),
    )
    for column, (what, values, scale, (low, high)) in enumerate(maps, start=1):
        figure.add_trace(
            go.Heatmap(
                z=values,
                zmin=low,
                zmax=high,
                colorscale=scale,
                colorbar=colour_bar(what, nticks=5, x=(0, 0.52)[column - 1], len=0.4, lenmode="fraction"),
                hovertemplate=f"%{{y}}, %{{x}}: {what} %{{z:.4g}}<extra></extra>",
                **places,
            ),
            row=1,
            col=column,
        )
        figure.update_xaxes(token_axis(labels, 0, n_tokens, title="token"), row=1, col=column)
        figure.update_yaxes(token_axis(shown, 0, n_norms, title="", downwards=True), row=1, col=column)
    figure.update_layout(yaxis2={"matches": "y", "showticklabels": False}, xaxis2={"matches": "x"})
    _mark(figure, shown, labels, selected or (None, None))
    return figure


def _mark(
    figure: go.Figure, names: Sequence[str], labels: Sequence[str], selected: tuple[int | None, int | None]
) -> None:
    norm, token = selected
    thin = len(labels) > 60
    for axes in (("x", "y"), ("x2", "y2")):
        if norm is not None:
            for shape in band(row=norm, colour=colour.EMPHASIS, axes=axes, thin=len(names) > 60):
                figure.add_shape(shape)
        if token is not None:
            for shape in band(column=token, colour=colour.EMPHASIS, axes=axes, thin=thin):
                figure.add_shape(shape)
            upright = figure.layout.xaxis.tickangle != 0
            mark = pill(labels[token], column=token, colour=colour.EMPHASIS_LABEL, upright=upright)
            figure.add_annotation(mark | {"xref": axes[0], "yref": f"{axes[1]} domain"})
    if norm is not None:
        figure.add_annotation(pill(names[norm], row=norm, colour=colour.EMPHASIS_LABEL))


def outliers(values: object, threshold: float = OUTLIER) -> np.ndarray:
    """values [D] -> the channels farther than `threshold` standard deviations from their mean, the farthest first."""
    array = as_array(values, name="values", ndim=1).astype(np.float64)
    spread = array.std()
    if spread == 0:
        return np.array([], dtype=np.int64)
    distance = np.abs(array - array.mean()) / spread
    order = np.argsort(-distance, kind="stable")
    return order[distance[order] > threshold]


def gain_bias(gain: object, bias: object | None, *, selected: int | None = None) -> go.Figure:
    """Gain [D] and bias [D] (or None) of a norm, a bar a channel; the channels that stand out are named.

    Gains are drawn from 1, which changes nothing, and biases from 0.
    """
    rows = [("gain", as_array(gain, name="gain", ndim=1), 1.0)]
    if bias is not None:
        rows.append(("bias", as_array(bias, name="bias", ndim=1), 0.0))
        if len(rows[1][1]) != len(rows[0][1]):
            raise ValueError(f"gain has {len(rows[0][1])} channels and bias {len(rows[1][1])}: they need as many.")
    return _channel_rows(rows, selected)


def norm_steps(x: object, normalised: object, output: object, *, selected: int | None = None) -> go.Figure:
    """One token through a norm, a bar a channel: its vector [D], normalised [D], and after gain and bias [D]."""
    names = ("before: x", "normalised: (x − mean) / √(var + ε)", "after: × gain + bias")
    rows = [
        (name, as_array(row, name=name, ndim=1), 0.0) for name, row in zip(names, (x, normalised, output), strict=True)
    ]
    if len({len(row) for _, row, _ in rows}) != 1:
        raise ValueError(f"The three vectors have {[len(row) for _, row, _ in rows]} channels: they need as many.")
    return _channel_rows(rows, selected)


def _channel_rows(rows: list[tuple[str, np.ndarray, float]], selected: int | None) -> go.Figure:
    """Bars by channel, one row of the figure for each (name, values, value that the bars start from)."""
    n_channels = len(rows[0][1])
    figure = make_subplots(
        rows=len(rows),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.28 / len(rows),
        subplot_titles=[row[0] for row in rows],
    )
    figure.update_layout(
        neutral_layout(margin={"l": 8, "r": 8, "t": 30, "b": 8}, bargap=0, barmode="overlay", showlegend=False)
    )
    figure.update_annotations(x=0, xanchor="left", xref="paper", font={"size": 13})
    for number, (_, values, base) in enumerate(rows, start=1):
        bars = signed_bars(
            values,
            "residual",
            customdata=values,
            hovertemplate="channel %{x}: %{customdata:.4g}<extra></extra>",
            base=base,
        )
        figure.add_traces(bars, rows=number, cols=1)
        across = channel_axis(n_channels, title="channel" if number == len(rows) else "")
        figure.update_xaxes(across | {"showticklabels": number == len(rows)}, row=number, col=1)
        figure.update_yaxes(plain_axis(""), row=number, col=1)
        _name_outliers(figure, values, number)
        if selected is not None:
            figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5}, row=number, col=1)
    figure.update_layout(uirevision=f"{n_channels}")
    return figure


def _name_outliers(figure: go.Figure, values: np.ndarray, row: int, most: int = 4) -> None:
    for channel in outliers(values)[:most]:
        above = values[channel] > values.mean()
        figure.add_annotation(
            text=str(int(channel)),
            x=int(channel),
            y=float(values[channel]),
            showarrow=False,
            xanchor="left",
            xshift=3,
            yanchor="top" if above else "bottom",
            font={"size": 11},
            row=row,
            col=1,
        )


def token_steps(
    x: object, normalised: object, gain: object, bias: object | None, output: object, mean: float
) -> pd.DataFrame:
    """One token through a norm as a table, a row a channel: x, x - mean, normalised, gain, bias, output. [D] each."""
    before = as_array(x, name="x", ndim=1)
    shift = np.zeros_like(before) if bias is None else as_array(bias, name="bias", ndim=1)
    return pd.DataFrame(
        {
            "channel": np.arange(len(before)),
            "x": before,
            "x - mean": before - np.float32(mean),
            "normalised": as_array(normalised, name="normalised", ndim=1),
            "gain": as_array(gain, name="gain", ndim=1),
            "bias": shift,
            "output": as_array(output, name="output", ndim=1),
        }
    )
