"""Heads as points of a plane. Shapes: N = L x H heads, layer by layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import colour_bar, margin, neutral_layout
from encoder.figures.marks import ring
from encoder.figures.plotly_traces import LEGEND

#: The part of a sequential theme in use: its light end is invisible on a white page.
DARKEST, LIGHTEST = 0.12, 0.82


@dataclass(frozen=True)
class HeadPoints:
    """Heads as points of a plane. `at(trace, point)` gives the head of a point."""

    figure: go.Figure
    numbers: tuple[tuple[int, ...], ...]
    n_heads: int

    def at(self, trace: int, point: int) -> tuple[int, int] | None:
        """(layer, head) of a clicked point; None if it is not a head."""
        if trace < len(self.numbers) and point < len(self.numbers[trace]):
            return divmod(self.numbers[trace][point], self.n_heads)
        return None


def head_points(
    xy: object,
    n_heads: int,
    *,
    head_types: Mapping[str, Sequence[int]] | None = None,
    badges: Sequence[str] | None = None,
    selected: tuple[int, int] | None = None,
    faded: Sequence[int] = (),
    colours: str = "viridis",
) -> HeadPoints:
    """Heads as points [N, 2], coloured by layer, or by head type where `head_types` is given.

    Args:
        xy: [N, 2]; head (l, h) is row l H + h.
        n_heads: H.
        head_types: head type -> numbers of its heads; each has a colour and a symbol; heads without a type are grey.
        badges: a word or "" for each head, for its hover label.
        selected: (layer, head), marked by a ring and its name.
        faded: numbers of heads that are drawn faintly.
        colours: the theme of the layers.

    Raises ValueError for points that are not [N, 2], or not whole layers.
    """
    points = np.asarray(xy, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0 or len(points) % n_heads:
        raise ValueError(f"xy has shape {list(points.shape)}: [layers x {n_heads}, 2] is needed.")
    badges = list(badges or [""] * len(points))
    weak = set(faded)
    groups = _by_type(len(points), head_types) if head_types is not None else [("", tuple(range(len(points))))]
    figure = go.Figure(layout=neutral_layout(margin=margin(54)))
    if selected is not None:
        chosen = points[selected[0] * n_heads + selected[1]]
        figure.add_annotation(_name_tag(selected, chosen))
    for place, (name, numbers) in enumerate(groups):
        if head_types is None:
            marker = _layer_marker(numbers, n_heads, len(points) // n_heads, colours)
        else:
            marker = _type_marker(place, is_rest=place == len(groups) - 1)
        marker["opacity"] = np.array([0.18 if number in weak else 0.95 for number in numbers])
        figure.add_scatter(
            x=points[list(numbers), 0],
            y=points[list(numbers), 1],
            mode="markers",
            name=name,
            showlegend=head_types is not None,
            marker={"size": 11, "line": {"width": 1, "color": "rgba(128,128,140,0.9)"}, **marker},
            text=[_label(number, n_heads, badges[number]) for number in numbers],
            hovertemplate="%{text}<extra></extra>",
        )
    if selected is not None:
        figure.add_trace(ring(chosen, size=20))
    figure.update_layout(**_bare_axes(points), uirevision=f"{len(points)}")
    figure.update_layout(legend=LEGEND | {"y": 1.02})
    return HeadPoints(figure, tuple(numbers for _, numbers in groups), n_heads)


def _by_type(n: int, head_types: Mapping[str, Sequence[int]]) -> list[tuple[str, tuple[int, ...]]]:
    """Each head under the first type that it has; heads without a type come last."""
    left = dict.fromkeys(range(n))
    groups = []
    for name, numbers in head_types.items():
        first_here = tuple(number for number in numbers if number in left)
        for number in first_here:
            del left[number]
        groups.append((name, first_here))
    return [*groups, ("no type", tuple(left))]


def _layer_marker(numbers: Sequence[int], n_heads: int, n_layers: int, theme: str) -> dict[str, Any]:
    lut = colour.thumbnails_lut(theme)
    stops = np.linspace(DARKEST, LIGHTEST, 9)
    scale = [
        (float(place), "rgb({},{},{})".format(*lut[round(stop * 255)]))
        for place, stop in zip(np.linspace(0, 1, 9), stops, strict=True)
    ]
    bar = colour_bar("layer", tickformat="d", nticks=min(n_layers, 8))
    return {
        "color": np.array(numbers, dtype=np.int32) // n_heads, "cmin": 0, "cmax": max(1, n_layers - 1),
        "colorscale": scale, "showscale": n_layers > 1, "colorbar": bar,
    }  # fmt: skip


def _type_marker(place: int, *, is_rest: bool) -> dict[str, Any]:
    symbols = ("circle", "square", "diamond", "cross", "star", "triangle-up", "hexagon")
    if is_rest:
        return {"color": colour.NEUTRAL, "symbol": "circle", "size": 8}
    # Grey, number 2 of the series, means "no type".
    shades = [shade for number, shade in enumerate(colour.SERIES) if number != 2]
    return {"color": shades[place % len(shades)], "symbol": symbols[place % len(symbols)]}


def _label(number: int, n_heads: int, badge: str) -> str:
    layer, head = divmod(number, n_heads)
    return f"L{layer} H{head}" + (f" · {badge}" if badge else "")


def _name_tag(head: tuple[int, int], at: np.ndarray) -> dict[str, Any]:
    return {
        "text": f"L{head[0]} H{head[1]}", "x": float(at[0]), "y": float(at[1]), "showarrow": False, "yshift": 20,
        "font": {"size": 12, "color": "#ffffff"}, "bgcolor": colour.EMPHASIS_LABEL, "borderpad": 2,
    }  # fmt: skip


def _bare_axes(points: np.ndarray) -> dict[str, Any]:
    """Axes without numbers, because only distances have a meaning; both axes have the same unit."""
    spread = float(np.ptp(points, axis=0).max()) or 1.0
    ends = [[float(side.min() - 0.08 * spread), float(side.max() + 0.12 * spread)] for side in points.T]
    bare = {
        "showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "showline": True, "mirror": True,
        "linecolor": "rgba(128,128,140,0.35)", "title": {"text": ""},
    }  # fmt: skip
    return {
        "xaxis": bare | {"range": ends[0]},
        "yaxis": bare | {"range": ends[1], "scaleanchor": "x", "scaleratio": 1},
    }
