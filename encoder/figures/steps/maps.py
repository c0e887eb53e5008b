"""Maps of the forward pass: vectors below each other, weight matrices, scores, a padded batch, cosines.

Shapes: T tokens, D components, S stages of the residual stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, component_axis, margin, neutral_layout, shown_label, token_axis
from encoder.figures.marks import band, mark
from encoder.figures.plotly_traces import heatmap, signed_heatmap
from encoder.figures.vectors import robust_limit, symmetric_limit, vectors_heatmap


def usual_limit(values: object, share: float = 0.99) -> float:
    """The absolute value that 99 % of the numbers stay below, so that a few large ones do not take all colours."""
    return robust_limit(values, share)


def stacked_rows(
    rows: Mapping[str, object],
    *,
    component: int | None = None,
    kind: str = "residual",
    component_name: str = "component",
    limit: float | None = None,
) -> go.Figure:
    """Named vectors [D] below each other: the terms of a sum, and the sum.

    rows: name -> [D]; component: the framed column; limit: the value of the full colour, by default `usual_limit`.
    Raises ValueError where there is no row or where lengths differ.
    """
    if not rows:
        raise ValueError("rows is empty: give at least one vector.")
    arrays = [as_array(row, name=name, ndim=1) for name, row in rows.items()]
    if len({len(row) for row in arrays}) != 1:
        raise ValueError(f"The rows have {[len(row) for row in arrays]} components: give each the same number.")
    values = np.stack(arrays)
    limit = usual_limit(values) if limit is None else limit
    layout = neutral_layout(
        margin=margin(60),
        xaxis=component_axis(values.shape[1], title=component_name),
        yaxis=token_axis(list(rows), 0, len(rows), title="", downwards=True),
        shapes=[] if component is None else band(column=component, colour=colour.EMPHASIS_LABEL, thin=True),
        uirevision=f"{values.shape}",
    )
    return go.Figure(signed_heatmap(values, kind, limit, f"%{{y}}, {component_name} %{{x}}: %{{z:.4f}}"), layout)


def sum_of_rows(
    rows: object, total: object, labels: Sequence[str], kind: str, *, name: str, selected: int, component: int
) -> go.Figure:
    """Rows [T, K], one a token, and below a line their sum [K] under its `name`.

    labels: of the T tokens; selected: the framed row; component: the framed column. In a long text only some rows are
    drawn, and `total` is the sum of all.
    """
    values = np.concatenate((as_array(rows, name="rows", ndim=2), as_array(total, name="total", ndim=1)[None]))
    count = len(values) - 1
    named = [*check_labels(labels, count, "labels")[:count], name]
    figure = vectors_heatmap(values, named, kind, selected=selected, component=component)
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": count - 0.5, "y1": count - 0.5}
    figure.add_shape(**line, line={"color": colour.NEUTRAL, "width": 2})
    return figure


def weight_matrix(
    weight: object, *, column: int | None = None, kind: str = "signed", row_name: str = "d", column_name: str = "c"
) -> go.Figure:
    """A weight matrix [A, C], inputs downwards, outputs to the right. column: the framed one."""
    values = as_array(weight, name="weight", ndim=2)
    hover = f"{row_name} %{{y}}, {column_name} %{{x}}: %{{z:.4f}}"
    shades = {"q": colour.QUERY_LABEL, "k": colour.KEY_LABEL, "v": colour.VALUE_LABEL}
    shade = shades.get(kind, colour.EMPHASIS_LABEL)
    layout = neutral_layout(
        margin=margin(60),
        xaxis=component_axis(values.shape[1], title=column_name),
        yaxis=component_axis(values.shape[0], title=row_name, downwards=True),
        shapes=[] if column is None else band(column=column, colour=shade, thin=values.shape[1] > 60),
        uirevision=f"{values.shape}",
    )
    return go.Figure(signed_heatmap(values, kind, usual_limit(values), hover), layout)


def score_map(
    scores: object,
    allowed: object,
    labels: Sequence[str],
    *,
    selected: tuple[int | None, int | None] = (None, None),
    first: tuple[int, int] = (0, 0),
) -> go.Figure:
    """Scores [Ti, Tj] before the softmax, coloured around 0; masked pairs are empty.

    first: the query of the first row and the key of the first column, when a part of a longer text is drawn.
    """
    values = as_array(scores, name="scores", ndim=2)
    n_rows, n_columns = values.shape
    seen = np.asarray(allowed, dtype=bool)
    limit = symmetric_limit(np.where(seen, values, 0.0))
    labels = check_labels(labels, max(first[0] + n_rows, first[1] + n_columns), "labels")
    layout = neutral_layout(
        margin=margin(60),
        xaxis=token_axis(labels, first[1], n_columns, title="attends to (key)"),
        yaxis=token_axis(labels, first[0], n_rows, title="attends from (query)", downwards=True),
        uirevision=f"{values.shape}+{first}",
    )
    shown = np.where(seen, values, np.nan)
    cells = signed_heatmap(shown, "residual", limit, "%{y} → %{x}: score %{z:.3f}", "score", first)
    figure = go.Figure(cells, layout)
    rows, columns = (
        {place: labels[place] for place in (chosen,) if place is not None and start <= place < start + count}
        for chosen, start, count in zip(selected, first, values.shape, strict=True)
    )
    mark(figure, rows, columns, thin=max(values.shape) > 60)
    return figure


def cosines(
    to_start: object, stages: Sequence[str], labels: Sequence[str], *, selected: int | None = None
) -> go.Figure:
    """Cosine [S, T] of every token with its own embedding: rows are stages, columns tokens."""
    values = as_array(to_start, name="to_start", ndim=2)
    n_stages, n_tokens = values.shape
    labels, stages = check_labels(labels, n_tokens, "labels"), check_labels(stages, n_stages, "stages")
    layout = neutral_layout(
        margin=margin(60),
        xaxis=token_axis(labels, 0, n_tokens, title="token"),
        yaxis=token_axis(stages, 0, n_stages, title="", downwards=True),
        shapes=[] if selected is None else band(column=selected, colour=colour.EMPHASIS, thin=n_tokens > 60),
    )
    title = "cosine with its own embedding"
    return go.Figure(signed_heatmap(values, "residual", 1.0, "%{x}, %{y}: cosine %{z:.3f}", title), layout)


def padding_mask(mask: object, tokens: Sequence[Sequence[str]]) -> go.Figure:
    """A padded batch: a row a sentence, a cell a token; real tokens filled, padding empty.

    mask: [B, T], true for a real token; tokens: B sequences of T labels, shown under the pointer, and in the cells of
    short batches.
    """
    real = np.asarray(mask, dtype=bool)
    if real.ndim != 2 or not real.size:
        raise ValueError(f"mask has shape {list(real.shape)}: a matrix [B, T] is needed.")
    names = [[shown_label(str(token)) for token in row] for row in tokens]
    kinds = np.where(real, "real", "padding")
    text = [[f"{token}: {kind}" for token, kind in zip(*rows, strict=True)] for rows in zip(names, kinds, strict=True)]
    n_rows, n_columns = real.shape
    shades = ((0.0, "rgba(125,123,138,0.10)"), (1.0, colour.faded(colour.EMPHASIS, 0.38)))
    gaps: dict[str, Any] = {"xgap": 2 if n_columns <= 64 else 0, "ygap": 2, "showscale": False}
    cells = heatmap(real.astype(np.uint8), (0, 1), shades, {}, "%{text}", text=np.array(text, dtype=object), **gaps)
    sentences = [f"sentence {index + 1}" for index in range(n_rows)]
    layout = neutral_layout(
        margin=margin(12),
        xaxis=component_axis(n_columns, title="position"),
        yaxis=token_axis(sentences, 0, n_rows, title="", downwards=True),
    )
    figure = go.Figure(cells, layout)
    if n_columns <= 16:
        for row, line in enumerate(names):
            for column, token in enumerate(line):
                figure.add_annotation(
                    x=column, y=row, text=token[:10], showarrow=False, textangle=-60, font={"size": 10}
                )
    return figure
