"""The encoder as a diagram: blocks from the words at the top to the vector at the bottom, one layer in full.

Draws the blocks of `encoder.explain.architecture` without importing it: any objects with the same attributes will do.
Every block is a bar, so that you can click all of it; an invisible point in its middle serves the arrow keys.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.architecture_layout import (
    GAP,
    LINE,
    MIDDLE,
    SMALL_KINDS,
    DrawnBlock,
    DrawnEdge,
    Rectangle,
    Stack,
    places_of,
    rows_of,
)
from encoder.figures.axes import CLEAR, neutral_layout
from encoder.figures.png import png_uri

__all__ = ["Drawing", "DrawnBlock", "DrawnEdge", "Stack", "architecture_diagram", "shape_text", "strip_image"]

#: kind -> colour of the frame and, faded, of the fill. Other kinds, which have no weights, are neutral.
SHADES = {
    "q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "embedding": "#0e96a3", "segment": "#0e96a3",
    "position": "#0e96a3", "norm": "#8f6fd6", "ffn": "#c9761a", "projection": "#c9761a", "output": "#0e96a3",
    "pooling": "#0e96a3",
}  # fmt: skip


@dataclass(frozen=True)
class _Marks:
    """What a diagram has besides its bars, for one call: `add_shape` copies and checks all shapes before it."""

    shapes: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)

    def shape(self, **look: Any) -> None:
        self.shapes.append(look)

    def annotation(self, **look: Any) -> None:
        self.annotations.append(look)

    def image(self, **look: Any) -> None:
        self.images.append(look)


@dataclass(frozen=True)
class Drawing:
    """A diagram. figure; height in pixels; blocks in the order of the figure's points: `blocks[event["point"]]`."""

    figure: go.Figure
    height: int
    blocks: tuple[DrawnBlock | Stack, ...]


def shape_text(shape: Sequence[tuple[str, int]]) -> str:
    """(("T", 9), ("D", 384)) -> "9 × 384"."""
    return " × ".join(f"{size:,}" for _, size in shape)


def architecture_diagram(
    blocks: Sequence[DrawnBlock],
    edges: Sequence[DrawnEdge],
    *,
    layer: int,
    n_layers: int,
    strips: Mapping[str, object] | None = None,
    contents: Mapping[str, str] | None = None,
    shares: Mapping[str, float] | None = None,
    selected: str | None = None,
) -> Drawing:
    """Draw one layer in full, the other layers as two small blocks, and the blocks before and after all layers.

    The keys "stack.before", "layer" and "stack.after" mean the layers before, the layer drawn in full, and the layers
    after.

    Args:
        blocks, edges: of the whole encoder.
        layer: the one drawn in full.
        strips: key -> [X], the selected token's numbers at a block, drawn as colours along its lower edge.
        contents: key -> text in a block instead of its shape, such as the words.
        shares: key -> 0 to 1, drawn as a bar along the lower edge.
        selected: key of the outlined block.
    """
    rows = rows_of(blocks, layer, n_layers)
    places, height, frame = places_of(rows, layer)
    drawn = tuple(block for row in rows for block in row)
    figure = go.Figure(layout=neutral_layout(margin={"l": 0, "r": 0, "t": 0, "b": 0}, showlegend=False))
    contents, shares = contents or {}, shares or {}
    title = f"<b>Layer {layer}</b> (0 to {n_layers - 1})"
    marks = _Marks()
    _frame(marks, frame, f"{title}: {contents['layer']}" if "layer" in contents else title)
    _arrows(marks, edges, places, rows)
    _bars(figure, drawn, places, selected)
    _texts(marks, drawn, places, strips or {}, contents)
    _share_bars(marks, {key: share for key, share in shares.items() if key in places}, places)
    fixed = {"visible": False, "fixedrange": True}
    figure.update_layout(
        xaxis={"range": [0, 100], **fixed},
        yaxis={"range": [height, 0], **fixed},
        hovermode="closest",
        dragmode=False,
        uirevision="architecture",
        shapes=marks.shapes,
        annotations=marks.annotations,
        images=marks.images,
    )
    return Drawing(figure, height, drawn)


