"""How pairs of tokens share the similarity of two texts, and how well other measures agree with a deletion test.

Shapes: R rows, tokens of the first text; C columns, tokens of the second; M measures.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.attention import SQUARE_ACROSS, SQUARE_DOWN, SQUARE_UP_TO
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, token_axis
from encoder.figures.marks import band
from encoder.figures.plotly_traces import signed_heatmap
from encoder.figures.vectors import symmetric_limit


def similarity_heatmap(
    matrix: object,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    *,
    title: str = "part of the cosine",
    limit: float | None = None,
    selected: tuple[int | None, int | None] | None = None,
) -> go.Figure:
    """A number for each pair of tokens: teal adds to the similarity, orange takes from it.

    matrix [R, C]; row_labels [R], column_labels [C]: the tokens; title: of the colour bar; limit: the number that gets
    the full colour, by default the largest; selected: (row, column), either may be None: framed.

    Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(matrix, name="matrix", ndim=2)
    n_rows, n_columns = values.shape
    rows = check_labels(row_labels, n_rows, "row_labels")
    columns = check_labels(column_labels, n_columns, "column_labels")
    limit = symmetric_limit(values) if limit is None else float(limit)
    across = token_axis(columns, 0, n_columns, title="sentence B")
    down = token_axis(rows, 0, n_rows, title="sentence A", downwards=True)
    if max(values.shape) <= SQUARE_UP_TO:
        across, down = across | SQUARE_ACROSS, down | SQUARE_DOWN
    row, column = selected or (None, None)
    frames = [] if row is None else band(row=row, colour=colour.QUERY)
    frames += [] if column is None else band(column=column, colour=colour.KEY)
    return go.Figure(
        signed_heatmap(values, "signed", limit, "%{y} and %{x}: %{z:+.3g}", title),
        neutral_layout(margin=margin(8), xaxis=across, yaxis=down, shapes=frames, uirevision=f"{n_rows}x{n_columns}"),
    )
