"""Edits of attention: mask keys, set a score or a weight, temperature, uniform attention, causal mask.

All but SetWeight change the scores, before the softmax. A layer whose scores or weights are edited computes them for
all pairs; other layers keep the fused kernel.

Shapes: H heads, Ti queries, T keys.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from encoder.edits.base import Edit, Names, Site


@dataclass(frozen=True, kw_only=True)
class AttentionEdit(Edit):
    """Base: an edit of one hook point of attention. layer, head, query: None means every one.

    cross: an edit of a decoder's cross-attention; its keys are tokens of the input.
    """

    cross: bool = False
    point: ClassVar[str] = "scores"

    def at(self, point: str, layer: int | None) -> bool:
        return (
            point == ("cross." if self.cross else "") + self.point
            and layer is not None
            and getattr(self, "layer", None) in (None, layer)
        )

    def apply(self, value: Tensor, site: Site) -> Tensor:
        """Scores or weights [..., H, Ti, T] -> a new tensor of the same shape."""
        head, query = getattr(self, "head", None), getattr(self, "query", None)
        chosen = site.chosen(
            value, None if head is None else (head,), None if query is None else (query,), self._keys()
        )
        changed = self._changed(value, site)
        return changed.expand_as(value).clone() if chosen is None else torch.where(chosen, changed, value)

    def describe(self, names: Names) -> str:
        query, key = getattr(self, "query", None), getattr(self, "key", None)
        only = "" if query is None or key is not None else f" for {names.token(query)}"
        return self._what(names) + only + self._where()

    def _keys(self) -> tuple[int, ...] | None:
        """The keys whose scores change; None: all of them."""
        return None

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        """The value after the edit, as if it held everywhere."""
        raise NotImplementedError


@dataclass(frozen=True)
class MaskKeys(AttentionEdit):
    """Mask keys for a query: their scores become the lowest number. layer, head, query: None means every one.

    keys: any sequence of whole numbers. Raises EncoderError for an index that is not a whole number from 0 on.
    """

    keys: tuple[int, ...]
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    code: ClassVar[str] = "mask"

    def _what(self, names: Names, **more: str) -> str:
        return f"{', '.join(names.token(key) for key in self.keys)} hidden"

    def _keys(self) -> tuple[int, ...]:
        return self.keys

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return value.new_full((), torch.finfo(value.dtype).min)


@dataclass(frozen=True)
class SetScore(AttentionEdit):
    """Replace the score of one query and key, before the softmax.

    Raises EncoderError for an index that is not a whole number from 0 on, and for a value that is not a finite number.
    """

    layer: int
    head: int
    query: int
    key: int
    value: float
    code: ClassVar[str] = "score"
    words: ClassVar[str] = "score {query} to {key} = {value:g}"

    def _keys(self) -> tuple[int, ...]:
        return (self.key,)

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return value.new_full((), self.value)


@dataclass(frozen=True)
class SetWeight(AttentionEdit):
    """Set the weight of one query and key, 0 to 1. The other weights of the row share the rest as they did before.

    Where all other weights of the row are 0, the row keeps its whole weight on the key.
    """

    layer: int
    head: int
    query: int
    key: int
    value: float
    code: ClassVar[str] = "weight"
    words: ClassVar[str] = "weight {query} to {key} = {value:g}"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    point: ClassVar[str] = "pattern"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        others = value.clone()
        others[..., self.key] = 0.0
        total = others.sum(-1, keepdim=True)
        changed = others * ((1.0 - self.value) / total.clamp(min=torch.finfo(value.dtype).tiny))
        changed[..., self.key] = self.value
        alone = torch.zeros_like(value)
        alone[..., self.key] = 1.0
        return torch.where(total > 0, changed, alone)


@dataclass(frozen=True)
class Temperature(AttentionEdit):
    """Divide the scores by a temperature: above 1 attention becomes more uniform, below 1 sharper.

    Masked keys stay masked. Raises EncoderError for a temperature that is not positive.
    """

    value: float
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    code: ClassVar[str] = "temperature"
    words: ClassVar[str] = "temperature {value:g}"
    bounds: ClassVar[tuple[float, float]] = (1e-3, 1e6)

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        limits = torch.finfo(value.dtype)
        return torch.where(value > limits.min, (value / self.value).clamp(limits.min, limits.max), value)


@dataclass(frozen=True)
class UniformAttention(AttentionEdit):
    """Give every key that is not masked the same weight."""

    layer: int | None = None
    head: int | None = None
    query: int | None = None
    code: ClassVar[str] = "uniform"
    words: ClassVar[str] = "uniform attention"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return torch.where(value > torch.finfo(value.dtype).min, torch.zeros_like(value), value)


@dataclass(frozen=True)
class CausalMask(AttentionEdit):
    """Let every query attend to itself and to earlier tokens only, as in a decoder."""

    layer: int | None = None
    head: int | None = None
    code: ClassVar[str] = "causal"
    words: ClassVar[str] = "causal mask"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        queries = torch.tensor(list(site.tokens), device=value.device)
        later = torch.arange(value.shape[-1], device=value.device) > queries.unsqueeze(-1)  # [Ti, T]
        return value.masked_fill(later, torch.finfo(value.dtype).min)


ATTENTION_EDITS: tuple[type[AttentionEdit], ...] = (
    MaskKeys, SetScore, SetWeight, Temperature, UniformAttention, CausalMask,
)  # fmt: skip
