"""DeBERTa's disentangled attention (He et al. 2021, section 3.1): products of content with vectors of distances.

With d = i - j and learned vectors of distances P, the scores are

    (q_i . k_j + q_i . K_p[d] + k_j . Q_p[d]) x scale,     K_p = P W_k, Q_p = P W_q

content to content, content to position, position to content. scale is 1 / sqrt(K x number of terms).

Shapes: H heads, T tokens (queries i, keys j), K width of a head, S span: vectors for each direction.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.errors import ConfigError
from encoder.model.checks import check_kinds, check_whole


@dataclass(frozen=True)
class Disentangled:
    """DeBERTa's terms: scores of vectors of distances (He et al. 2021)."""

    #: S, the number of vectors of distances for each direction.
    span: int
    #: Where a logarithmic scale of distances ends; 0: none, and distances are clipped at S.
    farthest: int = 0
    #: Whether queries of tokens meet keys of distances.
    to_position: bool = True
    #: Whether queries of distances meet keys of tokens.
    to_content: bool = True
    #: Whether W_k and W_q of the layer make them, and not maps of their own.
    shared: bool = True
    #: Whether a norm is applied to the vectors.
    norm: bool = True
    #: Whether the own map to keys has a bias.
    key_bias: bool = True

    def __post_init__(self) -> None:
        check_whole("span", self.span, 4 if self.farthest else 1)
        check_whole("farthest", self.farthest, 0)
        check_kinds(self)
        if self.farthest and self.farthest - 1 <= self.span // 2:
            raise ConfigError(f"farthest={self.farthest} is too small for span={self.span}: choose a larger one.")

    @property
    def n_terms(self) -> int:
        """Terms of the scores, that of content included."""
        return 1 + self.to_position + self.to_content

    def rows(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Positions queries [Ti], keys [Tj] -> [Ti, Tj]: the row of P for i - j, 0 to 2S - 1."""
        distance = queries.unsqueeze(-1) - keys.unsqueeze(-2)
        if self.farthest:  # exact up to S/2, then logarithmic
            half = self.span // 2
            far = distance.abs().clamp(min=half).float() / half
            scaled = (
                torch.ceil(torch.log(far) / torch.log(torch.tensor((self.farthest - 1) / half)) * (half - 1)) + half
            )
            distance = torch.where(distance.abs() <= half, distance, (scaled * distance.sign()).long())
        return (distance + self.span).clamp(0, 2 * self.span - 1)


@dataclass(frozen=True, eq=False)
class PositionTerms:
    """The two terms of one layer. keys, queries: K_p and Q_p, [H, 2S, K] each, or None."""

    shape: Disentangled
    keys: Tensor | None
    queries: Tensor | None

    def of(self, q: Tensor, k: Tensor, positions: Tensor, rows: slice, heads: slice) -> Tensor:
        """q [..., h, Ti, K], k [..., h, T, K], positions [T] -> [..., h, Ti, T], the sum of the terms before scaling.

        It is linear in q and k together, so it is its own derivative.
        """
        found = list(self.apart(q, k, positions, rows, heads).values())
        if not found:  # a model may have vectors of distances and use none
            return q.new_zeros(*q.shape[:-1], k.shape[-2])
        return found[0] + found[1] if len(found) > 1 else found[0]

    def apart(self, q: Tensor, k: Tensor, positions: Tensor, rows: slice, heads: slice) -> dict[str, Tensor]:
        """The terms by name, [..., h, Ti, T] each: "content to position" and "position to content"."""
        index = self.shape.rows(positions[rows], positions)  # [Ti, T]
        found = {}
        if self.keys is not None:
            products = q @ self.keys[heads].to(q.dtype).transpose(-1, -2)  # [..., h, Ti, 2S]
            found["content to position"] = products.gather(-1, index.expand(*products.shape[:-1], -1))
        if self.queries is not None:
            products = k @ self.queries[heads].to(k.dtype).transpose(-1, -2)  # [..., h, T, 2S]
            across = index.transpose(-1, -2)
            turned = products.gather(-1, across.expand(*products.shape[:-1], -1))  # [..., h, T, Ti]
            found["position to content"] = turned.transpose(-1, -2)
        return found
