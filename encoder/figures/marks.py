"""Marks for what is selected in a map: frames around rows, columns and cells, and the labels of selected tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures.axes import CLEAR, shown_label
from encoder.figures.colours import EMPHASIS, EMPHASIS_LABEL, KEY, KEY_LABEL, QUERY, QUERY_LABEL

#: (frame, label) of a selected row, and of a selected column, where rows are queries and columns keys.
QUERIES_AND_KEYS = ((QUERY, QUERY_LABEL), (KEY, KEY_LABEL))
#: The light middle of a divider; its dark edge makes it visible on bright cells.
DIVIDER = {"color": "#ffffff", "width": 1}
EMPHASISED = ((EMPHASIS, EMPHASIS_LABEL), (EMPHASIS, EMPHASIS_LABEL))


def selection_marks(
    rows: Mapping[int, str],
    columns: Mapping[int, str],
    *,
    shades: tuple[tuple[str, str], tuple[str, str]] = QUERIES_AND_KEYS,
    thin: bool = False,
    upright: bool = True,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(shapes, annotations) for selected rows and columns, each given as place -> label.

    Cells where both meet get a black frame, unless frames are `thin`, for small cells.
    """
    (row_frame, row_label), (column_frame, column_label) = shades
    shapes = [shape for row in rows for shape in band(row=row, colour=row_frame, thin=thin)]
    shapes += [shape for column in columns for shape in band(column=column, colour=column_frame, thin=thin)]
    if not thin:
        shapes += [shape for row in rows for at in columns for shape in band(row=row, column=at, colour="#111111")]
    labels = [pill(label, row=row, colour=row_label) for row, label in rows.items()]
    labels += [pill(label, column=at, colour=column_label, upright=upright) for at, label in columns.items()]
    return shapes, labels


def mark(figure: go.Figure, rows: Mapping[int, str], columns: Mapping[int, str], **look: Any) -> None:
    """Add `selection_marks` to a figure, in front of the shapes that it has."""
    shapes, labels = selection_marks(rows, columns, upright=figure.layout.xaxis.tickangle != 0, **look)
    figure.layout.shapes = (*figure.layout.shapes, *shapes)
    figure.layout.annotations = (*figure.layout.annotations, *labels)


def band(
    row: int | None = None, column: int | None = None, colour: str = "#000000", *, thin: bool = False
) -> list[dict[str, Any]]:
    """Shapes that frame a row, a column or (both given) a cell of a map.

    A white casing below the colour makes it visible on every theme; `thin`, for small cells, leaves the casing out.
    """
    place: dict[str, Any] = {"x0": 0, "x1": 1, "xref": "x domain", "y0": 0, "y1": 1, "yref": "y domain"}
    if column is not None:
        place |= {"x0": column - 0.5, "x1": column + 0.5, "xref": "x"}
    if row is not None:
        place |= {"y0": row - 0.5, "y1": row + 0.5, "yref": "y"}
    base = {"type": "rect", "layer": "above", "fillcolor": CLEAR, **place}
    if thin:
        return [{**base, "line": {"color": colour, "width": 1}}]
    return [{**base, "line": {"color": "#ffffff", "width": 3.5}}, {**base, "line": {"color": colour, "width": 1.75}}]


def ring(at: Sequence[float] | np.ndarray, shade: str = EMPHASIS, size: int = 18) -> go.Scatter:
    """A ring around a selected point. at: (x, y)."""
    marker = {"size": size, "color": CLEAR, "line": {"width": 2.5, "color": shade}}
    return go.Scatter(x=[at[0]], y=[at[1]], mode="markers", hoverinfo="skip", showlegend=False, marker=marker)


def dividers(row: float | None, column: float | None) -> list[dict[str, Any]]:
    """Thin lines before a row and before a column, where the second sentence of a pair begins; None: no line."""
    lines = []
    for along, across, at in (("y", "x", row), ("x", "y", column)):
        if at is not None:
            place = {f"{along}0": at - 0.5, f"{along}1": at - 0.5, f"{along}ref": along}
            place |= {f"{across}0": 0, f"{across}1": 1, f"{across}ref": f"{across} domain"}
            base = {"type": "line", "layer": "above", **place}
            lines += [{**base, "line": line} for line in ({"color": "#000000", "width": 2.5}, DIVIDER)]
    return lines


def pill(
    label: str, *, row: int | None = None, column: int | None = None, colour: str, upright: bool = True
) -> dict[str, Any]:
    """The label of a selected token in white on its colour, over the axis: shown even where the axis has no tick."""
    text = {
        "text": shown_label(label),
        "showarrow": False,
        "font": {"color": "#ffffff", "size": 12},
        "bgcolor": colour,
        "borderpad": 1,
    }
    if row is not None:
        place = {"x": 0, "xref": "x domain", "xanchor": "right", "xshift": -2}
        return text | place | {"y": row, "yref": "y", "yanchor": "middle"}
    turned = {"textangle": -90} if upright else {}
    return text | {"x": column, "xref": "x", "y": 0, "yref": "y domain", "yanchor": "top", "yshift": -2, **turned}
