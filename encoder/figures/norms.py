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


def norm_tick(name: str) -> str:
    """`norm_label`, short enough for the axis of a map on a telephone: "L3 attn"."""
    return norm_label(name).replace("attention", "attn")


def norm_means(
    mean: object,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    limit: float | None = None,
    zero_below: float = 0.0,
    selected: tuple[int | None, int | None] | None = None,
    first: int = 0,
) -> go.Figure:
    """The mean of every token's vector at every norm: a map, norms downwards, coloured around 0.

    Args:
        mean: [N, T], before or after the norms.
        names: of the norms, as in a trace.
        labels: one a token of the whole text.
        limit: the value of the full colour; the largest absolute mean by default.
        zero_below: where no mean is larger than this, all are 0 but for rounding. They are then drawn as 0, on a scale
            from -1 to 1, and the bar says so.
        selected: (norm, token), either may be None: row and column are framed.
        first: the token of the first column, when a part of a longer text is drawn.

    Raises:
        ValueError: shapes or labels that do not fit.
    """
    means = as_array(mean, name="mean", ndim=2)
    rounded = bool(np.abs(means).max() <= zero_below)
    limit = 1.0 if rounded else limit or symmetric_limit(means)
    heatmap = go.Heatmap(
        z=means,
        zmin=-limit,
        zmax=limit,
        colorscale=colour.diverging("residual"),
        colorbar=colour_bar("mean: 0 up to rounding" if rounded else "mean", nticks=5),
        hovertemplate="%{y}, %{x}: mean %{z:.4g}<extra></extra>",
    )
    return _norm_map([heatmap], names, labels, selected, first)


def norm_deviations(
    std: object,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    colours: str = "viridis",
    log: bool = False,
    limit: float | None = None,
    selected: tuple[int | None, int | None] | None = None,
    first: int = 0,
) -> go.Figure:
    """The standard deviation of every token's vector at every norm: a map, norms downwards, coloured from 0.

    std: [N, T]; log: coloured by the logarithm, over three powers of ten; the rest as in `norm_means`.
    """
    stds = as_array(std, name="std", ndim=2)
    limit = limit or symmetric_limit(stds)
    title = "standard deviation"
    heatmap = go.Heatmap(
        z=stds,
        zmin=0,
        zmax=limit,
        colorscale=colour.logarithmic(colours, 10.0**-LOG_DECADES) if log else colour.sequential(colours),
        showscale=not log,
        colorbar=colour_bar(title, nticks=5),
        hovertemplate="%{y}, %{x}: standard deviation %{z:.4g}<extra></extra>",
    )
    bar = [logarithmic_bar(title, limit, colours, LOG_DECADES)] if log else []
    return _norm_map([heatmap, *bar], names, labels, selected, first)


def _norm_map(
    traces: list[go.Heatmap | go.Scatter],
    names: Sequence[str],
    labels: Sequence[str],
    selected: tuple[int | None, int | None] | None,
    first: int,
) -> go.Figure:
    """A map norms x tokens, as its first trace has it, in its place among the tokens; row and column framed."""
    n_norms, n_tokens = traces[0].z.shape
    if len(names) != n_norms:
        raise ValueError(f"The map is {[n_norms, n_tokens]}, for {len(names)} norms: it needs one row a norm.")
    labels = check_labels(labels, first + n_tokens, "labels")
    shown = [norm_tick(name) for name in names]
    traces[0].update(x=first + np.arange(n_tokens, dtype=np.int32), y=np.arange(n_norms, dtype=np.int32))
    layout = neutral_layout(
        margin={"l": 8, "r": 8, "t": 60, "b": 8},
        xaxis=token_axis(labels, first, n_tokens, title="token"),
        yaxis=token_axis(shown, 0, n_norms, title="norm", downwards=True),
        uirevision=f"{n_norms}x{n_tokens}+{first}",
    )
    figure = go.Figure(traces, layout)
    norm, token = selected or (None, None)
    _mark(figure, shown, labels, norm, token if token in range(first, first + n_tokens) else None)
    return figure


def _mark(figure: go.Figure, names: Sequence[str], labels: Sequence[str], norm: int | None, token: int | None) -> None:
    """Frame the row of a norm and the column of a token."""
    thin = len(figure.data[0].x) > 60
    if norm is not None:
        for shape in band(row=norm, colour=colour.EMPHASIS, thin=len(names) > 60):
            figure.add_shape(shape)
        figure.add_annotation(pill(names[norm], row=norm, colour=colour.EMPHASIS_LABEL))
    if token is not None:
        for shape in band(column=token, colour=colour.EMPHASIS, thin=thin):
            figure.add_shape(shape)
        upright = figure.layout.xaxis.tickangle != 0
        figure.add_annotation(pill(labels[token], column=token, colour=colour.EMPHASIS_LABEL, upright=upright))


