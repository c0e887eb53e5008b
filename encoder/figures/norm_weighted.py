"""Norm-weighted attention and attention rollout, as maps and charts. Shapes: L layers, T tokens (queries i, keys j)."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.attention import LOG_DECADES, attention_heatmap, attention_window
from encoder.figures.axes import as_array, logarithmic_bar, margin, neutral_layout, plain_axis
from encoder.figures.plotly_traces import LEGEND, curve

#: The series of the charts: attention, norm-weighted attention, an average word.
ATTENTION, NORM_WEIGHTED, WORD = colour.SERIES[0], colour.SERIES[1], colour.NEUTRAL

#: kind of map -> (title of its colour bar, titles of the axes across and down).
_AXES = ("attends to (key)", "attends from (query)")
_KINDS = {
    "share": ("norm-weighted share", *_AXES),
    "length": ("weight × norm", *_AXES),
    "rollout": ("attention rollout", "input token", "token after the layer"),
}


def weighted_heatmap(
    values: object,
    labels: Sequence[str],
    kind: Literal["share", "length", "rollout"],
    *,
    largest: float = 1.0,
    log: bool = False,
    colours: str = "blue",
    selected: tuple[int | None, int | None] | None = None,
    block: int = 1,
    row_offset: int = 0,
    column_offset: int = 0,
    window: bool = False,
) -> go.Figure:
    """Norm-weighted attention or attention rollout as a map: rows are queries, columns are keys.

    values: [Ti, Tj], none below 0. labels: one for every token of the whole text. kind: "share" (of the sum of alpha
    ||f|| in a row), "length" (alpha ||f|| itself) or "rollout". largest: the value of the last colour. log, colours,
    selected, block, row_offset, column_offset: as in `attention_heatmap`. window: the axes run over all tokens of the
    text, as in `attention_window`.
    """
    top = float(largest) if np.isfinite(largest) and largest > 0 else 1.0
    look: dict[str, Any] = {"log": log, "colours": colours, "selected": selected, "block": block, "scale": top}
    look |= {"row_offset": row_offset, "column_offset": column_offset}
    figure = (attention_window if window else attention_heatmap)(values, labels, **look)
    title, across, down = _KINDS[kind]
    unit = "" if block == 1 else f", {block} tokens a cell"
    figure.update_layout({"xaxis.title.text": across + unit, "yaxis.title.text": down + unit})
    name = title if block == 1 else f"largest {title}"
    says = f"%{{y}} to %{{x}}: {name} %{{z:.3g}}<extra></extra>"
    figure.update_traces({"hovertemplate": says, "colorbar": {"title": {"text": name}}}, selector={"type": "heatmap"})
    if log:
        figure.update(data=[figure.data[0], logarithmic_bar(name, top, colours, LOG_DECADES)], overwrite=True)
    return figure


def shares_by_layer(
    attention: object, weighted: object, word: object, *, selected: int | None = None, opening: str = "[CLS]"
) -> go.Figure:
    """Three curves over the layers, [L] each. selected: the marked layer.

    attention: the opening token's share of the attention; weighted: its share of the norm-weighted attention; word: an
    average word's share of the norm-weighted attention.
    """
    names = (f"attention: {opening}", f"norm-weighted: {opening}", "norm-weighted: average word")
    series = (attention, weighted, word)
    rows = [as_array(values, name=name, ndim=1) for name, values in zip(names, series, strict=True)]
    figure = go.Figure(layout=neutral_layout(margin=margin(54, right=12)))
    looks = ((ATTENTION, "circle", "solid"), (NORM_WEIGHTED, "square", "solid"), (WORD, "diamond", "dot"))
    at = np.arange(len(rows[0]), dtype=np.int32)
    for name, values, (shade, symbol, dash) in zip(names, rows, looks, strict=True):
        hover = f"layer %{{x}}, {name}: %{{y:.1%}}"
        figure.add_trace(curve(at, values, name, shade, hover, symbol=symbol, size=9, dash=dash))
    layers = {"dtick": 1} if len(rows[0]) <= 24 else {"nticks": 24}
    figure.update_layout(
        xaxis=plain_axis("layer") | layers | {"range": [-0.4, len(rows[0]) - 0.6], "tickangle": 0},
        yaxis=plain_axis("share") | {"tickformat": ".0%", "rangemode": "tozero"},
        legend=LEGEND | {"y": 1.02},
        uirevision=f"{len(rows[0])}",
    )
    if selected is not None:
        figure.add_vline(x=selected, line={"color": colour.EMPHASIS, "width": 1.5}, layer="below")
    return figure
