"""LayerNorms at work. Shapes: N norms in the order in which they act, T tokens, D components."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    check_labels,
    colour_bar,
    logarithmic_bar,
    margin,
    neutral_layout,
    plain_axis,
    token_axis,
)
from encoder.figures.marks import EMPHASISED, selection_marks
from encoder.figures.plotly_traces import LEGEND, curve, heatmap, heatmap_from_0, signed_heatmap
from encoder.figures.scale import Scale, robust
from encoder.figures.vectors import symmetric_limit

#: Powers of ten that the colours span on a logarithmic scale.
LOG_DECADES = 3


def norm_label(name: str) -> str:
    """The name of a norm in a trace as an axis shows it: "layers.3.ffn_norm" -> "L3 FFN"."""
    parts = name.split(".")
    last = parts[-1].removesuffix("_norm").replace("ffn", "FFN").replace("_", " ")
    return f"L{parts[1]} {last}" if parts[0] == "layers" and len(parts) == 3 else last


def norm_tick(name: str) -> str:
    """`norm_label`, short enough for the axis of a map on a phone: "L3 attn"."""
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
        limit: the value of the full colour; by default that of a `robust` scale.
        zero_below: if no mean is larger than this, all are 0 up to rounding. The scale then runs from -1 to 1.
        selected: (norm, token), each may be None: row and column are framed.
        first: the token of the first column, when a part of a longer text is drawn.

    Raises ValueError for shapes or labels that do not fit.
    """
    means = as_array(mean, name="mean", ndim=2)
    rounded = bool(np.abs(means).max() <= zero_below)
    ends = robust(means)
    title = "mean: 0 up to rounding" if rounded else "mean" if limit else ends.titled("mean")
    limit = 1.0 if rounded else limit or ends.limit
    cells = signed_heatmap(means, "residual", limit, "%{y}, %{x}: mean %{z:.3g}", title, first=(0, first))
    return _norm_map([cells], names, labels, selected, first)


def norm_deviations(
    std: object,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    colours: str = "blue",
    log: bool = False,
    limit: float | None = None,
    beside: object | None = None,
    selected: tuple[int | None, int | None] | None = None,
    first: int = 0,
) -> go.Figure:
    """The standard deviation of every token's vector at every norm: a map, norms downwards, coloured from 0.

    std: [N, T]; log: coloured by the logarithm, over three powers of ten; beside: the numbers of another map on the
    same scale; the rest as in `norm_means`.
    """
    stds = as_array(std, name="std", ndim=2)
    both = (stds,) if beside is None else (stds, beside)
    ends = Scale(symmetric_limit(*both), 0, 0.0) if log else robust(*both)
    title = "standard deviation" if limit else ends.titled("standard deviation")
    limit = limit or ends.limit
    hover = "%{y}, %{x}: standard deviation %{z:.3g}"
    if not log:
        return _norm_map(
            [heatmap_from_0(stds, colours, limit, hover, title, (0, first))], names, labels, selected, first
        )
    scale = colour.logarithmic(colours, 10.0**-LOG_DECADES)
    cells = heatmap(stds, (0, limit), scale, colour_bar(title), hover, first=(0, first), showscale=False)
    bar = logarithmic_bar(title, limit, colours, LOG_DECADES)
    return _norm_map([cells, bar], names, labels, selected, first)


def _norm_map(
    traces: list[go.Heatmap | go.Scatter],
    names: Sequence[str],
    labels: Sequence[str],
    selected: tuple[int | None, int | None] | None,
    first: int,
) -> go.Figure:
    """A map norms x tokens, its first trace, with axes and the frames of the selected row and column."""
    n_norms, n_tokens = traces[0].z.shape
    if len(names) != n_norms:
        raise ValueError(f"The map is {[n_norms, n_tokens]}, for {len(names)} norms: specify one row a norm.")
    labels = check_labels(labels, first + n_tokens, "labels")
    shown = [norm_tick(name) for name in names]
    across = token_axis(labels, first, n_tokens, title="token")
    norm, token = selected or (None, None)
    rows = {} if norm is None else {norm: shown[norm]}
    columns = {token: labels[token]} if token is not None and first <= token < first + n_tokens else {}
    thin, upright = max(n_norms, n_tokens) > 60, across["tickangle"] != 0
    shapes, annotations = selection_marks(rows, columns, shades=EMPHASISED, thin=thin, upright=upright)
    layout = neutral_layout(
        margin=margin(60),
        xaxis=across,
        yaxis=token_axis(shown, 0, n_norms, title="norm", downwards=True),
        shapes=shapes,
        annotations=annotations,
        uirevision=f"{n_norms}x{n_tokens}+{first}",
    )
    return go.Figure(traces, layout)


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
        raise ValueError("statistics is empty: specify at least one norm.")
    drawn = {name: [as_array(values, name=name, ndim=1) for values in pair] for name, pair in statistics.items()}
    lengths = {len(values) for pair in drawn.values() for values in pair}
    if len(lengths) != 1:
        raise ValueError(f"The curves have {sorted(lengths)} tokens: specify as many in each.")
    (n_tokens,) = lengths
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    figure.update_layout(neutral_layout(margin=margin(40), uirevision=f"{n_tokens}+{first}"))
    figure.update_layout(legend=LEGEND)
    across = token_axis(check_labels(labels, first + n_tokens, "labels"), first, n_tokens, title="token")
    places = first + np.arange(n_tokens, dtype=np.int32)
    symbols = ("circle", "square", "diamond", "cross", "x", "star")
    for row, what in enumerate(("mean", "standard deviation"), start=1):
        for number, (name, pair) in enumerate(drawn.items()):
            shade, hover = colour.SERIES[number % len(colour.SERIES)], f"{name}, %{{x}}: {what} %{{y:.3g}}"
            mode = "lines+markers" if n_tokens <= 64 else "lines"
            look: dict[str, Any] = {"symbol": symbols[number % len(symbols)], "width": 1.5, "mode": mode}
            line = curve(places, pair[row - 1], name, shade, hover, legendgroup=name, showlegend=row == 1, **look)
            figure.add_trace(line, row=row, col=1)
        figure.update_yaxes(plain_axis(what), row=row, col=1)
        figure.update_xaxes(
            across | {"showticklabels": row == 2, "title": {"text": "token" if row == 2 else ""}}, row=row
        )
        if selected is not None and first <= selected < first + n_tokens:
            figure.add_vrect(
                selected - 0.5, selected + 0.5, line={"color": colour.EMPHASIS, "width": 1.5}, row=row, col=1
            )
    return figure