def _frame(marks: _Marks, frame: tuple[float, float], title: str) -> None:
    """The frame around the layer that is drawn in full."""
    marks.shape(
        type="rect", x0=0.4, x1=99.9, y0=frame[0], y1=frame[1], layer="below",
        line={"color": colour.faded(colour.NEUTRAL, 0.5), "width": 1, "dash": "dot"},
        fillcolor=colour.faded(colour.NEUTRAL, 0.06),
    )  # fmt: skip
    marks.annotation(
        x=99, y=frame[1] - 2, text=title, showarrow=False, xanchor="right", yanchor="bottom", font={"size": 11}
    )


def _share_bars(marks: _Marks, shares: Mapping[str, float], places: Mapping[str, Rectangle]) -> None:
    """A block's share of the whole model, as a part of its width."""
    for key, share in shares.items():
        place = places[key]
        left, width = place.left + 0.8, place.right - place.left - 1.6
        for part, shade in ((1.0, colour.faded(colour.NEUTRAL, 0.25)), (share, colour.EMPHASIS)):
            marks.shape(
                type="rect", x0=left, x1=left + part * width, y0=place.bottom - 6, y1=place.bottom - 2,
                line={"width": 0}, fillcolor=shade, layer="above",
            )  # fmt: skip


def _bars(
    figure: go.Figure, drawn: Sequence[DrawnBlock | Stack], places: Mapping[str, Rectangle], selected: str | None
) -> None:
    """The blocks themselves, and the points for the keyboard."""
    boxes = [places[block.key] for block in drawn]
    shades = [SHADES.get(block.kind, colour.NEUTRAL) for block in drawn]
    frames = [colour.EMPHASIS if block.key == selected else SHADES.get(block.kind, colour.NEUTRAL) for block in drawn]
    words = [_hover(block) for block in drawn]
    figure.add_bar(
        orientation="h",
        y=[place.middle[1] for place in boxes],
        x=[place.right - place.left for place in boxes],
        base=[place.left for place in boxes],
        width=[place.bottom - place.top for place in boxes],
        marker={
            "color": [colour.faded(shade, 0.18) for shade in shades],
            "line": {"color": frames, "width": [3 if block.key == selected else 1.2 for block in drawn]},
            "cornerradius": 5,
        },
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
    )
    figure.add_scatter(
        x=[place.middle[0] for place in boxes],
        y=[place.middle[1] for place in boxes],
        mode="markers",
        marker={"size": 1, "opacity": 0, "color": CLEAR},
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _hover(block: DrawnBlock | Stack) -> str:
    if isinstance(block, Stack):
        return f"{block.title}: open layer {block.layer}"
    detail = f"<br>{block.detail}" if block.detail else ""
    return (
        f"<b>{block.title}</b>, {shape_text(block.outputs)}{detail}<br>{block.parameters:,} parameters "
        f"({block.share:.2%})<br>{block.flops:,} FLOPs<br>{block.memory:,} bytes of output"
    )


def _texts(
    marks: _Marks,
    drawn: Sequence[DrawnBlock | Stack],
    places: Mapping[str, Rectangle],
    strips: Mapping[str, object],
    contents: Mapping[str, str],
) -> None:
    """Title and shape in every block, and the selected token's numbers as a strip of colours."""
    for block in drawn:
        place = places[block.key]
        strip = strips.get(block.key)
        small = block.kind in SMALL_KINDS
        x, y = place.middle
        content = html.escape(contents[block.key], quote=False) if block.key in contents else None
        text = f"<b>{block.title}</b><br>{shape_text(block.outputs) if content is None else content}"
        if small:
            text = block.title if content is None else f"{block.title}: {content}"
        marks.annotation(
            x=x, y=y - (3 if small else 4 if strip is not None else 2), text=text, showarrow=False, font={"size": 11},
            align="center", yanchor="middle", borderpad=0,
        )  # fmt: skip
        if strip is not None:
            marks.image(
                source=strip_image(strip, block.kind), xref="x", yref="y", x=place.left + 0.8, y=place.bottom - 8,
                sizex=place.right - place.left - 1.6, sizey=6, sizing="stretch", layer="above",
            )  # fmt: skip


def _arrows(
    marks: _Marks, edges: Sequence[DrawnEdge], places: Mapping[str, Rectangle], rows: list[list[DrawnBlock | Stack]]
) -> None:
    """Arrows from block to block; the small blocks replace layers that are not drawn."""
    stand_in = _stand_ins(edges, places, rows)
    done: set[tuple[str, str]] = set()
    for edge in edges:
        source, target = stand_in.get(edge.source, edge.source), stand_in.get(edge.target, edge.target)
        if source not in places or target not in places or source == target or (source, target) in done:
            continue
        if edge.residual and "stack" not in target:
            _residual(marks, places[source], places[target])
        elif not edge.residual:
            done.add((source, target))
            _arrow(marks, places[source], places[target])


def _stand_ins(
    edges: Sequence[DrawnEdge], places: Mapping[str, Rectangle], rows: list[list[DrawnBlock | Stack]]
) -> dict[str, str]:
    """Key of a block that is not drawn -> the small block that replaces its layer."""
    drawn = {block.key for row in rows for block in row}
    layers = [getattr(block, "layer", None) for row in rows for block in row if not isinstance(block, Stack)]
    here = next(layer for layer in layers if layer is not None)
    found = {}
    for edge in edges:
        for key in (edge.source, edge.target):
            parts = key.split(".")
            if key not in drawn and parts[0] == "layers":
                found[key] = "stack.before" if int(parts[1]) < here else "stack.after"
    return found


def _arrow(marks: _Marks, source: Rectangle, target: Rectangle) -> None:
    """From the lower edge of one block to the upper edge of the next, level where they overlap."""
    low, high = max(source.left, target.left), min(source.right, target.right)
    wide = source if source.right - source.left > target.right - target.left else target
    narrow = target if wide is source else source
    x = narrow.middle[0] if low <= narrow.middle[0] <= high else (low + high) / 2
    _arrow_head(marks, (x, source.bottom + 0.5), (x, target.top - 0.5), colour.NEUTRAL, 1.2)


def _residual(marks: _Marks, source: Rectangle, target: Rectangle) -> None:
    """The line around a sublayer: out below the source, down at the side, into the sum."""
    start, end = source.bottom + GAP / 2, target.middle[1]
    line = {"color": colour.EMPHASIS, "width": 1.6}
    path = f"M {MIDDLE},{start} L {LINE},{start} L {LINE},{end} L {target.left - 1},{end}"
    marks.shape(type="path", path=path, line=line, layer="below", fillcolor=CLEAR)
    _arrow_head(marks, (target.left - 3, end), (target.left, end), colour.EMPHASIS, 1.6)


def _arrow_head(marks: _Marks, start: tuple[float, float], end: tuple[float, float], shade: str, width: float) -> None:
    marks.annotation(
        x=end[0], y=end[1], ax=start[0], ay=start[1], xref="x", yref="y", axref="x", ayref="y", text="",
        showarrow=True, arrowhead=2, arrowsize=0.9, arrowwidth=width, arrowcolor=shade,
    )  # fmt: skip


# --- strips ----------------------------------------------------------------------------------------------------------


def strip_image(values: object, kind: str = "residual") -> str:
    """[X] numbers -> a PNG of X pixels as a data URI: weights in viridis from 0, signed numbers around 0."""
    row = np.asarray(values, dtype=np.float64).ravel()
    if kind == "softmax":
        table = colour.thumbnails_lut("viridis")
        pixels = np.concatenate((table[np.clip(row * 255, 0, 255).astype(int)], np.full((len(row), 1), 255)), axis=1)
    else:
        finite = np.where(np.isfinite(row) & (np.abs(row) < 1e30), row, 0.0)
        limit = np.quantile(np.abs(finite), 0.98) or 1.0
        negative, positive = colour.SIGNED.get(kind, colour.SIGNED["residual"])
        shade = np.where(finite[:, None] < 0, _rgb(negative), _rgb(positive))
        alpha = np.clip(np.abs(finite) / limit, 0, 1)[:, None] * 255
        pixels = np.concatenate((shade, alpha), axis=1)
    return png_uri(pixels.astype(np.uint8)[None])


def _rgb(shade: str) -> np.ndarray:
    return np.array([int(shade[start : start + 2], 16) for start in (1, 3, 5)])
