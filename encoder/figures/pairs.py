"""Maps of rows and columns with names: images and captions, templates and digits, digits and what was said.

Shapes: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, colour_bar, margin, neutral_layout, token_axis
from encoder.figures.marks import EMPHASISED, selection_marks
from encoder.figures.traces import heatmap

#: Up to so many columns the cells hold their numbers.
WRITTEN_UP_TO = 12


def pair_map(
    values: object,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str],
    measure: str,
    limits: tuple[float, float] = (0.0, 1.0),
    digits: int = 2,
    colours: str = "viridis",
    selected: tuple[int | None, int | None] = (None, None),
) -> go.Figure:
    """values [R, C] as cells with their numbers.

    rows [R], columns [C]: names; titles: of both axes, down and across; measure: what the numbers are; limits: the
    values of both ends of the colours; digits: after the point; selected: (row, column), framed, either may be None.
    Raises ValueError for shapes or names that do not fit.
    """
    cells = as_array(values, name="values", ndim=2)
    n_rows, n_columns = cells.shape
    down, across = check_labels(rows, n_rows, "rows"), check_labels(columns, n_columns, "columns")
    drawn = heatmap(
        cells, limits, colour.sequential(colours), colour_bar(measure, nticks=5),
        f"%{{y}}, %{{x}}: %{{z:.{digits + 1 if digits else 0}f}}",
    )  # fmt: skip
    if n_columns <= WRITTEN_UP_TO:
        drawn.update(text=_written(cells, digits), texttemplate="%{text}", textfont={"size": 11})
    figure = go.Figure(
        drawn,
        neutral_layout(
            margin=margin(8),
            xaxis=token_axis(across, 0, n_columns, title=titles[1], names=across),
            yaxis=token_axis(down, 0, n_rows, title=titles[0], downwards=True, names=down),
            uirevision=f"{n_rows}x{n_columns}",
        ),
    )
    row, column = selected
    shapes, _ = selection_marks(
        {} if row is None else {row: down[row]}, {} if column is None else {column: across[column]}, shades=EMPHASISED
    )
    figure.update_layout(shapes=shapes)
    return figure


def _written(cells: np.ndarray, digits: int) -> list[list[str]]:
    """The numbers as text: none where they round to 0, so that the others are seen."""
    least = 0.5 * 10.0**-digits
    return [["" if abs(value) < least else f"{value:.{digits}f}" for value in row] for row in cells.tolist()]
