"""Queries, keys, values and other vectors of a sentence. Shapes: T tokens (rows), K components (columns)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    check_labels,
    component_axis,
    heading,
    margin,
    neutral_layout,
    plain_axis,
    token_axis,
)
from encoder.figures.marks import band, mark
from encoder.figures.plotly_traces import LEGEND, bars, signed_heatmap

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
        title: the line above the map.
        limit: the value of the full colour, at both ends; by default the largest absolute value. Give maps that you
            compare the same one.
        selected: the token or tokens whose rows are framed.
        component: the framed column.
        component_name: what the horizontal axis counts.
        first: the token of the first row, when a part of a longer text is drawn.

    Raises ValueError for shapes, labels or a kind that do not fit.
    """
    values = as_array(x, name="x", ndim=2)
    n_tokens, n_components = values.shape
    labels = check_labels(labels, first + n_tokens, "labels")
    limit = symmetric_limit(values) if limit is None else float(limit)
    row_name, shade = _ROWS.get(kind, ("token", colour.EMPHASIS_LABEL))
    hover = f"%{{y}}, {component_name} %{{x}}: %{{z:.3f}}"
    layout = neutral_layout(
        margin=margin(90 if title else 60),
        xaxis=component_axis(n_components, title=component_name),
        yaxis=token_axis(labels, first, n_tokens, title=row_name, downwards=True),
        shapes=[] if component is None else band(column=component, colour=shade, thin=True),
        annotations=[heading(title)] if title else [],
        uirevision=f"{n_tokens}x{n_components}+{first}",
    )
    figure = go.Figure(signed_heatmap(values, kind, limit, hover, first=(first, 0)), layout)
    wanted = [selected] if isinstance(selected, int) else selected or ()
    rows = {row: labels[row] for row in wanted if first <= row < first + n_tokens}
    mark(figure, rows, {}, shades=((shade, shade), (shade, shade)), thin=n_tokens > 60)
    return figure


def symmetric_limit(*arrays: object) -> float:
    """The largest absolute value in all the arrays, for colour scales that you compare; 1 if all is 0."""
    largest = max(float(np.nanmax(np.abs(np.asarray(array, dtype=np.float32)), initial=0.0)) for array in arrays)
    return largest if np.isfinite(largest) and largest > 0 else 1.0


def robust_limit(array: object, share: float = 0.995) -> float:
    """The absolute value that `share` of all stay below, so that outliers do not take all colours; 1 if all is 0."""
    limit = float(np.quantile(np.abs(np.asarray(array, dtype=np.float32)), share))
    return limit if limit > 0 else symmetric_limit(array)


def dot_product_terms(q: object, k: object) -> pd.DataFrame:
    """q [K], k [K] -> a row a component: component, q, k, product (q x k, in float64) and running_sum up to q . k."""
    queries, keys = as_array(q, name="q", ndim=1), as_array(k, name="k", ndim=1)
    if len(queries) != len(keys):
        raise ValueError(f"q has {len(queries)} components and k has {len(keys)}: specify as many of both.")
    products = queries.astype(np.float64) * keys
    sums = {"product": products, "running_sum": products.cumsum()}
    return pd.DataFrame({"component": np.arange(len(products)), "q": queries, "k": keys, **sums})


@dataclass(frozen=True)
class DotProduct:
    """What makes a dot product large or small.

    largest: the component with the largest absolute product, and that product; above, below: sums of the products above
    and below 0; lengths: the norms of both vectors; cosine: of their angle, 0 if one of them is 0.
    """

    largest: tuple[int, float]
    above: float
    below: float
    lengths: tuple[float, float]
    cosine: float


def dot_product_summary(terms: pd.DataFrame) -> DotProduct:
    """`dot_product_terms` in a few numbers."""
    products = terms["product"].to_numpy()
    largest = int(np.abs(products).argmax())
    q, k = (float(np.linalg.norm(terms[name].to_numpy(dtype=np.float64))) for name in "qk")
    return DotProduct(
        largest=(largest, float(products[largest])),
        above=float(products[products > 0].sum()),
        below=float(products[products < 0].sum()),
        lengths=(q, k),
        cosine=float(products.sum() / (q * k)) if q * k > 0 else 0.0,
    )


def dot_product_bars(
    q: object, k: object, *, scale: float | None = None, order: Literal["component", "size"] = "component"
) -> go.Figure:
    """The K products of a query and a key as bars, and their running sum as a line that ends at q . k.

    q, k: [K] each, the vectors of one head for one pair of tokens. scale: the factor from the sum to the score, usually
    1/sqrt(K); the legend then shows both. order: bars by component, or by the size of the product, the largest first.
    Raises ValueError for vectors of different lengths, or an unknown order.
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
    figure.update_layout(barmode="overlay", legend=LEGEND, uirevision=f"{len(terms)}", hovermode="closest")
    figure.add_hline(y=total, line={"color": colour.EMPHASIS, "width": 1, "dash": "dot"})
    return figure


def _product_traces(terms: pd.DataFrame, scale: float | None) -> list[go.Bar | go.Scatter]:
    """The products as bars, their running sum as steps, in the order of the rows."""
    total = float(terms["running_sum"].iloc[-1])
    scaled = "" if scale is None else f"; × {scale:.4f} = {signed(total * scale)}"
    places = np.arange(len(terms), dtype=np.int32)
    products = signed_bars(
        terms["product"].to_numpy(),
        "signed",
        customdata=terms[["component", "q", "k"]].to_numpy(),
        names=("product below 0", "product above 0"),
        width=0.85,
        hover="component %{customdata[0]:d}: %{customdata[1]:.3f} × %{customdata[2]:.3f} = %{y:.3f}",
    )
    line = go.Scatter(
        x=places,
        y=terms["running_sum"].to_numpy(),
        name=f"running sum, up to q · k = {signed(total)}{scaled}",
        mode="lines+markers" if len(terms) == 1 else "lines",
        line={"color": colour.NEUTRAL, "width": 2, "shape": "hv"},
        hovertemplate="running sum: %{y:.3f}<extra></extra>",
    )
    return [*products, line]


def signed(value: float) -> str:
    """Three decimals, with a minus sign instead of a hyphen."""
    return f"{value:.3f}".replace("-", "−")


def signed_bars(
    values: np.ndarray,
    kind: str,
    *,
    customdata: np.ndarray,
    hover: str,
    names: tuple[str, str] = ("negative", "positive"),
    base: float = 0.0,
    width: float = 1.0,
) -> list[go.Bar]:
    """values [K] as bars from `base`, one trace for each sign with its colour. For `barmode="overlay"`.

    width: of a bar; Plotly would take the smallest gap between the bars of one sign.
    """
    below = values < base
    places = np.arange(len(values), dtype=np.int32)
    return [
        bars(
            places[chosen], (values - values.dtype.type(base))[chosen], name, shade, hover, base=base, width=width,
            customdata=customdata[chosen],
        )
        for chosen, name, shade in zip((below, ~below), names, colour.SIGNED[kind], strict=True)
    ]  # fmt: skip
