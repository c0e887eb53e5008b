"""Keys of distances: what a query's product with a vector of the distance i - j adds to its score with key j.

With sines R of the distance, a linear map W and two vectors u, v of each head, the score is (Dai et al. 2019, 3.3)

    ((q_i + u) . k_j + (q_i + v) . W R[i - j]) x scale

and with a table E of clipped distances it is (q_i . k_j + q_i . E[j - i]) x scale (Shaw et al. 2018, equation 5).

Shapes: H heads, T tokens (queries i, keys j), K width of a head, N distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from encoder.model.checks import check_whole
from encoder.model.disentangled import PositionTerms


@dataclass(frozen=True)
class DistanceKeys:
    """How the keys of distances are made: by a table where `earlier` or `later` is above 0, else from sines."""

    #: Tokens before the query whose distances differ; farther ones share a key.
    earlier: int = 0
    #: The same after the query.
    later: int = 0

    def __post_init__(self) -> None:
        check_whole("earlier", self.earlier, 0)
        check_whole("later", self.later, 0)

    @property
    def rows(self) -> int:
        """Rows of the table; 0: the keys are made from sines."""
        return self.earlier + self.later + 1 if self.earlier or self.later else 0

    def row(self, distances: Tensor) -> Tensor:
        """i - j -> the row of the table."""
        return (-distances).clamp(-self.earlier, self.later) + self.earlier


def all_distances(positions: Tensor) -> tuple[Tensor, bool]:
    """positions [T] -> every i - j that may occur, the largest first, and whether position follows on position."""
    if not len(positions):
        return positions, True
    spread = int(positions.amax() - positions.amin())
    return torch.arange(spread, -spread - 1, -1, device=positions.device), bool((positions.diff() == 1).all())


def sines(distances: Tensor, width: int) -> Tensor:
    """distances [N] -> [N, width]: sin(d 10000^(-2c/width)) at 2c, the cosine at 2c + 1."""
    rates = torch.exp(torch.arange(0, width, 2, device=distances.device).float() * (-math.log(10_000.0) / width))
    angle = distances.unsqueeze(-1).float() * rates
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)


@dataclass(frozen=True, eq=False)
class DistanceTerms:
    """The terms of one layer for the tokens of one run.

    keys: of all distances between them, the largest i - j first, [H, N, K], or [1, N, K] for all heads; ordered: if
    position follows on position; content_bias, position_bias: u and v, [H, K] each, or None.
    """

    keys: Tensor
    ordered: bool
    content_bias: Tensor | None = None
    position_bias: Tensor | None = None

    def of(self, q: Tensor, k: Tensor, positions: Tensor, rows: slice, heads: slice) -> Tensor:
        """q [..., h, Ti, K], k [..., h, T, K], positions [T] -> [..., h, Ti, T], the sum of the terms, not scaled."""
        if self.position_bias is not None:
            q = q + self.position_bias[heads].to(q.dtype).unsqueeze(-2)
        found = self._of_position(q, positions, rows, heads)
        return found if self.content_bias is None else found + self._of_content(k, heads)

    def apart(self, q: Tensor, k: Tensor, positions: Tensor, rows: slice, heads: slice) -> dict[str, Tensor]:
        """The terms by name, [..., h, Ti, T] each."""
        found = {"content to position": self._of_position(q, positions, rows, heads)}
        if self.content_bias is not None and self.position_bias is not None:
            found["bias to content"] = self._of_content(k, heads).expand_as(found["content to position"])
            of_all = self.position_bias[heads].to(q.dtype).unsqueeze(-2).expand_as(q)
            found["bias to position"] = self._of_position(of_all, positions, rows, heads)
        return found

    def within(self, n_tokens: int) -> DistanceTerms:
        """The same for as many tokens one after the other."""
        middle = self.keys.shape[-2] // 2
        return replace(self, keys=self.keys[..., middle - n_tokens + 1 : middle + n_tokens, :])

    def detached(self) -> DistanceTerms:
        """The same without gradients."""
        u, v = (None if one is None else one.detach() for one in (self.content_bias, self.position_bias))
        return DistanceTerms(self.keys.detach(), self.ordered, u, v)

    def _of_content(self, k: Tensor, heads: slice) -> Tensor:
        """u . k_j, [..., h, 1, T]."""
        assert self.content_bias is not None
        return (k @ self.content_bias[heads].to(k.dtype).unsqueeze(-1)).transpose(-1, -2)

    def _of_position(self, q: Tensor, positions: Tensor, rows: slice, heads: slice) -> Tensor:
        """The product of each query with the key of each distance, [..., h, Ti, T]."""
        keys = self.keys if len(self.keys) == 1 else self.keys[heads]
        keys = keys.to(q.dtype).transpose(-1, -2)  # [h, K, N]
        n_tokens, (start, stop, step) = len(positions), rows.indices(len(positions))
        if not self.ordered or step != 1 or stop - start < 2:
            index = keys.shape[-1] // 2 - (positions[rows].unsqueeze(-1) - positions)  # [Ti, T]
            products = q @ keys
            return products.gather(-1, index.expand(*products.shape[:-1], -1))
        count = stop - start
        products = q @ keys[..., n_tokens - stop : 2 * n_tokens - 1 - start]  # [..., h, Ti, Ti + T - 1]
        # Row i needs the columns from i's own on: one less in each row, so the rows of a narrower view.
        narrower = products.shape[-1] - 1
        flat = products.flatten(-2)[..., count - 1 : count - 1 + count * narrower]
        return torch.unflatten(flat, -1, (count, narrower))[..., :n_tokens]


#: What adds products with vectors of distances to the scores.
ScoreTerms = PositionTerms | DistanceTerms
