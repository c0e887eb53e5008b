"""Edits of the positional encodings: leave them out, or give each token the encoding of another position.

They change what is added to the embeddings, rotary angles and the bias by distance. Causal masks and attention windows
stay with the order of the tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from encoder.edits.base import Edit, Names, Site
from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig


class PositionEdit(Edit):
    """Base: an edit of "embedding.position" [..., T, E] and of "positions" [T], the indices of other encodings."""

    def at(self, point: str, layer: int | None) -> bool:
        return point in ("embedding.position", "positions")

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        if not config.has_positions:
            raise EncoderError("This model has no positional encodings to edit: choose another model.")


@dataclass(frozen=True)
class DropPositions(PositionEdit):
    """Leave out the positional encodings. Rotary angles and distances become those of one position for all tokens."""

    code: ClassVar[str] = "nopositions"
    words: ClassVar[str] = "no positions"

    def apply(self, value: Tensor, site: Site) -> Tensor:
        return torch.zeros_like(value)


@dataclass(frozen=True)
class PermutePositions(PositionEdit):
    """Give token i the encoding of position order[i]; without an order, a random one from `seed`."""

    order: tuple[int, ...] = ()
    seed: int = 0
    code: ClassVar[str] = "permute"
    drawn: ClassVar[bool] = True

    def _what(self, names: Names, **more: str) -> str:
        return "positions in another order" if self.order else f"positions shuffled, seed {self.seed}"

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        if self.order and sorted(self.order) != list(range(n_tokens)):
            raise EncoderError(f"order={self.order} must name each position once: specify all of 0 to {n_tokens - 1}.")

    def apply(self, value: Tensor, site: Site) -> Tensor:
        axis = value.dim() - (1 if site.point == "positions" else 2)
        if self.order:
            order = torch.tensor(self.order)
        else:
            order = torch.randperm(value.shape[axis], generator=torch.Generator().manual_seed(self.seed))
        return value.index_select(axis, order.to(value.device))


POSITION_EDITS: tuple[type[PositionEdit], ...] = (DropPositions, PermutePositions)
