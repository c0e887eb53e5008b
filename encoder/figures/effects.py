"""The effect of every head as a map. Shapes: L layers downwards, H heads to the right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, component_axis, margin, neutral_layout
from encoder.figures.plotly_traces import signed_heatmap
from encoder.figures.vectors import symmetric_limit


def effect_map(
    effects: object,
    selected: tuple[int, int] | None = None,
    switched_off: Sequence[tuple[int, int]] = (),
    title: str = "effect of switching the head off",
) -> go.Figure:
    """effects [L, H], coloured around 0; NaN, where an effect is still missing, stays empty.

    selected: (layer, head) with a frame; switched_off: heads with a cross; title: of the numbers, on the colour bar.
    """
    values = as_array(effects, name="effects", ndim=2)
    n_layers, n_heads = values.shape
    finite = values[np.isfinite(values)]
    limit = symmetric_limit(finite) if finite.size else 1.0
    what = "effect " if title.startswith("effect") else ""
    cells = signed_heatmap(values, "signed", limit, f"L%{{y}} H%{{x}}: {what}%{{z:+.4g}}", title)
    cells.hoverongaps = False
    cells.xgap = cells.ygap = 1
    figure = go.Figure(cells, neutral_layout(margin=margin(62), uirevision=f"{n_layers}/{n_heads}"))
    figure.update_layout(
        xaxis=component_axis(n_heads, title="head"),
        yaxis=component_axis(n_layers, title="layer", downwards=True),
        shapes=[] if selected is None else [_frame(*selected)],
    )
    for layer, head in switched_off:
        figure.add_annotation(
            x=head, y=layer, text="✕", showarrow=False, font={"size": 12, "color": "#ffffff"},
            bgcolor=colour.EMPHASIS_LABEL, borderpad=2,
        )  # fmt: skip
    return figure


def _frame(layer: int, head: int) -> dict[str, object]:
    return {
        "type": "rect", "x0": head - 0.5, "x1": head + 0.5, "y0": layer - 0.5, "y1": layer + 0.5,
        "line": {"color": colour.EMPHASIS, "width": 2.5},
    }  # fmt: skip
