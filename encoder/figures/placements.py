"""Two placements of the norms side by side: a colour each, everywhere; curves over the layers.

Shapes: L layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import (
    as_array,
    neutral_layout,
    plain_axis,
)

#: The two ends of the signed colourscale: where a difference map is teal, pre-norm has more; orange, post-norm.
PLACEMENT_COLOURS = {"pre": colour.SIGNED["signed"][1], "post": colour.SIGNED["signed"][0]}
PLACEMENT_NAMES = {"pre": "pre-norm", "post": "post-norm"}
_SYMBOLS = {"pre": "circle", "post": "square"}
LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
DASHES = ("solid", "dash", "dot", "dashdot")


def layer_curves(
    curves: Mapping[str, Mapping[str, object]],
    title: str,
    *,
    ticks: Sequence[str] | None = None,
    log: bool = False,
    low: float | None = None,
    across: str = "layer",
) -> go.Figure:
    """A number a layer, a line for each placement and each kind: colour says the placement, the dash the kind.

    Args:
        curves: placement -> kind -> values [L]. A single kind may be called "".
        title: of the upright axis, with its unit.
        ticks: names of the places on the level axis; by default 0, 1, 2, ...
        log: the upright axis is logarithmic.
        low: where the upright axis begins at the latest.
        across: title of the level axis.

    Raises:
        ValueError: an unknown placement, or values that are no vector.
    """
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    n_places, floor = 0, low
    for placement, kinds in curves.items():
        if placement not in PLACEMENT_COLOURS:
            raise ValueError(f"placement={placement!r}: choose one of {', '.join(PLACEMENT_COLOURS)}.")
        for number, (kind, values) in enumerate(kinds.items()):
            array = as_array(values, name=f"{placement} {kind}".strip(), ndim=1)
            n_places = max(n_places, len(array))
            floor = None if floor is None else min(floor, float(np.nanmin(array)))
            name = " · ".join(part for part in (PLACEMENT_NAMES[placement], kind) if part)
            figure.add_scatter(
                x=np.arange(len(array), dtype=np.int32),
                y=array,
                name=name,
                mode="lines+markers",
                marker={"symbol": _SYMBOLS[placement], "size": 7},
                cliponaxis=False,  # the highest point lies on the plot's upper edge, which would halve it
                line={"color": PLACEMENT_COLOURS[placement], "width": 2, "dash": DASHES[number % len(DASHES)]},
                hovertemplate=f"{name}, %{{x}}: %{{y:.4g}}<extra></extra>",
            )
    names = list(ticks) if ticks is not None else [str(place) for place in range(n_places)]
    every = -(-len(names) // 16)
    figure.update_xaxes(
        plain_axis(across),
        range=[-0.3, n_places - 0.7],
        tickvals=list(range(0, n_places, every)),
        ticktext=names[:n_places:every],
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(plain_axis(title), type="log" if log else "linear")
    if floor is not None and not log:
        figure.update_yaxes(range=[floor, None], autorangeoptions={"include": floor})
    return figure


def norm_curves(
    rows: Mapping[str, tuple[Sequence[str], object, object]], title: str, *, log: bool = False
) -> go.Figure:
    """A number a norm with its spread, a line for each placement, by the owner of the norm.

    rows: placement -> (names of the norms as an axis shows them, values [N], spread [N] or None). A norm that only one
    placement has leaves a gap in the other's line. Raises ValueError for values that do not fit their names.
    """
    order = max((list(names) for names, _, _ in rows.values()), key=len, default=[])
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for placement, (names, values, spread) in rows.items():
        array = as_array(values, name=placement, ndim=1)
        if len(array) != len(names):
            raise ValueError(f"{placement} has {len(array)} values for {len(names)} norms: one each is needed.")
        places = [order.index(name) for name in names]
        bars = None if spread is None else {"type": "data", "array": as_array(spread, name="spread", ndim=1)}
        figure.add_scatter(
            x=np.array(places, dtype=np.int32),
            y=array,
            error_y=bars,
            name=PLACEMENT_NAMES[placement],
            mode="lines+markers",
            marker={"symbol": _SYMBOLS[placement], "size": 7},
            line={"color": PLACEMENT_COLOURS[placement], "width": 2},
            customdata=list(names),
            hovertemplate=f"{PLACEMENT_NAMES[placement]}, %{{customdata}}: %{{y:.4g}}<extra></extra>",
        )
    every = -(-len(order) // 16)
    figure.update_xaxes(
        plain_axis("norm"), tickvals=list(range(0, len(order), every)), ticktext=order[::every], showgrid=False,
        zeroline=False,
    )  # fmt: skip
    figure.update_yaxes(plain_axis(title), type="log" if log else "linear")
    return figure


def recorded_curves(
    runs: Mapping[str, tuple[str, str, object, object]], title: str, *, log: bool = False, across: str = "step"
) -> go.Figure:
    """Curves of training over its steps: colour says the placement, the dash the kind of run.

    runs: name -> (placement, dash, steps [n], values [n]); values may have gaps (NaN), which lines bridge.
    Raises ValueError where steps and values differ in number.
    """
    figure = go.Figure(layout=neutral_layout(legend=LEGEND, hovermode="closest"))
    for name, (placement, dash, steps, values) in runs.items():
        x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise ValueError(f"{name} has steps {list(x.shape)} and values {list(y.shape)}: they need as many.")
        there = np.isfinite(y)
        figure.add_scatter(
            x=x[there],
            y=y[there],
            name=name,
            mode="lines+markers" if there.sum() <= 40 else "lines",
            marker={"symbol": _SYMBOLS[placement], "size": 5},
            line={"color": PLACEMENT_COLOURS[placement], "width": 1.75, "dash": dash},
            hovertemplate=f"{name}, {across} %{{x:,}}: %{{y:.4g}}<extra></extra>",
        )
    figure.update_xaxes(plain_axis(across), rangemode="tozero", tickformat=",d")
    figure.update_yaxes(plain_axis(title), type="log" if log else "linear")
    return figure
