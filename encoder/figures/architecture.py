"""The encoder as a diagram: blocks from the words at the top to the vector at the bottom, one layer in full.

Takes the blocks of `encoder.explain.architecture` as they are and imports none of it: anything with the same
attributes will do.
Every block is a bar, so that all of it can be clicked; a point of no size lies in its middle for the arrow keys.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from encoder.figures import colours as colour
from encoder.figures.axes import CLEAR, neutral_layout


class DrawnBlock(Protocol):
    """What is drawn of a block; see encoder.explain.architecture.ArchitectureBlock."""

    key: str
    kind: str
    title: str
    group: str
    layer: int | None
    outputs: tuple[tuple[str, int], ...]
    parameters: int
    share: float
    flops: int
    memory: int
    detail: str


class DrawnEdge(Protocol):
    """An arrow; see encoder.explain.architecture.ArchitectureEdge."""

    source: str
    target: str
    residual: bool


#: kind -> colour of the frame and, faded, of the ground. Q, K, V keep theirs; what has no weights is neutral.
SHADES = {
    "q": colour.QUERY, "k": colour.KEY, "v": colour.VALUE, "embedding": "#0e96a3", "segment": "#0e96a3",
    "position": "#0e96a3", "norm": "#8f6fd6", "ffn": "#c9761a", "projection": "#c9761a", "output": "#0e96a3",
    "pooling": "#0e96a3",
}  # fmt: skip

#: Pixels: height of a block, of a small one (a sum, the other layers), between two rows.
TALL, SMALL, GAP = 42, 28, 12
#: Units across: the residual line, the left edge of what stands in a layer, the right edge.
LINE, LEFT, RIGHT = 4.0, 11.0, 99.0
MIDDLE = (LEFT + RIGHT) / 2
#: kinds that are drawn small.
_SMALL = {"add", "stack"}


@dataclass(frozen=True)
class Stack:
    """The layers that are not drawn in full, as one small block. layer: the one that a click on it opens."""

    key: str
    title: str
    layer: int
    kind: str = "stack"
    group: str = "stack"
    outputs: tuple[tuple[str, int], ...] = ()
    parameters: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Rectangle:
    """Where a block is drawn: units across, pixels downwards from the top."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


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
    """Draw one layer in full, the other layers as two small blocks, and what comes before and after.

    blocks, edges: of the whole encoder; layer: the one drawn in full; strips: key -> [X], the followed token's numbers
    at a block, drawn as a strip of colours along its lower edge; contents: key -> what stands in a block instead of its
    shape, such as the words themselves; shares: key -> 0 to 1, drawn as a bar along the lower edge; selected: key of
    the block that is outlined. "stack.before", "stack.after" and "layer" are the keys of the layers before, of those
    after and of the layer that is drawn in full.
    """
    rows = _rows(blocks, layer, n_layers)
    places, height, frame = _places(rows, layer)
    drawn = tuple(block for row in rows for block in row)
    figure = go.Figure(layout=neutral_layout(margin={"l": 0, "r": 0, "t": 0, "b": 0}, showlegend=False))
    contents, shares = contents or {}, shares or {}
    _frame(
        figure, frame, f"<b>Layer {layer} of {n_layers}</b>" + (f": {contents['layer']}" if "layer" in contents else "")
    )
    _arrows(figure, edges, places, rows)
    _bars(figure, drawn, places, selected)
    _texts(figure, drawn, places, strips or {}, contents)
    _share_bars(figure, {key: share for key, share in shares.items() if key in places}, places)
    fixed = {"visible": False, "fixedrange": True}
    figure.update_layout(
        xaxis={"range": [0, 100], **fixed},
        yaxis={"range": [height, 0], **fixed},
        hovermode="closest",
        dragmode=False,
        uirevision="architecture",
    )
    return Drawing(figure, height, drawn)


# --- places ----------------------------------------------------------------------------------------------------------


def _rows(blocks: Sequence[DrawnBlock], layer: int, n_layers: int) -> list[list[DrawnBlock | Stack]]:
    """The blocks in rows, top to bottom; blocks of one row do not feed each other."""
    before = [block for block in blocks if block.layer is None and block.group == "embedding"]
    after = [block for block in blocks if block.layer is None and block.group != "embedding"]
    rows: list[list[DrawnBlock | Stack]] = []
    for block in before:
        together = block.kind in ("segment", "position") and rows and rows[-1][0].kind == "embedding"
        rows[-1].append(block) if together else rows.append([block])
    if layer > 0:
        rows.append([Stack("stack.before", _layers_text(0, layer - 1), layer - 1)])
    for block in blocks:
        if block.layer != layer:
            continue
        together = block.kind in ("k", "v")
        rows[-1].append(block) if together else rows.append([block])
    if layer < n_layers - 1:
        rows.append([Stack("stack.after", _layers_text(layer + 1, n_layers - 1), layer + 1)])
    for block in after:
        together = block.key == "pooler"
        rows[-1].append(block) if together else rows.append([block])
    return rows


