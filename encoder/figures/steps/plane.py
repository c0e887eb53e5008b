"""Tokens as points of a plane, stage by stage. Shapes: T tokens, S stages of the residual stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import as_array, check_labels, margin, neutral_layout, plain_axis, shown_label

#: Width and height in pixels for which labels are placed: a phone's, so that none overlap on any screen.
PLANE_PIXELS = np.array([300.0, 340.0])
#: textposition -> where the middle of a label lies from its point, in (half widths, pixels upwards).
_SIDES = {"top center": (0, 11), "bottom center": (0, -11), "middle right": (1, 0), "middle left": (-1, 0)}


def label_sides(places: object, lengths: Sequence[int], first: int | None = None) -> list[str]:
    """On which side of its point each label covers no other label and no point; "" where no side is free.

    places [N, 2] in pixels; lengths: characters of the labels; first: the label that chooses first.
    """
    where = np.asarray(places, dtype=float)
    taken = [(x - 5, x + 5, y - 5, y + 5) for x, y in where]  # the points themselves
    sides = [""] * len(where)
    for index in sorted(range(len(where)), key=lambda index: index != first):
        half = 3.2 * lengths[index]
        for side, (across, up) in _SIDES.items():
            x, y = where[index] + (across * (half + 7), up)
            box = (x - half, x + half, y - 6, y + 6)
            others = (other for number, other in enumerate(taken) if number != index)
            if not any(box[0] < o[1] and o[0] < box[1] and box[2] < o[3] and o[2] < box[3] for o in others):
                sides[index] = side
                taken.append(box)
                break
    return sides


def plane(
    points: object, explained: object, labels: Sequence[str], *, stage: int, stages: Sequence[str], selected: int | None
) -> go.Figure:
    """All tokens in one plane [S, T, 2] at `stage`, and the path of the selected one through all stages."""
    where = as_array(points, name="points", ndim=3)
    shares = np.asarray(explained, dtype=float)
    labels = check_labels(labels, where.shape[1], "labels")
    names = np.array([shown_label(label) for label in labels], dtype=object)
    figure = go.Figure(layout=neutral_layout(margin=margin(12), showlegend=False))
    if selected is not None:
        path = where[:, selected]
        figure.add_scatter(
            x=path[:, 0], y=path[:, 1], mode="lines+markers", line={"color": colour.EMPHASIS, "width": 1.5},
            marker={"size": 5}, customdata=np.array(list(stages), dtype=object),
            hovertemplate=f"{names[selected]}, %{{customdata}}<extra></extra>",
        )  # fmt: skip
    here = where[stage]
    low, high = where.min(axis=(0, 1)), where.max(axis=(0, 1))
    room = 0.1 * np.maximum(high - low, 1e-6)
    low, high = low - room, high + room
    shades = [colour.EMPHASIS if index == selected else colour.SIGNED["residual"][1] for index in range(len(labels))]
    sides = label_sides((here - low) / (high - low) * PLANE_PIXELS, [len(label) for label in labels], selected)
    figure.add_scatter(
        x=here[:, 0], y=here[:, 1], mode="markers+text", textfont={"size": 11}, marker={"size": 9, "color": shades},
        text=[name if side else "" for name, side in zip(names, sides, strict=True)],
        textposition=[side or "top center" for side in sides],
        customdata=names, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for axis, index in (("xaxis", 0), ("yaxis", 1)):
        title = f"principal component {index + 1} ({shares[index]:.0%} of the variance)"
        figure.update_layout({axis: plain_axis(title) | {"range": [float(low[index]), float(high[index])]}})
    figure.update_layout(uirevision="plane", hovermode="closest")
    return figure
