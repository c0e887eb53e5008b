"""Queries, keys, values and other vectors of a sentence. Shapes: T tokens (rows), K components (columns)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    band,
    check_labels,
    colour_bar,
    component_axis,
    heading,
    neutral_layout,
    pill,
    plain_axis,
    token_axis,
)

#: kind -> what a row of the map belongs to, and the colour that marks a selected one.
_ROWS = {
    "q": ("query token", colour.QUERY_LABEL),
    "k": ("key token", colour.KEY_LABEL),
    "v": ("key token", colour.VALUE_LABEL),
}


def vectors_heatmap(
    x: object,
    labels: Sequence[str],
    kind: str = "signed",
    *,
    title: str | None = None,
    limit: float | None = None,
    selected: int | Sequence[int] | None = None,
    component: int | None = None,
    component_name: str = "component",
    first: int = 0,
) -> go.Figure:
    """One row a token, one column a component, coloured by the signed value around 0.

    Args:
        x: [T, K].
        labels: one a token of the whole text.
        kind: "q", "k", "v", "residual", "position" or "signed": the colour of positive values.
        title: stands above the map.
        limit: the value that gets the full colour, at both ends; by default the largest absolute value. Give maps that
            are to be compared the same one.
        selected: the token or tokens whose rows are framed.
        component: the column that is framed.
        component_name: what the horizontal axis counts.
        first: the token of the first row, when a part of a longer text is drawn.

    Raises:
        ValueError: shapes, labels or a kind that do not fit.
    """
    values = as_array(x, name="x", ndim=2)
    scale = colour.diverging(kind)
    n_tokens, n_components = values.shape
    labels = check_labels(labels, first + n_tokens, "labels")
    limit = symmetric_limit(values) if limit is None else float(limit)
    row_name, mark = _ROWS.get(kind, ("token", colour.EMPHASIS_LABEL))
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=np.arange(n_components, dtype=np.int32),
            y=first + np.arange(n_tokens, dtype=np.int32),
            zmin=-limit,
            zmax=limit,
            colorscale=scale,
            colorbar=colour_bar("value", nticks=5),
            hovertemplate=f"%{{y}}, {component_name} %{{x}}: %{{z:.3f}}<extra></extra>",
        ),
        neutral_layout(
            margin={"l": 8, "r": 8, "t": 60 + (30 if title else 0), "b": 8},
            xaxis=component_axis(n_components, title=component_name),
            yaxis=token_axis(labels, first, n_tokens, title=row_name, downwards=True),
            uirevision=f"{n_tokens}x{n_components}+{first}",
        ),
    )
    if title:
        figure.add_annotation(heading(title))
    _mark_rows(figure, labels, selected, range(first, first + n_tokens), mark)
    if component is not None:
        figure.update_layout(shapes=[*figure.layout.shapes, *band(column=component, colour=mark, thin=True)])
    return figure


def _mark_rows(
    figure: go.Figure, labels: Sequence[str], selected: int | Sequence[int] | None, rows: range, colour_of_mark: str
) -> None:
    """Frame the selected rows among those that are drawn."""
    wanted = [selected] if isinstance(selected, int) else selected or ()
    shapes: list[dict] = []
    for row in wanted:
        if row in rows:
            shapes += band(row=row, colour=colour_of_mark, thin=len(rows) > 60)
            figure.add_annotation(pill(labels[row], row=row, colour=colour_of_mark))
    figure.update_layout(shapes=shapes)


def symmetric_limit(*arrays: object) -> float:
    """The largest absolute value in all the arrays, for colour scales that are to be compared; 1 where all is 0."""
    largest = max(float(np.nanmax(np.abs(np.asarray(array, dtype=np.float32)), initial=0.0)) for array in arrays)
    return largest if np.isfinite(largest) and largest > 0 else 1.0


def robust_limit(array: object, share: float = 0.995) -> float:
    """The absolute value that `share` of all stay below: a few outliers do not take all colours. 1 where all is 0."""
    limit = float(np.quantile(np.abs(np.asarray(array, dtype=np.float32)), share))
    return limit if limit > 0 else symmetric_limit(array)


def dot_product_terms(q: object, k: object) -> pd.DataFrame:
    """q [K], k [K] -> a row a component: component, q, k, product (q x k, in float64) and running_sum up to q . k."""
    queries, keys = as_array(q, name="q", ndim=1), as_array(k, name="k", ndim=1)
    if len(queries) != len(keys):
        raise ValueError(f"q has {len(queries)} components and k has {len(keys)}: a dot product needs as many in both.")
    products = queries.astype(np.float64) * keys
    return pd.DataFrame(
        {
            "component": np.arange(len(products)),
            "q": queries,
            "k": keys,
            "product": products,
            "running_sum": products.cumsum(),
        }
    )


@dataclass(frozen=True)
class DotProduct:
    """What makes a dot product large or small. largest: the component with the largest product in size, and that
    product; above, below: sums of the products above and below 0; lengths: of both vectors; cosine: of their angle, 0
    where one of them is 0."""

    largest: tuple[int, float]
    above: float
    below: float
    lengths: tuple[float, float]
    cosine: float


def dot_product_summary(terms: pd.DataFrame) -> DotProduct:
    """`dot_product_terms` in a few numbers."""
    products = terms["product"].to_numpy()
    largest = int(np.abs(products).argmax())
    lengths = tuple(float(np.linalg.norm(terms[name].to_numpy(dtype=np.float64))) for name in "qk")
    both = lengths[0] * lengths[1]
    return DotProduct(
        largest=(largest, float(products[largest])),
        above=float(products[products > 0].sum()),
        below=float(products[products < 0].sum()),
        lengths=(lengths[0], lengths[1]),
        cosine=float(products.sum() / both) if both > 0 else 0.0,
    )


def dot_product_bars(
    q: object,
    k: object,
    *,
    scale: float | None = None,
    order: Literal["component", "size"] = "component",
) -> go.Figure:
    """The K products of a query and a key as bars, and their running sum as a line that ends at q . k.

    Args:
        q, k: [K] each, the vectors of one head for one pair of tokens.
        scale: what the sum is multiplied by to become the score, 1/sqrt(K) as a rule; the legend then says both.
        order: bars by component, or by the size of the product, the largest first.

    Raises:
        ValueError: vectors of different lengths, or an unknown order.
    """
    if order not in ("component", "size"):
        raise ValueError(f"order={order!r}: choose 'component' or 'size'.")
    terms = dot_product_terms(q, k)
    across = component_axis(len(terms), title="component")
    if order == "size":
        terms = terms.iloc[np.argsort(-terms["product"].abs().to_numpy(), kind="stable")].reset_index(drop=True)
        terms["running_sum"] = terms["product"].cumsum()
        names = {str(place): str(component) for place, component in enumerate(terms["component"])}
        across = component_axis(len(terms), title="component, largest product first") | {"labelalias": names}
    total = float(terms["running_sum"].iloc[-1])
    figure = go.Figure(_product_traces(terms, scale), neutral_layout(xaxis=across, yaxis=plain_axis("product, sum")))
    figure.update_layout(
        barmode="overlay",
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        uirevision=f"{len(terms)}",
        hovermode="closest",
    )
    figure.add_hline(y=total, line={"color": colour.EMPHASIS, "width": 1, "dash": "dot"})
    return figure


def _product_traces(terms: pd.DataFrame, scale: float | None) -> list[go.Bar | go.Scatter]:
    """The products as bars, their running sum as steps, in the order of the rows."""
    total = float(terms["running_sum"].iloc[-1])
    scaled = "" if scale is None else f"; × {scale:.4f} = {signed(total * scale)}"
    places = np.arange(len(terms), dtype=np.int32)
    bars = signed_bars(
        terms["product"].to_numpy(),
        "signed",
        customdata=terms[["component", "q", "k"]].to_numpy(),
        names=("product below 0", "product above 0"),
        width=0.85,
        hovertemplate="component %{customdata[0]:d}: "
        "%{customdata[1]:.3f} × %{customdata[2]:.3f} = %{y:.3f}<extra></extra>",
    )
    line = go.Scatter(
        x=places,
        y=terms["running_sum"].to_numpy(),
        name=f"sum so far, up to q · k = {signed(total)}{scaled}",
        mode="lines+markers" if len(terms) == 1 else "lines",
        line={"color": colour.NEUTRAL, "width": 2, "shape": "hv"},
        hovertemplate="sum so far: %{y:.3f}<extra></extra>",
    )
    return [*bars, line]


def signed(value: float) -> str:
    """Three decimals, with a minus sign and not a hyphen."""
    return f"{value:.3f}".replace("-", "−")


def signed_bars(
    values: np.ndarray,
    kind: str,
    *,
    customdata: np.ndarray,
    hovertemplate: str,
    names: tuple[str, str] = ("negative", "positive"),
    base: float = 0.0,
    width: float = 1.0,
) -> list[go.Bar]:
    """values [K] as bars from `base`, in two traces: a bar has the colour of its sign. For `barmode="overlay"`.

    width: of a bar; left to Plotly it would be the smallest gap between the bars of one sign.
    """
    below = values < base
    places = np.arange(len(values), dtype=np.int32)
    return [
        go.Bar(
            x=places[chosen],
            y=(values - values.dtype.type(base))[chosen],
            base=base,
            width=width,
            name=name,
            customdata=customdata[chosen],
            marker={"color": shade, "line": {"width": 0}},
            hovertemplate=hovertemplate,
        )
        for chosen, name, shade in zip((below, ~below), names, colour.SIGNED[kind], strict=True)
    ]
