"""Queries, keys, values and other vectors of a sentence. Shapes: T tokens (rows), K components (columns)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    check_labels,
    component_axis,
    heading,
    margin,
    neutral_layout,
    token_axis,
)
from encoder.figures.marks import band, mark
from encoder.figures.plotly_traces import signed_heatmap

#: kind -> the vectors of all tokens, in the title of their map.
TITLES = {"q": "Queries", "k": "Keys", "v": "Values"}
#: Above this many tokens a row is a few pixels high, and its frame thin.
THIN_ABOVE = 60
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
    mark(figure, rows, {}, shades=((shade, shade), (shade, shade)), thin=n_tokens > THIN_ABOVE)
    return figure


def symmetric_limit(*arrays: object) -> float:
    """The largest absolute value in all the arrays, for colour scales that you compare; 1 if all is 0."""
    largest = max(float(np.nanmax(np.abs(np.asarray(array, dtype=np.float32)), initial=0.0)) for array in arrays)
    return largest if np.isfinite(largest) and largest > 0 else 1.0
