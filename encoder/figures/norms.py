"""LayerNorms at work. Shapes: N norms in the order in which they act, T tokens, D components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    band,
    check_labels,
    colour_bar,
    component_axis,
    logarithmic_bar,
    neutral_layout,
    pill,
    plain_axis,
    token_axis,
)
from encoder.figures.vectors import signed_bars, symmetric_limit

#: Components farther than this many standard deviations from the mean of all are named as outliers.
OUTLIER = 4.0
#: On a logarithmic scale, powers of ten that the colours span.
LOG_DECADES = 3


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
    log: bool = False,
    limits: tuple[float, float] | None = None,
    selected: tuple[int | None, int | None] | None = None,
    first: int = 0,
) -> go.Figure:
    """Mean and standard deviation of every token's vector at every norm: two maps side by side, norms downwards.

    Args:
        mean, std: [N, T] each, before or after the norms.
        names: of the norms, as in a trace.
        labels: one a token of the whole text.
        colours: the theme of the map of standard deviations, which start at 0; the means are coloured around 0.
        log: the standard deviations are coloured by their logarithm, over three powers of ten.
        limits: the largest absolute mean and the largest std on the colour scales; those of the arrays by default.
        selected: (norm, token), either may be None: row and column are framed in both maps.
        first: the token of the first column, when a part of a longer text is drawn.

    Raises:
        ValueError: shapes or labels that do not fit.
    """
    means, stds = as_array(mean, name="mean", ndim=2), as_array(std, name="std", ndim=2)
    if means.shape != stds.shape or len(names) != len(means):
        raise ValueError(
            f"mean is {list(means.shape)}, std is {list(stds.shape)}, for {len(names)} norms: all need one row a norm."
        )
    n_norms, n_tokens = means.shape
    labels = check_labels(labels, first + n_tokens, "labels")
    shown = [norm_label(name) for name in names]
    limits = limits or (symmetric_limit(means), symmetric_limit(stds))
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(
        neutral_layout(margin={"l": 8, "r": 8, "t": 60, "b": 8}, uirevision=f"{n_norms}x{n_tokens}+{first}")
    )
    places = {"x": first + np.arange(n_tokens, dtype=np.int32), "y": np.arange(n_norms, dtype=np.int32)}
    figure.add_trace(_mean_map(means, limits[0], places), row=1, col=1)
    figure.add_traces(_std_maps(stds, limits[1], places, colours, log), rows=1, cols=2)
    for column in (1, 2):
        figure.update_xaxes(token_axis(labels, first, n_tokens, title="token"), row=1, col=column)
        figure.update_yaxes(token_axis(shown, 0, n_norms, title="", downwards=True), row=1, col=column)
    figure.update_layout(yaxis2={"matches": "y", "showticklabels": False}, xaxis2={"matches": "x"})
    norm, token = selected or (None, None)
    _mark(figure, shown, labels, norm, token if token in range(first, first + n_tokens) else None)
    return figure


def _mean_map(means: np.ndarray, limit: float, places: dict[str, np.ndarray]) -> go.Heatmap:
    return go.Heatmap(
        z=means,
        zmin=-limit,
        zmax=limit,
        colorscale=colour.diverging("residual"),
        colorbar=colour_bar("mean", nticks=5, x=0, len=0.4, lenmode="fraction"),
        hovertemplate="%{y}, %{x}: mean %{z:.4g}<extra></extra>",
        **places,
    )


def _std_maps(
    stds: np.ndarray, limit: float, places: dict[str, np.ndarray], theme: str, log: bool
) -> list[go.Heatmap | go.Scatter]:
    where = {"x": 0.52, "len": 0.4, "lenmode": "fraction"}
    heatmap = go.Heatmap(
        z=stds,
        zmin=0,
        zmax=limit,
        colorscale=colour.logarithmic(theme, 10.0**-LOG_DECADES) if log else colour.sequential(theme),
        showscale=not log,
        colorbar=colour_bar("standard deviation", nticks=5, **where),
        hovertemplate="%{y}, %{x}: standard deviation %{z:.4g}<extra></extra>",
        **places,
    )
    bar = logarithmic_bar("standard deviation", limit, theme, LOG_DECADES, **where)
    return [heatmap, bar] if log else [heatmap]


def _mark(figure: go.Figure, names: Sequence[str], labels: Sequence[str], norm: int | None, token: int | None) -> None:
    """Frame the row of a norm and the column of a token in both maps."""
    thin = len(figure.data[0].x) > 60
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


def token_statistics(
    statistics: Mapping[str, tuple[object, object]], labels: Sequence[str], *, selected: int | None = None
) -> go.Figure:
    """Mean and standard deviation of each token's vector under several norms, one curve a norm, means above.

    statistics: what is drawn -> (mean [T], std [T]); labels: one a token; selected: the token that is marked.
    Raises ValueError for shapes or labels that do not fit, and where there is nothing to draw.
    """
    if not statistics:
        raise ValueError("statistics is empty: give at least one norm.")
    drawn = {name: [as_array(values, name=name, ndim=1) for values in pair] for name, pair in statistics.items()}
    lengths = {len(values) for pair in drawn.values() for values in pair}
    if len(lengths) != 1:
        raise ValueError(f"The curves have {sorted(lengths)} tokens: they need as many.")
    (n_tokens,) = lengths
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    figure.update_layout(neutral_layout(margin={"l": 8, "r": 8, "t": 40, "b": 8}, uirevision=f"{n_tokens}"))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"})
    across = token_axis(check_labels(labels, n_tokens, "labels"), 0, n_tokens, title="token")
    symbols = ("circle", "square", "diamond", "cross", "x", "star")
    for row, what in enumerate(("mean", "standard deviation"), start=1):
        for number, (name, pair) in enumerate(drawn.items()):
            figure.add_scatter(
                x=np.arange(n_tokens, dtype=np.int32),
                y=pair[row - 1],
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                mode="lines+markers" if n_tokens <= 64 else "lines",
                marker={"symbol": symbols[number % len(symbols)], "size": 7},
                line={"color": colour.SERIES[number % len(colour.SERIES)], "width": 1.5},
                hovertemplate=f"{name}, %{{x}}: {what} %{{y:.4g}}<extra></extra>",
                row=row,
                col=1,
            )
        figure.update_yaxes(plain_axis(what), row=row, col=1)
        figure.update_xaxes(
            across | {"showticklabels": row == 2, "title": {"text": "token" if row == 2 else ""}}, row=row
        )
        if selected is not None and 0 <= selected < n_tokens:
            figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5}, row=row, col=1)
    return figure


def outliers(values: object, threshold: float = OUTLIER) -> np.ndarray:
    """values [D] -> the components farther than `threshold` standard deviations from their mean, the farthest first."""
    array = as_array(values, name="values", ndim=1).astype(np.float64)
    spread = array.std()
    if spread == 0:
        return np.array([], dtype=np.int64)
    distance = np.abs(array - array.mean()) / spread
    order = np.argsort(-distance, kind="stable")
    return order[distance[order] > threshold]


def gain_bias(gain: object, bias: object | None, *, selected: int | None = None) -> go.Figure:
    """Gain [D] and bias [D] (or None) of a norm, a bar a component; the components that stand out are named.

    Gains are drawn from 1, which changes nothing, and biases from 0.
    """
    rows = [("gain", as_array(gain, name="gain", ndim=1), 1.0)]
    if bias is not None:
        rows.append(("bias", as_array(bias, name="bias", ndim=1), 0.0))
        if len(rows[1][1]) != len(rows[0][1]):
            raise ValueError(f"gain has {len(rows[0][1])} components and bias {len(rows[1][1])}: they need as many.")
    return _component_rows(rows, selected)


def norm_steps(x: object, normalised: object, output: object, *, selected: int | None = None) -> go.Figure:
    """One token through a norm, a bar a component: its vector [D], normalised [D], and after gain and bias [D]."""
    names = ("before: x", "normalised: (x − mean) / √(var + ε)", "after: × gain + bias")
    rows = [
        (name, as_array(row, name=name, ndim=1), 0.0) for name, row in zip(names, (x, normalised, output), strict=True)
    ]
    if len({len(row) for _, row, _ in rows}) != 1:
        raise ValueError(f"The three vectors have {[len(row) for _, row, _ in rows]} components: they need as many.")
    return _component_rows(rows, selected)


def _component_rows(rows: list[tuple[str, np.ndarray, float]], selected: int | None) -> go.Figure:
    """Bars by component, one row of the figure for each (name, values, value that the bars start from)."""
    n_components = len(rows[0][1])
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
            hovertemplate="component %{x}: %{customdata:.4g}<extra></extra>",
            base=base,
        )
        figure.add_traces(bars, rows=number, cols=1)
        across = component_axis(n_components, title="component" if number == len(rows) else "")
        figure.update_xaxes(across | {"showticklabels": number == len(rows)}, row=number, col=1)
        figure.update_yaxes(plain_axis(""), row=number, col=1)
        _name_outliers(figure, values, number)
        if selected is not None:
            figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5}, row=number, col=1)
    figure.update_layout(uirevision=f"{n_components}")
    return figure


def _name_outliers(figure: go.Figure, values: np.ndarray, row: int, most: int = 4) -> None:
    for component in outliers(values)[:most]:
        above = values[component] > values.mean()
        figure.add_annotation(
            text=str(int(component)),
            x=int(component),
            y=float(values[component]),
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
    """One token through a norm as a table, a row a component: x, x - mean, normalised, gain, bias, output. [D] each."""
    before = as_array(x, name="x", ndim=1)
    shift = np.zeros_like(before) if bias is None else as_array(bias, name="bias", ndim=1)
    return pd.DataFrame(
        {
            "component": np.arange(len(before)),
            "x": before,
            "x - mean": before - np.float32(mean),
            "normalised": as_array(normalised, name="normalised", ndim=1),
            "gain": as_array(gain, name="gain", ndim=1),
            "bias": shift,
            "output": as_array(output, name="output", ndim=1),
        }
    )