def _layers_text(first: int, last: int) -> str:
    return f"Layer {first}" if first == last else f"Layers {first} to {last}"


def _places(rows: list[list[DrawnBlock | Stack]], layer: int) -> tuple[dict[str, Rectangle], int, tuple[float, float]]:
    """Rectangle of every block, the height of all, and top and bottom of the layer's frame."""
    places: dict[str, Rectangle] = {}
    top, frame = 4.0, [0.0, 0.0]
    inside = False
    for row in rows:
        in_layer = getattr(row[0], "layer", None) == layer and not isinstance(row[0], Stack)
        if in_layer != inside:
            # Above the first block the residual line leaves, below the last one the frame's title stands.
            frame[0 if in_layer else 1] = top - 2 if in_layer else top + 9
            top += 16 if in_layer else 22
            inside = in_layer
        height = SMALL if row[0].kind in _SMALL else TALL
        for block, (left, right) in zip(row, _columns(row), strict=True):
            places[block.key] = Rectangle(left, right, top, top + height)
        top += height + GAP
    return places, round(top - GAP + 6), (frame[0], frame[1])


def _columns(row: list[DrawnBlock | Stack]) -> list[tuple[float, float]]:
    """Left and right edges of the blocks of a row. Scores and softmax leave the way past them to the values."""
    third = (RIGHT - LEFT - 4) / 3
    if len(row) == 1:
        kind = row[0].kind
        if kind in ("scores", "softmax"):
            return [(LEFT, LEFT + 2 * third + 2)]
        if kind in _SMALL:
            return [(MIDDLE - 22, MIDDLE + 22)] if kind == "add" else [(LEFT + 8, RIGHT - 8)]
        return [(LEFT, RIGHT)] if kind == "ffn" else [(LEFT + 8, RIGHT - 8)]
    width = (RIGHT - LEFT - 2 * (len(row) - 1)) / len(row)
    return [(LEFT + index * (width + 2), LEFT + index * (width + 2) + width) for index in range(len(row))]


# --- drawing ---------------------------------------------------------------------------------------------------------


def _frame(figure: go.Figure, frame: tuple[float, float], title: str) -> None:
    """The frame around the layer that is drawn in full."""
    figure.add_shape(
        type="rect", x0=0.4, x1=99.9, y0=frame[0], y1=frame[1], layer="below",
        line={"color": colour.faded(colour.NEUTRAL, 0.5), "width": 1, "dash": "dot"},
        fillcolor=colour.faded(colour.NEUTRAL, 0.06),
    )  # fmt: skip
    figure.add_annotation(
        x=99, y=frame[1] - 2, text=title, showarrow=False, xanchor="right", yanchor="bottom", font={"size": 11}
    )


def _share_bars(figure: go.Figure, shares: Mapping[str, float], places: Mapping[str, Rectangle]) -> None:
    """How much of the whole model is in a block, as a part of its width."""
    for key, share in shares.items():
        place = places[key]
        left, width = place.left + 0.8, place.right - place.left - 1.6
        for part, shade in ((1.0, colour.faded(colour.NEUTRAL, 0.25)), (share, colour.EMPHASIS)):
            figure.add_shape(
                type="rect", x0=left, x1=left + part * width, y0=place.bottom - 6, y1=place.bottom - 2,
                line={"width": 0}, fillcolor=shade, layer="above",
            )  # fmt: skip


