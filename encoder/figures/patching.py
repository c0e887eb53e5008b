"""Activation patching and attention knockout as maps.

Shapes: L layers downwards, P places to the right (tokens or heads), T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, colour_bar, component_axis, margin, neutral_layout, token_axis
from encoder.figures.marks import band
from encoder.figures.plotly_traces import heatmap, signed_heatmap
from encoder.figures.vectors import symmetric_limit


def pair_labels(labels: Sequence[str], others: Sequence[str]) -> list[str]:
    """The tokens of two texts that align: "it" where they are the same, "he / she" where they differ."""
    return [a if a == b else f"{a} / {b}" for a, b in zip(labels, others, strict=True)]


def patch_map(
    shares: object,
    labels: Sequence[str] | None = None,
    selected: tuple[int, int] | None = None,
    limit: float | None = None,
) -> go.Figure:
    """The share of the difference that each place carries, coloured around 0; NaN stays empty.

    shares [L, P]; labels: the tokens, None: the places are heads; selected: (layer, place) with a frame; limit: the
    share of the full colour, by default the largest. Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(shares, name="shares", ndim=2)
    n_layers, n_places = values.shape
    finite = values[np.isfinite(values)]
    what = "H" if labels is None else ""
    hover = f"layer %{{y}}, {what}%{{x}}: %{{z:.3f}} of the difference"
    if limit is None:
        limit = symmetric_limit(finite) if finite.size else 1.0
    cells = signed_heatmap(values, "signed", limit, hover, "share of the difference")
    return _layer_map(cells, labels, n_layers, n_places, selected)


def knock_out_map(effects: object, labels: Sequence[str]) -> go.Figure:
    """The effect of hiding each token from one query, coloured around 0; NaN, where it is still missing, stays empty.

    effects [L, T]; labels: the tokens. Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(effects, name="effects", ndim=2)
    finite = values[np.isfinite(values)]
    limit = symmetric_limit(finite) if finite.size else 1.0
    hover = "%{x} hidden around layer %{y}: effect %{z:+.4g}"
    cells = signed_heatmap(values, "signed", limit, hover, "effect of hiding the token")
    n_layers, n_tokens = values.shape
    return _layer_map(cells, labels, n_layers, n_tokens, None)


def displacement_map(
    moved: object, labels: Sequence[str], colours: str = "viridis", selected: tuple[int, int] | None = None
) -> go.Figure:
    """How far a patch moves each vector, relative to its norm: the input of each layer, and the output as last row.

    moved [L + 1, T]; selected: (row, token) with a frame. Raises ValueError for shapes or labels that do not fit.
    """
    values = as_array(moved, name="moved", ndim=2)
    n_rows, n_tokens = values.shape
    bar = colour_bar("change / norm", nticks=5)
    hover = "row %{y}, %{x}: moved by %{z:.3g} of its norm"
    limits = (0.0, float(values.max()) or 1.0)
    cells = heatmap(values, limits, colour.sequential(colours), bar, hover)
    figure = _layer_map(cells, labels, n_rows, n_tokens, selected)
    names = [*(f"into L{layer}" for layer in range(n_rows - 1)), "output"]
    figure.update_yaxes(tickmode="array", tickvals=list(range(n_rows)), ticktext=names, title=None)
    return figure


def _layer_map(
    cells: go.Heatmap, labels: Sequence[str] | None, n_rows: int, n_places: int, selected: tuple[int, int] | None
) -> go.Figure:
    cells.hoverongaps = False
    cells.xgap = cells.ygap = 1
    if labels is None:
        across = component_axis(n_places, title="head")
    else:
        across = token_axis(check_labels(labels, n_places, "labels"), 0, n_places, title="token")
    frame = [] if selected is None else band(row=selected[0], column=selected[1], colour=colour.EMPHASIS)
    return go.Figure(
        cells,
        neutral_layout(
            margin=margin(62),
            xaxis=across,
            yaxis=component_axis(n_rows, title="layer", downwards=True),
            shapes=frame,
            uirevision=f"{n_rows}x{n_places}",
        ),
    )
