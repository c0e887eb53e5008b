"""Words at places of a page: the vectors of their boxes, and a bias of the scores by their distance on the page.

LayoutLM (Xu et al. 2020) adds six vectors to each token's: those of the box's left and right edge, of its upper and
lower edge, of its height and of its width. LayoutLMv3 (Huang et al. 2022) joins them, and adds two learned numbers to
each score, by the distance of the left and of the lower edges of the two boxes. LiLT (Wang et al. 2022) gives boxes a
narrower stream of their own: in each layer, both streams use the softmax of the sum of their scores.

Shapes: B batch, H heads, T tokens (queries i, keys j), E width of the tables, K' width of a head of the stream of
boxes. A box is left, upper, right, lower.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.biases import relative_bias
from encoder.model.checks import check_whole

#: The largest coordinate: boxes are measured in thousandths of the page's width and height.
LARGEST_PLACE = 1_000


@dataclass(frozen=True)
class Boxes:
    """Each token has a box on the page. Without one, all numbers are 0."""

    #: Rows of each table of vectors.
    rows: int
    #: Width of a coordinate's vector where the six vectors are joined; 0: all are as wide as a token's, and are added.
    joined: int = 0
    #: Rows of each table of biases by distance on the page; 0: none.
    buckets: int = 0
    #: Where the last of these rows begins.
    max_distance: int = 256
    #: All four numbers of the box of the special token that ends a text.
    end: int = 0
    #: By how many times the widths of a stream of their own are smaller than those of the text; 0: boxes are added to
    #: the tokens' vectors.
    shrink: int = 0

    def __post_init__(self) -> None:
        check_whole("rows", self.rows, 1)
        for name in ("joined", "buckets", "shrink"):
            check_whole(name, getattr(self, name), 0)
        check_whole("max_distance", self.max_distance, 1)
        check_whole("end", self.end, 0, self.largest)
        if self.buckets:  # a quarter of them are exact distances, which end before the largest one
            check_whole("buckets", self.buckets, 4, max(4, 4 * (self.max_distance - 1)))
        if self.shrink and (self.buckets or not self.joined):
            raise ConfigError("A stream of boxes has joined vectors and no buckets: set joined, and buckets to 0.")

    @property
    def nowhere(self) -> tuple[int, ...]:
        """The place of a token without a box."""
        return 0, 0, 0, 0

    @property
    def largest(self) -> int:
        """The largest coordinate of a box."""
        return min(LARGEST_PLACE, self.rows - 1)

    def widths(self, width: int) -> tuple[int, int]:
        """Widths of the vectors of a coordinate and of a size, of tokens with vectors of this width.

        Raises ConfigError for joined vectors that do not fit.
        """
        if not self.joined:
            return width, width
        size, rest = divmod(width - 4 * self.joined, 2)
        if size < 1 or rest:
            raise ConfigError(f"Four vectors of joined={self.joined} and two equal ones do not add up to {width}.")
        return self.joined, size


class BoxVectors(nn.Module):
    """Boxes [B, T, 4] -> vectors [B, T, E], added to those of the tokens."""

    def __init__(self, shape: Boxes, width: int) -> None:
        super().__init__()
        place, size = shape.widths(width)
        self.joins = bool(shape.joined)
        self.x, self.y = nn.Embedding(shape.rows, place), nn.Embedding(shape.rows, place)
        self.height, self.width = nn.Embedding(shape.rows, size), nn.Embedding(shape.rows, size)

    def forward(self, boxes: Tensor) -> Tensor:
        left, upper, right, lower = boxes.unbind(-1)
        parts = [self.x(left), self.y(upper), self.x(right), self.y(lower)]
        parts += [self.height(lower - upper), self.width(right - left)]
        return torch.cat(parts, dim=-1) if self.joins else sum(parts[1:], parts[0])


@dataclass(frozen=True, eq=False)
class Beside:
    """What the stream of boxes gives a layer's attention. q, k, v: [..., H, T, K'], v None where z is not needed."""

    q: Tensor
    k: Tensor
    v: Tensor | None
    #: Factor of q . k.
    scale: float
    #: What the layer's attention leaves here: the z of the boxes, [..., H, T, K'].
    z: list[Tensor] = field(default_factory=list)

    def of(self, rows: slice, keys: slice, heads: slice) -> Tensor:
        """[..., h, Ti, Tj]: the scores of the boxes, which are added to those of the text."""
        q, k = self.q[..., heads, rows, :], self.k[..., heads, keys, :]
        return (q * self.scale) @ k.transpose(-1, -2)


@dataclass(frozen=True, eq=False)
class BoxTables:
    """The learned numbers by distance of left edges (x) and of lower edges (y), [buckets, H] each."""

    x: Tensor
    y: Tensor
    max_distance: int

    def in_float32(self) -> BoxTables:
        """The same in float32."""
        return BoxTables(self.x.detach().float(), self.y.detach().float(), self.max_distance)


@dataclass(frozen=True, eq=False)
class BoxBias:
    """The bias of one run. left, lower: edges of the tokens' boxes, [T] or [B, T]."""

    tables: BoxTables
    left: Tensor
    lower: Tensor

    @classmethod
    def of_run(cls, tables: BoxTables | None, boxes: Tensor | None) -> BoxBias | None:
        """The bias for boxes [T, 4] or [B, T, 4]; None without tables, or without boxes: all are equal then."""
        if tables is None or boxes is None:
            return None
        if boxes.dim() == 3 and len(boxes) == 1:
            boxes = boxes[0]
        return cls(tables, boxes[..., 0], boxes[..., 3])

    def of(self, rows: slice, keys: slice, heads: slice) -> Tensor:
        """[h, Ti, Tj], or [B, h, Ti, Tj] of boxes that differ in the batch."""
        pairs = ((self.tables.x, self.left), (self.tables.y, self.lower))
        across, down = (
            relative_bias(table[:, heads], edge[..., rows], edge[..., keys], self.tables.max_distance)
            for table, edge in pairs
        )
        return (across + down).movedim(0, -3)