def component_sizes(
    ratio: object,
    *,
    threshold: float,
    chance: float,
    named: Sequence[int] = (),
    selected: int | None = None,
) -> go.Figure:
    """How large each component becomes, in units of the median: a bar a component on a logarithmic axis.

    ratio: [D], the largest |x| of the component over all tokens; chance: what random numbers reach, a dotted line;
    threshold: beyond it a component is an outlier, in the strong colour; named: these components have their number.
    """
    values = as_array(ratio, name="ratio", ndim=1)
    places = np.arange(len(values), dtype=np.int32)
    # Powers of ten; within a single one 2 and 5 as well, which beside other powers would be read as themselves.
    ticks = 1 if values.max() > 10 * max(float(values.min()), 1e-9) else "D2"
    figure = go.Figure(layout=neutral_layout(margin={"l": 8, "r": 8, "t": 30, "b": 8}, barmode="overlay"))
    for name, chosen, shade in (
        ("outlier", values > threshold, colour.EMPHASIS),
        ("any other", values <= threshold, colour.NEUTRAL),
    ):
        figure.add_bar(
            x=places[chosen],
            y=values[chosen],
            name=name,
            width=1,
            marker={"color": shade, "line": {"width": 0}},
            hovertemplate="component %{x}: %{y:.3g} × the median<extra></extra>",
        )
    figure.update_layout(
        xaxis=component_axis(len(values), title="component"),
        yaxis=plain_axis("largest |x| / median") | {"type": "log", "dtick": ticks},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        uirevision=f"{len(values)}",
    )
    figure.add_hline(y=chance, line={"color": colour.NEUTRAL, "width": 1.5, "dash": "dot"})
    for component in named:
        # On a logarithmic axis an annotation's place is the exponent.
        figure.add_annotation(
            text=str(component),
            x=component,
            y=float(np.log10(values[component])),
            showarrow=False,
            yanchor="bottom",
            font={"size": 11},
        )
    if selected is not None:
        figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5})
    return figure


def outlier_map(
    ratios: object,
    names: Sequence[str],
    components: Sequence[int],
    *,
    colours: str = "viridis",
    selected: tuple[int | None, int | None] | None = None,
) -> go.Figure:
    """How large some components are before every norm: ratios [N, C] to the median, coloured by their logarithm.

    names: of the N norms; components: the numbers of the C components; selected: (norm, component), framed.
    """
    values = as_array(ratios, name="ratios", ndim=2)
    largest = max(symmetric_limit(values), 2.0)
    decades = float(np.log10(largest))  # from the median itself upwards
    title = "largest |x| / median"
    heatmap = go.Heatmap(
        z=values,
        zmin=0,
        zmax=largest,
        colorscale=colour.logarithmic(colours, 1 / largest),
        showscale=False,
        hovertemplate="%{y}, component %{x}: %{z:.3g} × the median<extra></extra>",
    )
    traces = [heatmap, logarithmic_bar(title, largest, colours, decades)]
    norm, component = selected or (None, None)
    column = list(components).index(component) if component in components else None
    figure = _norm_map(traces, names, [str(component) for component in components], (norm, column), 0)
    figure.update_xaxes(title={"text": "component"})
    return figure


def token_statistics(
    statistics: Mapping[str, tuple[object, object]],
    labels: Sequence[str],
    *,
    selected: int | None = None,
    first: int = 0,
) -> go.Figure:
    """Mean and standard deviation of each token's vector under several norms, one curve a norm, means above.

    statistics: what is drawn -> (mean [T], std [T]); labels: one a token of the whole text; selected: the token that is
    marked; first: the token of the first point, when a part of a longer text is drawn.
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
    figure.update_layout(neutral_layout(margin={"l": 8, "r": 8, "t": 40, "b": 8}, uirevision=f"{n_tokens}+{first}"))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"})
    across = token_axis(check_labels(labels, first + n_tokens, "labels"), first, n_tokens, title="token")
    symbols = ("circle", "square", "diamond", "cross", "x", "star")
    for row, what in enumerate(("mean", "standard deviation"), start=1):
        for number, (name, pair) in enumerate(drawn.items()):
            figure.add_scatter(
                x=first + np.arange(n_tokens, dtype=np.int32),
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
        if selected is not None and first <= selected < first + n_tokens:
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
    figure.update_layout(neutral_layout(margin={"l": 8, "r": 8, "t": 30, "b": 8}, barmode="overlay", showlegend=False))
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
