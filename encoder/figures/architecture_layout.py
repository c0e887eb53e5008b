"""Where the blocks of the architecture diagram lie: rows from the words at the top to the vector at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class DrawnBlock(Protocol):
    """The attributes of a block that are drawn; see encoder.explain.architecture.ArchitectureBlock."""

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


#: Pixels: height of a block, height of a small one (a sum, the other layers), gap between two rows.
TALL, SMALL, GAP = 42, 28, 12
#: Units across: the residual line, the left edge of the blocks of a layer, the right edge.
LINE, LEFT, RIGHT = 4.0, 11.0, 99.0
MIDDLE = (LEFT + RIGHT) / 2
#: kinds that are drawn small.
SMALL_KINDS = {"add", "stack"}


@dataclass(frozen=True)
class Stack:
    """The layers that are not drawn in full, as one small block. layer: the one that a click opens."""

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
    """The place of a block: units across, pixels downwards from the top."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


def rows_of(blocks: Sequence[DrawnBlock], layer: int, n_layers: int) -> list[list[DrawnBlock | Stack]]:
    """The blocks in rows, top to bottom; no block of a row is the input of another one in it."""
    before = [block for block in blocks if block.layer is None and block.group == "embedding"]
    after = [block for block in blocks if block.layer is None and block.group != "embedding"]
    rows: list[list[DrawnBlock | Stack]] = []
    for block in before:
        if block.kind in ("segment", "position") and rows and rows[-1][0].kind == "embedding":
            rows[-1].append(block)
        else:
            rows.append([block])
    if layer > 0:
        rows.append([Stack("stack.before", _layers_text(0, layer - 1), layer - 1)])
    for block in blocks:
        if block.layer != layer:
            continue
        if block.kind in ("k", "v"):
            rows[-1].append(block)
        else:
            rows.append([block])
    if layer < n_layers - 1:
        rows.append([Stack("stack.after", _layers_text(layer + 1, n_layers - 1), layer + 1)])
    for block in after:
        if block.key == "pooler":
            rows[-1].append(block)
        else:
            rows.append([block])
    return rows


def _layers_text(first: int, last: int) -> str:
    return f"Layer {first}" if first == last else f"Layers {first} to {last}"


def places_of(
    rows: list[list[DrawnBlock | Stack]], layer: int
) -> tuple[dict[str, Rectangle], int, tuple[float, float]]:
    """Rectangle of every block, the height of all, and top and bottom of the layer's frame."""
    places: dict[str, Rectangle] = {}
    top, frame = 4.0, [0.0, 0.0]
    inside = False
    for row in rows:
        in_layer = getattr(row[0], "layer", None) == layer and not isinstance(row[0], Stack)
        if in_layer != inside:
            # Room for the residual line above the first block, and for the frame's title below the last one.
            frame[0 if in_layer else 1] = top - 2 if in_layer else top + 9
            top += 16 if in_layer else 22
            inside = in_layer
        height = SMALL if row[0].kind in SMALL_KINDS else TALL
        for block, (left, right) in zip(row, _columns(row), strict=True):
            places[block.key] = Rectangle(left, right, top, top + height)
        top += height + GAP
    return places, round(top - GAP + 6), (frame[0], frame[1])


def _columns(row: list[DrawnBlock | Stack]) -> list[tuple[float, float]]:
    """Left and right edges of the blocks of a row. Scores and softmax leave room for the values on the right."""
    third = (RIGHT - LEFT - 4) / 3
    if len(row) == 1:
        kind = row[0].kind
        if kind in ("scores", "softmax"):
            return [(LEFT, LEFT + 2 * third + 2)]
        if kind in SMALL_KINDS:
            return [(MIDDLE - 22, MIDDLE + 22)] if kind == "add" else [(LEFT + 8, RIGHT - 8)]
        return [(LEFT, RIGHT)] if kind == "ffn" else [(LEFT + 8, RIGHT - 8)]
    width = (RIGHT - LEFT - 2 * (len(row) - 1)) / len(row)
    return [(LEFT + index * (width + 2), LEFT + index * (width + 2) + width) for index in range(len(row))]
