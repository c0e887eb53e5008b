"""The figures of a head, drawn over one cell: a page in the browser fills them with numbers (`browser/figures.js`)."""

import json
from typing import Any

import plotly.graph_objects as go

from encoder.drawing.picture import figure_json
from encoder.figures import attention, difference, vectors

#: What has the place of a name in the words of a figure.
NAME, TEXT, LESS, MORE = "{name}", "{text}", "{less}", "{more}"
ONE, LABEL, SELECTED = [[1.0]], [" "], (0, 0)


def blank_figures() -> dict[str, Any]:
    """Figure -> {data, layout, thin}: the map of a head, its queries, keys and values ("q", "k", "v"), both sides of a
    comparison ("less", "more"), and "difference"; `gap` has the bands where a side has no token.

    thin: of more rows or columns, the frames of selected ones are thin.
    """
    sides = {
        name: difference.name_side(difference.show_gaps(_map(square=False), []), NAME, TEXT, shade)
        for name, shade in (("less", difference.LESS), ("more", difference.MORE))
    }
    changed = difference.attention_difference(
        ONE, LABEL, names=(LESS, MORE), weights=(ONE, ONE), selected=SELECTED, square=False
    )
    of_maps = {"map": _map(), **sides, "difference": difference.name_side(changed, f"{MORE} − {LESS}")}
    made = {name: _blank(figure, attention.THIN_ABOVE) for name, figure in of_maps.items()}
    for kind in "qkv":
        # Of more than twelve components the axis names some.
        figure = vectors.vectors_heatmap([[1.0] * 13], LABEL, kind, title=vectors.TITLES[kind], selected=0)
        made[kind] = _blank(figure, vectors.THIN_ABOVE)
    return {**made, "gap": _blank(difference.show_gaps(go.Figure(), [0]), 0)["layout"]["shapes"]}


def _map(**options: Any) -> go.Figure:
    return attention.attention_heatmap(ONE, LABEL, selected=SELECTED, **options)


def _blank(figure: go.Figure, thin: int) -> dict[str, Any]:
    """A figure without its numbers."""
    for trace in figure.data:
        trace.update(x=None, y=None, z=None, customdata=None)
    drawn = json.loads(figure_json(figure))
    for axis in ("xaxis", "yaxis"):
        for name in ("tickvals", "ticktext", "labelalias", "categoryarray", "range"):
            drawn["layout"].get(axis, {}).pop(name, None)
    return {**drawn, "thin": thin}
