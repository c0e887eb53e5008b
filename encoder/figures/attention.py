"""Attention maps. Shapes: Ti queries downwards (axis i), Tj keys to the right (axis j): rows attend to columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, ParamSpec

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    BARE,
    as_array,
    check_labels,
    colour_bar,
    disambiguate,
    ends_below,
    heading,
    logarithmic_bar,
    margin,
    neutral_layout,
    shown_label,
    shown_name,
    token_axis,
)
from encoder.figures.marks import band, dividers, selection_marks

P = ParamSpec("P")

#: Powers of ten that the colours span on a logarithmic scale; smaller weights get the lowest colour.
LOG_DECADES = 4
#: Up to this many tokens cells are square; longer texts fill the width of the plot.
SQUARE_UP_TO = 40
#: Up to this many tokens across, each one's label is written on the axis.
LABELLED_TOKENS = 40
#: Above this many tokens a cell is a few pixels wide: a thin frame does not hide its neighbours.
THIN_ABOVE = 100
#: Added to both axes so that cells are squares at the lower left: if the labels' axis moved with the cells' size, the
#: margin for the labels would change the size again.
SQUARE_ACROSS = {"constrain": "domain", "constraintoward": "left"}
SQUARE_DOWN = {"scaleanchor": "x", "scaleratio": 1, "constrain": "domain", "constraintoward": "bottom"}

Scale = Literal["fixed", "head"] | float
#: One selected token, several, or none.
Positions = int | Sequence[int] | None
#: Row and column with which the second sentence of a pair begins; None: the axis has one sentence.
Parts = tuple[int | None, int | None]
#: Positions of the rows, and of the columns, in the text; None: the row or column is not a token.
Places = tuple[Sequence[int | None], Sequence[int | None]]


@dataclass(frozen=True)
class AttentionCells:
    """The numbers of an attention map. weights [rows, columns] float32; rows, columns: the cell's place on its axis.

    A place counts blocks of `block` tokens: cell (r, c) shows query tokens rows[r] x block onwards, key tokens
    columns[c] x block onwards. query_names and key_names: what the axis calls each place, from place 0 on.
    """

    weights: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    query_names: list[str]
    key_names: list[str]
    largest: float
    block: int


def attention_cells(
    attention: object,
    labels: Sequence[str],
    *,
    key_labels: Sequence[str] | None = None,
    scale: Scale = "fixed",
    block: int = 1,
    row_offset: int = 0,
    column_offset: int = 0,
) -> AttentionCells:
    """attention [Ti, Tj] -> what `attention_heatmap` draws, its arguments checked; see there."""
    given = isinstance(scale, (int, float)) and scale > 0
    if not given and scale not in ("fixed", "head"):
        raise ValueError(f"scale={scale!r}: choose 'fixed' (0 to 1), 'head' (0 to the largest weight) or a number.")
    if block < 1 or row_offset < 0 or column_offset < 0 or row_offset % block or column_offset % block:
        raise ValueError(
            f"block={block}, row_offset={row_offset}, column_offset={column_offset}: "
            "the block must be at least 1, and an offset a multiple of it that is not negative."
        )
    weights = as_array(attention, name="attention", ndim=2)
    first_row, first_column = row_offset // block, column_offset // block
    key_labels = labels if key_labels is None else key_labels
    n_rows, n_columns = weights.shape
    queries = check_labels(labels, (first_row + n_rows - 1) * block + 1, "labels")
    keys = check_labels(key_labels, (first_column + n_columns - 1) * block + 1, "key_labels")
    finite = weights[np.isfinite(weights)]
    largest = float(finite.max()) if scale == "head" and finite.size else float(scale) if given else 1.0
    return AttentionCells(
        weights,
        first_row + np.arange(weights.shape[0], dtype=np.int32),
        first_column + np.arange(weights.shape[1], dtype=np.int32),
        block_names(queries, block),
        block_names(keys, block),
        largest if largest > 0 else 1.0,
        block,
    )


def block_names(labels: Sequence[str], block: int) -> list[str]:
    """The labels themselves, or for blocks of tokens which they are: "32–63"; a block cut short says so."""
    return list(labels) if block == 1 else spans(0, len(labels), block)


def spans(first: int, last: int, block: int) -> list[str]:
    """ "32–63" for each block from token `first` up to `last`, which is not included."""
    starts = range(first, last, block)
    ends = [min(start + block, last) - 1 for start in starts]
    return [f"{start}–{end}" if end > start else str(start) for start, end in zip(starts, ends, strict=True)]


def as_figure(spec: Callable[P, dict[str, Any]]) -> Callable[P, go.Figure]:
    """The drawing of `spec` as a Plotly figure, with the arguments and errors of `spec`."""

    @wraps(spec)
    def figure(*args: P.args, **options: P.kwargs) -> go.Figure:
        return go.Figure(spec(*args, **options))

    return figure


def attention_spec(
    attention: object,
    labels: Sequence[str],
    *,
    key_labels: Sequence[str] | None = None,
    title: str | None = None,
    scale: Scale = "fixed",
    log: bool = False,
    colours: str = "blue",
    selected: tuple[Positions, Positions] | None = None,
    block: int = 1,
    row_offset: int = 0,
    column_offset: int = 0,
    square: bool = True,
    places: Places | None = None,
    parts: Parts = (None, None),
) -> dict[str, Any]:
    """An attention map: row i shows what query token i attends to.

    `attention_heatmap` gives a Plotly figure, `attention_spec` plain dictionaries {"data", "layout"}: a page draws a
    map with every click, and the checks of Plotly's classes take a quarter of the page's time.

    Args:
        attention: [Ti, Tj], the weights (or block-wise maxima of them), as an array or a tensor on the CPU.
        labels: one for every query token of the text, also for those outside the window that is drawn.
        key_labels: the same for keys, if they are other tokens.
        title: the line above the map.
        scale: colours run from 0 to 1 ("fixed", comparable between heads), to the largest weight ("head"), or to a
            number that several maps share.
        log: colours follow log10 of the weight, over four decades; labels still show the weight itself.
        colours: the theme, one of `colours.THEMES`.
        selected: (query token i, key token j), each may be None or several: rows, columns and cells are framed.
        block: a cell is the largest weight among block x block pairs of tokens.
        row_offset, column_offset: the query and key token of cell (0, 0), when a window of a longer text is drawn.
        square: cells of short texts are squares; otherwise the map fills its space.
        places: positions of the queries and the keys in the text, if they differ from the places in the labels, as for
            words or for one sentence of a pair. Hover labels add them to repeated tokens.
        parts: the query and the key token with which the second sentence of a pair begins: a thin line is before it.

    The cell of query i and key j lies at y = i, x = j (divided by `block` where that is not 1). Raises ValueError for
    shapes, labels or options that do not fit.
    """
    offsets = {"row_offset": row_offset, "column_offset": column_offset}
    cells = attention_cells(attention, labels, key_labels=key_labels, scale=scale, block=block, **offsets)
    unit = "" if block == 1 else f", {block} tokens a cell"
    n_rows, n_columns = cells.weights.shape
    from_names, to_names = (None, None) if block > 1 else names_of_cells(cells.query_names, cells.key_names, places)
    title_to, title_from = "attends to (key)" + unit, "attends from (query)" + unit
    across = token_axis(cells.key_names, int(cells.columns[0]), n_columns, title=title_to, names=to_names)
    down = token_axis(cells.query_names, int(cells.rows[0]), n_rows, title=title_from, downwards=True, names=from_names)
    if square and max(n_rows, n_columns) <= SQUARE_UP_TO:
        across, down = across | SQUARE_ACROSS, down | SQUARE_DOWN
    shapes, pills = _marks(cells, selected or (None, None), upright=across["tickangle"] != 0)
    layout = neutral_layout(
        margin=margin(90 if title else 60),
        xaxis=across,
        yaxis=down,
        shapes=[*divided(parts, block), *shapes],
        annotations=[*([heading(title)] if title else []), *pills],
        # A new selection, head or colour keeps the zoom; another text or window resets it.
        uirevision=f"{n_rows}x{n_columns}/{block}+{row_offset},{column_offset}",
    )
    return {"data": map_traces(cells, log, colours), "layout": layout}


def divided(parts: Parts, block: int) -> list[dict[str, Any]]:
    """The lines between two sentences, on axes that count blocks of tokens."""
    row, column = (None if part is None else part / block for part in parts)
    return dividers(row, column)


attention_heatmap = as_figure(attention_spec)


def names_of_cells(queries: list[str], keys: list[str], places: Places | None) -> tuple[list[str], list[str]]:
    """The names of queries and keys in hover labels; a token that occurs more than once has its position, too."""
    if places is None:
        return disambiguate(queries), disambiguate(keys)
    # A token that is both a query and a key counts once; tokens of two sentences count separately.
    tokens = dict(zip([*places[0], *places[1]], [*queries, *keys], strict=True))
    return disambiguate(queries, places[0], tokens.values()), disambiguate(keys, places[1], tokens.values())


def map_traces(cells: AttentionCells, log: bool, theme: str) -> list[dict[str, Any]]:
    """The map, and on a logarithmic scale its colour bar, as Plotly's traces."""
    title = "attention weight" if cells.block == 1 else "largest attention weight"
    tokens, at_most = ("", "") if cells.block == 1 else ("tokens ", "at most ")
    says = "attends to" if cells.block == 1 else "to"
    is_stepped = not log and colour.is_beyond(cells.weights, cells.largest)
    scale = colour.stepped if is_stepped else colour.sequential
    heatmap = {
        "type": "heatmap",
        "z": cells.weights,
        "x": cells.columns,
        "y": cells.rows,
        "zmin": 0,
        "zmax": cells.largest * (colour.STEP if is_stepped else 1),
        "colorscale": colour.logarithmic(theme, 10.0**-LOG_DECADES) if log else scale(theme),
        "showscale": not log,
        "colorbar": colour_bar(title, **(ends_below(cells.largest) if is_stepped else {})),
        "hovertemplate": f"{tokens}%{{y}} {says} %{{x}}: {at_most}%{{z:.3g}}<extra></extra>",
    }
    if not log:
        return [heatmap]
    return [heatmap, logarithmic_bar(title, cells.largest, theme, LOG_DECADES).to_plotly_json()]


