"""Positional encodings. Shapes: T positions (rows), D components of the encoding, K width of a head."""

import html
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.attention import SQUARE_ACROSS, SQUARE_DOWN
from encoder.figures.axes import (
    as_array,
    check_labels,
    colour_bar,
    component_axis,
    heading,
    margin,
    neutral_layout,
    plain_axis,
    token_axis,
)
from encoder.figures.marks import EMPHASISED, band, mark
from encoder.figures.plotly_traces import LEGEND, bars, curve, heatmap, signed_heatmap
from encoder.figures.scale import Scale, robust


def position_heatmap(
    encoding: object, *, title: str | None = None, selected: int | None = None, components: object | None = None
) -> go.Figure:
    """encoding [T, D], one row a position -> heatmap of its values around 0.

    components [D]: those of the columns where `slowest_first` sorted them; each value is then less its median.
    """
    values = as_array(encoding, name="encoding", ndim=2)
    ends = robust(values)
    if components is None:
        hover = "position %{y}, component %{x}: %{z:.3f}"
        cells = signed_heatmap(values, "position", ends.limit, hover, ends.titled("value"))
        return _position_map("component", cells, title, selected)
    hover = "position %{y}, component %{customdata}: %{z:.3f} from its median"
    cells = signed_heatmap(values, "position", ends.limit, hover, ends.titled("value − median"))
    cells.customdata = np.tile(np.asarray(components, dtype=np.int32), (len(values), 1))
    return _position_map("components, slowest change first", cells, title, selected)


def position_products(encoding: object, *, cosine: bool = False) -> np.ndarray:
    """encoding [T, D] -> [T, T] float32: the dot product of each two positions; divided by both norms if `cosine`.

    Computed in float64. A position whose encoding is all 0 has cosine 0 with every other.
    """
    values = as_array(encoding, name="encoding", ndim=2).astype(np.float64)
    if cosine:
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        values = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return (values @ values.T).astype(np.float32)


def products_by_distance(products: object) -> pd.DataFrame:
    """products [T, T] -> a row a distance 0 .. T-1: distance, and mean, low and high of the products that far apart.

    low and high hold the middle 80% of them, from the 10th to the 90th percentile.
    """
    matrix = as_array(products, name="products", ndim=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"products has shape {list(matrix.shape)}: products of positions with positions must be square."
        )
    rows = []
    for distance in range(len(matrix)):
        apart = matrix.diagonal(distance).astype(np.float64)
        low, high = np.percentile(apart, (10, 90))
        rows.append((distance, apart.mean(), low, high))
    return pd.DataFrame(rows, columns=["distance", "mean", "low", "high"])


def position_dot_products(
    products: object, *, title: str | None = None, cosine: bool = False, selected: int | None = None
) -> go.Figure:
    """products [T, T] of `position_products` -> heatmap, position by position, coloured around 0.

    The colours of cosines run from -1 to 1.
    """
    matrix = as_array(products, name="products", ndim=2)
    ends = Scale(1.0, 0, 1.0) if cosine else robust(matrix)
    name = "cosine" if cosine else "dot product"
    hover = f"positions %{{y}} and %{{x}}: {name} %{{z:.3f}}"
    cells = signed_heatmap(matrix, "position", ends.limit, hover, ends.titled(name))
    return _position_map("position", cells, title, selected).update_layout(xaxis=SQUARE_ACROSS, yaxis=SQUARE_DOWN)