def _bars(
    figure: go.Figure, drawn: Sequence[DrawnBlock | Stack], places: Mapping[str, Rectangle], selected: str | None
) -> None:
    """The blocks themselves, and the points for the keyboard."""
    boxes = [places[block.key] for block in drawn]
    shades = [SHADES.get(block.kind, colour.NEUTRAL) for block in drawn]
    words = [_hover(block) for block in drawn]
    figure.add_bar(
        orientation="h",
        y=[place.middle[1] for place in boxes],
        x=[place.right - place.left for place in boxes],
        base=[place.left for place in boxes],
        width=[place.bottom - place.top for place in boxes],
        marker={
            "color": [colour.faded(shade, 0.18) for shade in shades],
            "line": {
                "color": [
                    colour.EMPHASIS if block.key == selected else shade
                    for block, shade in zip(drawn, shades, strict=True)
                ],
                "width": [3 if block.key == selected else 1.2 for block in drawn],
            },
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
        f"({block.share:.2%})<br>{block.flops:,} FLOPs<br>{block.memory:,} bytes handed on"
    )


def _texts(
    figure: go.Figure,
    drawn: Sequence[DrawnBlock | Stack],
    places: Mapping[str, Rectangle],
    strips: Mapping[str, object],
    contents: Mapping[str, str],
) -> None:
    """Title and shape in every block, and the followed token's numbers as a strip of colours."""
    for block in drawn:
        place = places[block.key]
        strip = strips.get(block.key)
        small = block.kind in _SMALL
        x, y = place.middle
        own = html.escape(contents[block.key], quote=False) if block.key in contents else None
        text = f"<b>{block.title}</b><br>{shape_text(block.outputs) if own is None else own}"
        if small:
            text = block.title if own is None else f"{block.title}: {own}"
        figure.add_annotation(
            x=x, y=y - (3 if small else 4 if strip is not None else 2), text=text, showarrow=False, font={"size": 11},
            align="center", yanchor="middle", borderpad=0,
        )  # fmt: skip
        if strip is not None:
            figure.add_layout_image(
                source=strip_image(strip, block.kind), xref="x", yref="y", x=place.left + 0.8, y=place.bottom - 8,
                sizex=place.right - place.left - 1.6, sizey=6, sizing="stretch", layer="above",
            )  # fmt: skip


def _arrows(
    figure: go.Figure, edges: Sequence[DrawnEdge], places: Mapping[str, Rectangle], rows: list[list[DrawnBlock | Stack]]
) -> None:
    """Arrows from block to block; what was left out of the drawing is bridged by the small blocks."""
    order = [row[0].key for row in rows]
    stand_in = _stand_ins(edges, places, rows)
    done: set[tuple[str, str]] = set()
    for edge in edges:
        source, target = stand_in.get(edge.source, edge.source), stand_in.get(edge.target, edge.target)
        if source not in places or target not in places or source == target or (source, target) in done:
            continue
        if edge.residual and "stack" not in target:
            _residual(figure, places[source], places[target])
        elif not edge.residual:
            done.add((source, target))
            _arrow(figure, places[source], places[target])
    assert order  # a diagram has at least one row


def _stand_ins(
    edges: Sequence[DrawnEdge], places: Mapping[str, Rectangle], rows: list[list[DrawnBlock | Stack]]
) -> dict[str, str]:
    """Key of a block that is not drawn -> the small block that stands for its layer."""
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


def _arrow(figure: go.Figure, source: Rectangle, target: Rectangle) -> None:
    """From the lower edge of one block to the upper edge of the next, level where they overlap."""
    low, high = max(source.left, target.left), min(source.right, target.right)
    wide = source if source.right - source.left > target.right - target.left else target
    narrow = target if wide is source else source
    x = narrow.middle[0] if low <= narrow.middle[0] <= high else (low + high) / 2
    figure.add_annotation(
        x=x, y=target.top - 0.5, ax=x, ay=source.bottom + 0.5, xref="x", yref="y", axref="x", ayref="y", text="",
        showarrow=True, arrowhead=2, arrowsize=0.9, arrowwidth=1.2, arrowcolor=colour.NEUTRAL, standoff=0,
    )  # fmt: skip


def _residual(figure: go.Figure, source: Rectangle, target: Rectangle) -> None:
    """The line around a sublayer: out below the source, down at the side, into the sum."""
    start, end = source.bottom + GAP / 2, target.middle[1]
    line = {"color": colour.EMPHASIS, "width": 1.6}
    path = f"M {MIDDLE},{start} L {LINE},{start} L {LINE},{end} L {target.left - 1},{end}"
    figure.add_shape(type="path", path=path, line=line, layer="below", fillcolor=CLEAR)
    figure.add_annotation(
        x=target.left, y=end, ax=target.left - 3, ay=end, xref="x", yref="y", axref="x", ayref="y", text="",
        showarrow=True, arrowhead=2, arrowsize=0.9, arrowwidth=1.6, arrowcolor=colour.EMPHASIS,
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
    return "data:image/png;base64," + base64.b64encode(_png(pixels.astype(np.uint8)[None])).decode()


def _rgb(shade: str) -> np.ndarray:
    return np.array([int(shade[start : start + 2], 16) for start in (1, 3, 5)])


def _png(pixels: np.ndarray) -> bytes:
    """[h, w, 4] uint8 -> a PNG file (RFC 2083), which plotly has no writer for."""
    height, width, _ = pixels.shape
    raw = b"".join(b"\0" + pixels[row].tobytes() for row in range(height))

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