def positions(selected: Positions) -> list[int]:
    """One selected token, several or none, as a list."""
    if selected is None:
        return []
    return [int(token) for token in np.atleast_1d(np.asarray(selected, dtype=np.int64))]


def _marks(
    cells: AttentionCells, selected: tuple[Positions, Positions], *, upright: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Frames and labels of the selected rows and columns inside the window."""
    rows, columns = (
        {place: names[place] for place in (token // cells.block for token in positions(tokens)) if place in places}
        for tokens, places, names in zip(
            selected, (cells.rows, cells.columns), (cells.query_names, cells.key_names), strict=True
        )
    )
    return selection_marks(rows, columns, thin=max(cells.weights.shape) > THIN_ABOVE, upright=upright)


# --- a window of a long text, whose axes count tokens and not cells, so that a zoom keeps its place -------------------


def window_spec(
    attention: object,
    labels: Sequence[str],
    *,
    block: int,
    row_offset: int = 0,
    column_offset: int = 0,
    scale: Scale = "fixed",
    log: bool = False,
    colours: str = "blue",
    selected: tuple[Positions, Positions] | None = None,
    parts: Parts = (None, None),
) -> dict[str, Any]:
    """Part of the attention map of a long text, exact or in blocks, on axes of all its tokens.

    attention: [rows, columns], the weights of the window, or their block-wise maxima. labels: of all T tokens of the
    text. block: cell (r, c) shows query tokens row_offset + r x block onwards, and as many key tokens. row_offset,
    column_offset: first query and key token of the window. scale, log, colours, selected, parts: as in
    `attention_spec`.

    Returns {"data", "layout"}. The axes run over all T tokens, so a zoom survives the next window of the same text.
    """
    weights = as_array(attention, name="attention", ndim=2)
    cells = attention_cells(weights, [""] * (max(weights.shape) * block), scale=scale, block=block)
    n_rows, n_columns = weights.shape
    rows = row_offset + block * np.arange(n_rows) + (block - 1) / 2
    columns = column_offset + block * np.arange(n_columns) + (block - 1) / 2
    cells = replace(cells, rows=rows.astype(np.float32), columns=columns.astype(np.float32))
    unit = "" if block == 1 else f", {block} tokens a cell"
    queries, keys = selected or (None, None)
    bands = [shape for token in positions(queries) for shape in band(row=token, colour=colour.QUERY, thin=True)]
    bands += [shape for token in positions(keys) for shape in band(column=token, colour=colour.KEY, thin=True)]
    layout = neutral_layout(
        margin=margin(60),
        xaxis=_window_axis(labels, columns, block, "attends to (key)" + unit),
        yaxis=_window_axis(labels, rows, block, "attends from (query)" + unit, downwards=True),
        shapes=[*divided(parts, 1), *bands],
        uirevision=f"{len(labels)} tokens",
    )
    return {"data": map_traces(cells, log, colours), "layout": layout}


attention_window = as_figure(window_spec)


def _window_axis(
    labels: Sequence[str], centres: np.ndarray, block: int, title: str, downwards: bool = False
) -> dict[str, Any]:
    """An axis that counts tokens. Names of its cells: the tokens, or the first and last token of a block."""
    ends = [-0.5, len(labels) - 0.5]
    first = round(float(centres[0]) - (block - 1) / 2)
    last = min(first + block * len(centres), len(labels))
    named = block == 1 and last - first <= LABELLED_TOKENS
    texts = [shown_label(label) for label in labels[first:last]] if block == 1 else spans(first, last, block)
    disambiguated = texts
    if block == 1:
        disambiguated = [
            shown_name(*both) for both in zip(labels[first:last], disambiguate(labels)[first:last], strict=True)
        ]
    axis: dict[str, Any] = {
        "type": "linear",
        "range": ends[::-1] if downwards else ends,
        "autorange": False,
        "minallowed": ends[0],
        "maxallowed": ends[1],
        "tickmode": "auto",
        "tickformat": "d",
        "tickvals": centres.astype(np.float32),
        "ticktext": texts if named else disambiguated,  # where ticks are numbers, only hover labels use this
        "title": {"text": title, "standoff": 10},
        **BARE,
    }
    if named:
        axis |= {
            "tickmode": "linear",
            "tick0": 0,
            "dtick": 1,
            "labelalias": {str(first + k): name for k, name in enumerate(disambiguated)},
            "tickangle": 0 if downwards else -90,
        }
    return axis
