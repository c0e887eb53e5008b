"""Components of one norm: their sizes, gain and bias, outliers. Shapes: D components."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, component_axis, margin, neutral_layout, plain_axis
from encoder.figures.plotly_traces import LEGEND, bars

#: Components farther than this many standard deviations from the mean of all components count as outliers.
OUTLIER = 4.0


def component_sizes(
    ratio: object, *, threshold: float, named: Sequence[int] = (), selected: int | None = None
) -> go.Figure:
    """The largest |x| of each component over all tokens, in units of the median: a bar a component, logarithmic.

    ratio: [D]; threshold: components above it are outliers, drawn as a dashed line; named: components that are labelled
    with their number.
    """
    values = as_array(ratio, name="ratio", ndim=1)
    places = np.arange(len(values), dtype=np.int32)
    # Ticks at powers of ten; within a single power also at 2 and 5.
    ticks = 1 if values.max() > 10 * max(float(values.min()), 1e-9) else "D2"
    figure = go.Figure(layout=neutral_layout(margin=margin(30), barmode="overlay"))
    for name, chosen, shade in (
        ("outlier", values > threshold, colour.EMPHASIS),
        ("other", values <= threshold, colour.NEUTRAL),
    ):
        hover = "component %{x}: %{y:.3g} × the median"
        figure.add_trace(bars(places[chosen], values[chosen], name, shade, hover, width=1))
    figure.update_layout(
        xaxis=component_axis(len(values), title="component"),
        yaxis=plain_axis("largest |x| / median") | {"type": "log", "dtick": ticks},
        legend=LEGEND,
        uirevision=f"{len(values)}",
    )
    figure.add_hline(y=threshold, line={"color": colour.EMPHASIS, "width": 1.5, "dash": "dash"})
    for component in named:
        # On a logarithmic axis an annotation's place is the exponent.
        figure.add_annotation(component_name(component, float(np.log10(values[component])), yanchor="bottom"))
    if selected is not None:
        figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5})
    return figure


def outliers(values: object, threshold: float = OUTLIER) -> np.ndarray:
    """values [D] -> the components more than `threshold` standard deviations from their mean, the farthest first."""
    array = as_array(values, name="values", ndim=1).astype(np.float64)
    spread = array.std()
    if spread == 0:
        return np.array([], dtype=np.int64)
    distance = np.abs(array - array.mean()) / spread
    order = np.argsort(-distance, kind="stable")
    return np.asarray(order[distance[order] > threshold])


def gain_bias(gain: object, bias: object | None, *, selected: int | None = None) -> go.Figure:
    """Gain [D] and bias [D] (or None) of a norm, a bar a component; outliers are labelled.

    Gains are drawn from 1 and biases from 0, the values that change nothing.
    """
    rows = [("gain", as_array(gain, name="gain", ndim=1), 1.0)]
    if bias is not None:
        rows.append(("bias", as_array(bias, name="bias", ndim=1), 0.0))
        if len(rows[1][1]) != len(rows[0][1]):
            raise ValueError(
                f"gain has {len(rows[0][1])} components and bias {len(rows[1][1])}: specify as many of both."
            )
    return _component_rows(rows, selected)


def _component_rows(rows: list[tuple[str, np.ndarray, float]], selected: int | None) -> go.Figure:
    """Bars by component, one row of the figure for each (name, values, value from which bars start)."""
    n_components = len(rows[0][1])
    figure = make_subplots(
        rows=len(rows),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.28 / len(rows),
        subplot_titles=[row[0] for row in rows],
    )
    figure.update_layout(neutral_layout(margin=margin(30), barmode="overlay", showlegend=False))
    figure.update_annotations(x=0, xanchor="left", xref="paper", font={"size": 13})
    for number, (_, values, base) in enumerate(rows, start=1):
        hover = "component %{x}: %{customdata:.3g}"
        figure.add_traces(_signed_bars(values, base, hover), rows=number, cols=1)
        across = component_axis(n_components, title="component" if number == len(rows) else "")
        figure.update_xaxes(across | {"showticklabels": number == len(rows)}, row=number, col=1)
        figure.update_yaxes(plain_axis(""), row=number, col=1)
        _name_outliers(figure, values, number)
        if selected is not None:
            figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5}, row=number, col=1)
    figure.update_layout(uirevision=f"{n_components}")
    return figure


def _signed_bars(values: np.ndarray, base: float, hover: str) -> list[go.Bar]:
    """values [D] as bars from `base`, one trace for each sign with its colour."""
    below, places = values < base, np.arange(len(values), dtype=np.int32)
    shifted = values - values.dtype.type(base)
    # Without a width, Plotly would take the smallest gap between the bars of one sign.
    return [
        bars(places[some], shifted[some], name, shade, hover, base=base, width=1.0, customdata=values[some])
        for some, name, shade in zip((below, ~below), ("negative", "positive"), colour.SIGNED["residual"], strict=True)
    ]


def _name_outliers(figure: go.Figure, values: np.ndarray, row: int, most: int = 4) -> None:
    for component in outliers(values)[:most]:
        side = "top" if values[component] > values.mean() else "bottom"
        name = component_name(int(component), float(values[component]), yanchor=side, xanchor="left", xshift=3)
        figure.add_annotation(name, row=row, col=1)


def component_name(component: int, y: float, **place: Any) -> dict[str, Any]:
    """The number of a component as an annotation at its bar."""
    return {"text": str(component), "x": component, "y": y, "showarrow": False, "font": {"size": 11}, **place}


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
