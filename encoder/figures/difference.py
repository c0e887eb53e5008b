"""Two attention maps compared: their difference around 0, and the steps that only one of them has.

Shapes: A steps of an alignment downwards (queries) and to the right (keys).
"""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.attention import SQUARE_ACROSS, SQUARE_DOWN, SQUARE_UP_TO, THIN_ABOVE, block_names
from encoder.figures.axes import (
    as_array,
    check_labels,
    heading,
    margin,
    neutral_layout,
    shown_label,
    token_axis,
)
from encoder.figures.marks import mark
from encoder.figures.plotly_traces import signed_heatmap
from encoder.figures.vectors import symmetric_limit

#: The two ends of the signed colour scale: the first side has more, the second side has more.
LESS, MORE = colour.SIGNED["signed"]
#: Characters of the text above a map.
LONGEST_TITLE = 34
#: Up to this many steps a hover label shows both weights, above only their difference.
BOTH_WEIGHTS = 128


def attention_difference(
    difference: object,
    labels: Sequence[str],
    *,
    names: tuple[str, str] = ("A", "B"),
    weights: tuple[object, object] | None = None,
    limit: float | None = None,
    selected: tuple[int | None, int | None] | None = None,
    block: int = 1,
    disambiguated: Sequence[str] | None = None,
    square: bool = True,
) -> go.Figure:
    """The second map minus the first: teal where the second attends more, orange where the first does.

    Args:
        difference: [S, S]; NaN, where a side has no such query or key, is left empty.
        labels: one a step of the alignment.
        names: of the two sides, for hover labels and the colour bar.
        weights: both maps [S, S], for hover labels.
        limit: the difference of the full colour, at both ends; by default the largest.
        selected: (query step, key step), each may be None: framed.
        block: a cell is the difference farthest from 0 among block x block pairs of steps.
        disambiguated: the name of each step in hover labels, as `align.disambiguate` gives it: "the (4 | 6)".
        square: cells of short texts are squares; otherwise the map fills its space.

    Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(difference, name="difference", ndim=2)
    n_rows, n_columns = values.shape
    labels = check_labels(labels, (max(values.shape) - 1) * block + 1, "labels")
    limit = symmetric_limit(values) if limit is None else float(limit)
    unit = "" if block == 1 else f", {block} tokens a cell"
    ticks = block_names(labels, block)
    names_of_steps = disambiguated if block == 1 else None
    across = token_axis(ticks, 0, n_columns, title="attends to (key)" + unit, names=names_of_steps)
    down = token_axis(ticks, 0, n_rows, title="attends from (query)" + unit, downwards=True, names=names_of_steps)
    if square and max(values.shape) <= SQUARE_UP_TO:
        across, down = across | SQUARE_ACROSS, down | SQUARE_DOWN
    first, second = (shown_label(name) for name in names)
    hover = f"%{{y}} to %{{x}}: {second} − {first} = %{{z:+.3g}}"
    cells = signed_heatmap(values, "signed", limit, hover, f"{first} more ← → {second} more")
    cells.hoverongaps = False
    figure = go.Figure(
        cells, neutral_layout(margin=margin(8), xaxis=across, yaxis=down, uirevision=f"{n_rows}/{block}")
    )
    if weights is not None and block == 1 and max(values.shape) <= BOTH_WEIGHTS:
        both = np.stack([as_array(one, name="weights", ndim=2) for one in weights], axis=-1)
        label = f"{first} %{{customdata[0]:.3g}}, {second} %{{customdata[1]:.3g}}, difference %{{z:+.3g}}"
        figure.update_traces(customdata=both, hovertemplate=f"%{{y}} to %{{x}}: {label}<extra></extra>")
    mark_steps(figure, ticks, selected, block)
    return figure


def mark_steps(
    figure: go.Figure, ticks: Sequence[str], selected: tuple[int | None, int | None] | None, block: int = 1
) -> None:
    """Frame the row and the column of the selected steps."""
    rows, columns = (
        {step // block: ticks[step // block]} if step is not None and step // block < len(ticks) else {}
        for step in selected or (None, None)
    )
    mark(figure, rows, columns, thin=len(ticks) > THIN_ABOVE)


def show_gaps(figure: go.Figure, rows: Sequence[int], columns: Sequence[int] | None = None) -> go.Figure:
    """Grey out the rows and columns at which a map has no token, neighbours as one band. columns: by default `rows`."""
    shade = {"type": "rect", "layer": "above", "line": {"width": 0}, "fillcolor": colour.faded(colour.NEUTRAL, 0.22)}
    across = {"x0": 0, "x1": 1, "xref": "x domain", "yref": "y"}
    down = {"y0": 0, "y1": 1, "yref": "y domain", "xref": "x"}
    bands = [{**shade, **across, "y0": low - 0.5, "y1": high + 0.5} for low, high in runs(rows)]
    places = runs(rows if columns is None else columns)
    bands += [{**shade, **down, "x0": low - 0.5, "x1": high + 0.5} for low, high in places]
    figure.update_traces(hoverongaps=False, selector={"type": "heatmap"})
    # Set, not updated: an update would merge each new shape into the old one at its place.
    figure.layout.shapes = (*bands, *figure.layout.shapes)
    return figure


#: Pixels above a map for its colour bar and the name of its side.
NAMED = 92


def name_side(figure: go.Figure, name: str, text: str = "", shade: str | None = None, sign: str = "●") -> go.Figure:
    """Write above a map which side it is: a sign in its colour, its name, and a text, cut if it is long."""
    cut = text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"
    dot = "" if shade is None else f'<span style="color:{shade}">{sign}</span> '
    words = f"{dot}<b>{html.escape(name, quote=False)}</b> {html.escape(cut, quote=False)}"
    # The words above the colour bar, and as much for every side: a long title of the bar would move its map down.
    figure.update_layout(margin_t=NAMED)
    return figure.add_annotation(heading("") | {"text": words, "font": {"size": 14}})


def runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending places -> (first, last) of each run of neighbours."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and place == found[-1][1] + 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return found
