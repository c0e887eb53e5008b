"""Maps of rows and columns with names: images and captions, templates and digits, tokens of two texts.

Shapes: R rows, C columns.
"""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.attention import SQUARE_ACROSS, SQUARE_DOWN, SQUARE_UP_TO
from encoder.figures.axes import as_array, check_labels, colour_bar, isolated, margin, neutral_layout, token_axis
from encoder.figures.marks import EMPHASISED, band, selection_marks
from encoder.figures.plotly_traces import heatmap, signed_heatmap
from encoder.figures.token_bars import word_bars
from encoder.figures.vectors import symmetric_limit

#: Up to so many columns the cells hold their numbers.
WRITTEN_UP_TO = 12
#: Characters of a name on an axis, and how many of them are its beginning: captions often differ at their ends.
LONGEST, BEGINNING = 28, 10
#: Characters of a caption in the label of its bar.
LONGEST_HOVER = 100


def short(name: str) -> str:
    """A name for an axis: the middle of a long one is left out."""
    return name if len(name) <= LONGEST else f"{name[:BEGINNING]}…{name[BEGINNING + 1 - LONGEST :]}"


def pair_map(
    values: object,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str],
    measure: str,
    limits: tuple[float, float] = (0.0, 1.0),
    digits: int = 2,
    colours: str = "blue",
    selected: tuple[int | None, int | None] = (None, None),
) -> go.Figure:
    """values [R, C] as cells with their numbers.

    rows [R], columns [C]: names; titles: of both axes, down and across; measure: what the numbers are; limits: the
    values of both ends of the colours; digits: after the point; selected: (row, column), framed, either may be None.
    Raises ValueError for shapes or names that do not fit.
    """
    cells = as_array(values, name="values", ndim=2)
    n_rows, n_columns = cells.shape
    down = [short(name) for name in check_labels(rows, n_rows, "rows")]
    across = [short(name) for name in check_labels(columns, n_columns, "columns")]
    drawn = heatmap(
        cells,
        limits,
        colour.sequential(colours),
        colour_bar(measure, nticks=5),
        f"%{{y}}, %{{x}}: %{{z:.{digits + 1 if digits else 0}f}}",
    )
    if n_columns <= WRITTEN_UP_TO:
        _write(drawn, cells, digits)
    figure = go.Figure(
        drawn,
        neutral_layout(
            margin=margin(8),
            xaxis=token_axis(across, 0, n_columns, title=titles[1], names=across),
            yaxis=token_axis(down, 0, n_rows, title=titles[0], downwards=True, names=down),
            uirevision=f"{n_rows}x{n_columns}",
            meta={"ends": True},
        ),
    )
    row, column = selected
    shapes, _ = selection_marks(
        {} if row is None else {row: down[row]}, {} if column is None else {column: across[column]}, shades=EMPHASISED
    )
    figure.update_layout(shapes=shapes)
    return figure


def _write(drawn: go.Heatmap, cells: np.ndarray, digits: int) -> None:
    drawn.update(text=_written(cells, digits), texttemplate="%{text}", textfont={"size": 11})


def _written(cells: np.ndarray, digits: int) -> list[list[str]]:
    """The numbers as text: none where they round to 0, so that the others are seen, and where they are missing."""
    least = 0.5 * 10.0**-digits
    return [
        [f"{value:.{digits}f}".replace("-", "−") if abs(value) >= least else "" for value in row]
        for row in cells.tolist()
    ]


def similarity_heatmap(
    matrix: object,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    *,
    title: str = "part of the cosine",
    axes: tuple[str, str] = ("sentence A", "sentence B"),
    limit: float | None = None,
    selected: tuple[int | None, int | None] | None = None,
    square: bool = True,
) -> go.Figure:
    """A number for each pair of tokens: teal adds to the similarity, orange takes from it.

    matrix [R, C]; row_labels [R], column_labels [C]: the tokens; title: of the colour bar; axes: titles of the
    axes, down and across; limit: the number that gets the full colour, by default the largest; selected: (row, column),
    framed, either may be None; square: whether cells are square, or fill the width and, where it suffices, hold their
    numbers.

    Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(matrix, name="matrix", ndim=2)
    n_rows, n_columns = values.shape
    rows = check_labels(row_labels, n_rows, "row_labels")
    columns = check_labels(column_labels, n_columns, "column_labels")
    limit = symmetric_limit(values) if limit is None else float(limit)
    across = token_axis(columns, 0, n_columns, title=axes[1])
    down = token_axis(rows, 0, n_rows, title=axes[0], downwards=True)
    if square and max(values.shape) <= SQUARE_UP_TO:
        across, down = across | SQUARE_ACROSS, down | SQUARE_DOWN
    row, column = selected or (None, None)
    frames = [] if row is None else band(row=row, colour=colour.QUERY)
    frames += [] if column is None else band(column=column, colour=colour.KEY)
    cells = signed_heatmap(values, "signed", limit, "%{y} and %{x}: %{z:+.3g}", title)
    if not square and n_columns <= WRITTEN_UP_TO:
        _write(cells, values, 2)
    return go.Figure(
        cells,
        neutral_layout(margin=margin(8), xaxis=across, yaxis=down, shapes=frames, uirevision=f"{n_rows}x{n_columns}"),
    )


def caption_bars(texts: Sequence[str], probabilities: object, *, marked: str | None = None) -> go.Figure:
    """A bar for each of N captions, in their order, on an axis from 0 to 1. marked: the caption with a frame."""
    shown = [short(text) for text in texts]
    figure = word_bars(shown, probabilities, largest=1.0, marked=None if marked is None else short(marked))
    figure.update_layout(meta={"ends": True})
    figure.update_traces(customdata=[html.escape(isolated(text[:LONGEST_HOVER])) for text in texts])
    return figure
