"""A window of a long text's attention map. Its axes count tokens, not cells, so that a zoom keeps its place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoder.figures import colours as colour
from encoder.figures.attention import (
    Parts,
    Positions,
    Scale,
    as_figure,
    attention_cells,
    divided,
    map_traces,
    positions,
    spans,
)
from encoder.figures.axes import BARE, as_array, disambiguate, margin, neutral_layout, shown_label, shown_name
from encoder.figures.marks import band

#: Up to this many tokens across, each one's label is written on the axis.
LABELLED_TOKENS = 40


def window_spec(
    attention: object,
    labels: Sequence[str],
    *,
    block: int,
    row_offset: int = 0,
    column_offset: int = 0,
    scale: Scale = "fixed",
    log: bool = False,
    colours: str = "viridis",
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
        xaxis=_axis(labels, columns, block, "attends to (key)" + unit),
        yaxis=_axis(labels, rows, block, "attends from (query)" + unit, downwards=True),
        shapes=[*divided(parts, 1), *bands],
        uirevision=f"{len(labels)} tokens",
    )
    return {"data": map_traces(cells, log, colours), "layout": layout}


attention_window = as_figure(window_spec)


def _axis(
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