def distance_curve(
    curves: Mapping[str, pd.DataFrame],
    *,
    unit: str = "dot product",
    across: str = "distance between the positions",
    mark: tuple[float, float, str] | None = None,
) -> go.Figure:
    """Curves by distance, each with the band of its middle 80%. curves: name -> distance, mean (and low, high).

    unit, across: names of the axes; mark: (distance, value, name) of a marked point.
    """
    if not curves:
        raise ValueError("curves is empty: specify at least one curve.")
    figure = go.Figure(layout=neutral_layout(xaxis=plain_axis(across), yaxis=plain_axis(unit)))
    for number, (name, one) in enumerate(curves.items()):
        line = colour.SERIES[number % len(colour.SERIES)]
        distance = one["distance"].to_numpy()
        if "low" in one:
            edges = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
            edges |= {"x": distance, "legendgroup": name}
            figure.add_scatter(y=one["high"].to_numpy(), **edges)
            figure.add_scatter(y=one["low"].to_numpy(), fill="tonexty", fillcolor=colour.faded(line, 0.2), **edges)
        mode = "lines+markers" if len(distance) < 3 else "lines"
        dash = ("solid", "dash", "dot")[number % 3]
        hover = f"{name}, distance %{{x}}: %{{y:.3f}}"
        mean = one["mean"].to_numpy()
        figure.add_trace(curve(distance, mean, name, line, hover, dash=dash, mode=mode, legendgroup=name))
    if mark is not None:
        place, value, name = mark[0], mark[1], html.escape(mark[2], quote=False)
        figure.add_scatter(
            x=np.array([place]),
            y=np.array([value]),
            name=name,
            mode="markers",
            marker={"color": colour.EMPHASIS, "size": 11, "line": {"color": "#ffffff", "width": 1.5}},
            hovertemplate=f"{name}, distance %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    figure.update_layout(legend=LEGEND, showlegend=len(curves) > 1 or mark is not None, hovermode="closest")
    return figure


def head_biases(bias: object, distances: object, *, selected: int | None = None) -> go.Figure:
    """bias [H, N] at distances [N], key minus query -> heatmap, one row a head, coloured around 0."""
    values = as_array(bias, name="bias", ndim=2)
    ends = robust(values)
    hover = "head %{y}, offset %{x}: %{z:.3f}"
    cells = signed_heatmap(values, "position", ends.limit, hover, ends.titled("added to the score"))
    cells.x = np.asarray(distances, dtype=np.int32)
    layout = neutral_layout(
        margin=margin(60),
        xaxis=plain_axis("offset j − i, key minus query") | {"showgrid": False, "zeroline": False},
        yaxis=component_axis(len(values), title="head", downwards=True),
        shapes=[] if selected is None else band(row=selected, colour=colour.EMPHASIS, thin=len(values) > 60),
        uirevision=f"{values.shape}",
    )
    return go.Figure(cells, layout)


def offset_map(
    values: object,
    *,
    title: str,
    across: str,
    down: str,
    first: tuple[int, int] = (0, 0),
    others: Iterable[object] = (),
    labels: Sequence[str] = (),
) -> go.Figure:
    """values [R, C], parts of scores -> heatmap, coloured around 0. across, down: what columns and rows count; first:
    the row and the column of the first cell; others: the values of maps with the same colours; labels: of all tokens,
    where rows and columns are tokens."""
    matrix = as_array(values, name="values", ndim=2)
    hover = f"{down} %{{y}}, {across} %{{x}}: %{{z:.3f}}"
    ends = robust(matrix, *others)
    cells = signed_heatmap(matrix, "position", ends.limit, hover, ends.titled("score"), first=first)
    layout = neutral_layout(
        margin=margin(90),
        annotations=[heading(title)],
        uirevision=f"{matrix.shape}+{first}",
    )
    columns, rows = plain_axis(across), plain_axis(down) | {"range": [first[0] + len(matrix) - 0.5, first[0] - 0.5]}
    if labels:
        columns = token_axis(labels, first[1], matrix.shape[1], title=across)
        rows = token_axis(labels, first[0], len(matrix), title=down, downwards=True)
    bare = {"showgrid": False, "zeroline": False}
    layout |= {"xaxis": columns | bare, "yaxis": rows | bare}
    return go.Figure(cells, layout)


def order_bars(
    cosine: object, labels: Sequence[str], *, moved: object | None = None, selected: int | None = None, first: int = 0
) -> go.Figure:
    """cosine [T] of each token's output before and after a change of the positions, a bar a token.

    moved [T] bool: the tokens whose position changed; the others are drawn paler. None: the positions were left out.
    labels: of the whole text; first: the token of the first bar, when a part is drawn; selected: the marked token.
    """
    values = as_array(cosine, name="cosine", ndim=1)
    labels = check_labels(labels, first + len(values), "labels")
    elsewhere = np.ones(len(values), dtype=bool) if moved is None else np.asarray(moved, dtype=bool)
    changed = "without positions" if moved is None else "position changed"
    places = first + np.arange(len(values), dtype=np.int32)
    figure = go.Figure()
    for name, chosen, shade in (
        (changed, elsewhere, colour.SERIES[0]),
        ("same position", ~elsewhere, colour.faded(colour.NEUTRAL, 0.6)),
    ):
        hover = "%{x}: cosine %{y:.4f}"
        figure.add_trace(bars(places[chosen], values[chosen], name, shade, hover, width=0.85))
    figure.update_layout(
        neutral_layout(
            xaxis=token_axis(labels, first, len(values), title="token"),
            yaxis=plain_axis("cosine of both outputs") | {"range": [min(0.0, float(values.min()) * 1.05), 1.05]},
            barmode="overlay",
            legend=LEGEND,
            showlegend=moved is not None,
            uirevision=f"{len(values)}+{first}",
        )
    )
    figure.add_hline(y=1, line={"color": colour.NEUTRAL, "width": 1, "dash": "dot"})
    if selected is not None and first <= selected < first + len(values):
        mark(figure, {}, {selected: labels[selected]}, shades=EMPHASISED)
    return figure


def angles(cos: object, sin: object) -> np.ndarray:
    """cos, sin [T, K/2] of a rotation -> its angle [T, K/2] in radians, from 0 up to 2π."""
    turned = np.arctan2(as_array(sin, name="sin", ndim=2), as_array(cos, name="cos", ndim=2))
    return np.asarray(np.mod(turned, 2 * np.pi), dtype=np.float32)


def rotary_angles(angle: object, *, title: str | None = None, selected: int | None = None) -> go.Figure:
    """angle [T, K/2] in radians: the rotation of pair c of queries and keys at each position; 2π looks like 0."""
    values = np.mod(as_array(angle, name="angle", ndim=2), np.float32(2 * np.pi))
    hover = "position %{y}, pair %{x}: rotated by %{z:.3f} rad"
    turns = {"tickvals": np.linspace(0, 2 * np.pi, 5), "ticktext": ["0", "π/2", "π", "3π/2", "2π"]}
    cells = heatmap(values, (0, 2 * np.pi), colour.cyclic(), colour_bar("angle", **turns), hover)
    return _position_map("pair of components", cells, title, selected)


def _position_map(across: str, cells: go.Heatmap, title: str | None, selected: int | None) -> go.Figure:
    """Cells with positions downwards, the selected one marked. across: what the other axis counts."""
    n_rows, n_columns = cells.z.shape
    layout = neutral_layout(
        margin=margin(90 if title else 60),
        xaxis=component_axis(n_columns, title=across),
        yaxis=component_axis(n_rows, title="position", downwards=True),
        annotations=[heading(title)] if title else [],
        uirevision=f"{n_rows}x{n_columns}",
    )
    figure = go.Figure(cells, layout)
    if selected is not None and 0 <= selected < n_rows:
        figure.layout.shapes = band(row=selected, colour=colour.EMPHASIS)
    return figure
