"""Changes to a forward pass: switch a head off, mask keys, set a score. They travel with the context, like the capture.

An edit is a frozen value, so that it can be part of a cache's key and of a Trace. Layers and heads count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from encoder.errors import EncoderError


@dataclass(frozen=True)
class AblateHead:
    """Set z of one head to zero, so that it adds nothing to the residual stream."""

    layer: int
    head: int

    def check(self, n_layers: int, n_heads: int, n_tokens: int) -> None:
        """Raise EncoderError where the model has no such layer or head."""
        _check("layer", self.layer, n_layers)
        _check("head", self.head, n_heads)

    def edit_value(self, name: str, value: Tensor) -> Tensor:
        """value: z [B, H, T, K]; a new tensor, the old one is left as it is."""
        if name != f"layers.{self.layer}.z":
            return value
        kept = torch.ones(value.shape[1], dtype=value.dtype, device=value.device)
        kept[self.head] = 0.0
        return value * kept.view(1, -1, 1, 1)


@dataclass(frozen=True)
class MaskKeys:
    """Forbid keys to a query (or to all): their scores become the lowest number. layer, head, query None: every one."""

    keys: tuple[int, ...]
    layer: int | None = None
    head: int | None = None
    query: int | None = None

    def check(self, n_layers: int, n_heads: int, n_tokens: int) -> None:
        """Raise EncoderError where there is no such layer, head, query or key."""
        for name, value, count in (
            ("layer", self.layer, n_layers),
            ("head", self.head, n_heads),
            ("query", self.query, n_tokens),
            *(("key", key, n_tokens) for key in self.keys),
        ):
            _check(name, value, count)

    def touches(self, layer: int) -> bool:
        """Whether the scores of `layer` change."""
        return self.layer is None or self.layer == layer

    def within(self, heads: range, queries: range) -> MaskKeys | None:
        """The same edit for scores of these heads and query rows alone; None where it leaves them as they are."""
        place = _place(self.head, self.query, heads, queries)
        return None if place is None else replace(self, head=place[0], query=place[1])

    def edit_scores(self, scores: Tensor) -> Tensor:
        """scores [..., H, T, T] of a layer that is touched -> the same shape, edited."""
        return _set_scores(scores, self.head, self.query, self.keys, torch.finfo(scores.dtype).min)


@dataclass(frozen=True)
class SetScore:
    """Give one score (query attends to key) another value, before the softmax."""

    layer: int
    head: int
    query: int
    key: int
    value: float

    def check(self, n_layers: int, n_heads: int, n_tokens: int) -> None:
        """Raise EncoderError where there is no such layer, head, query or key."""
        for name, value, count in (
            ("layer", self.layer, n_layers),
            ("head", self.head, n_heads),
            ("query", self.query, n_tokens),
            ("key", self.key, n_tokens),
        ):
            _check(name, value, count)

    def touches(self, layer: int) -> bool:
        """Whether the scores of `layer` change."""
        return self.layer == layer

    def within(self, heads: range, queries: range) -> SetScore | None:
        """The same edit for scores of these heads and query rows alone; None where it leaves them as they are."""
        place = _place(self.head, self.query, heads, queries)
        return None if place is None else replace(self, head=place[0], query=place[1])

    def edit_scores(self, scores: Tensor) -> Tensor:
        """scores [..., H, T, T] of a layer that is touched -> the same shape, edited."""
        return _set_scores(scores, self.head, self.query, (self.key,), self.value)


def _check(name: str, value: int | None, count: int) -> None:
    if value is not None and not 0 <= value < count:
        raise EncoderError(f"An edit names {name} {value}, and there is none: they are 0 to {count - 1}.")


def _place(head: int | None, query: int | None, heads: range, queries: range) -> tuple[int | None, int | None] | None:
    """Where a head and a query are within a window of the scores; None where one of them is outside."""
    if (head is not None and head not in heads) or (query is not None and query not in queries):
        return None
    return None if head is None else heads.index(head), None if query is None else queries.index(query)


def _set_scores(scores: Tensor, head: int | None, query: int | None, keys: tuple[int, ...], value: float) -> Tensor:
    out = scores.clone()
    heads = slice(None) if head is None else slice(head, head + 1)
    queries = slice(None) if query is None else slice(query, query + 1)
    for key in keys:
        out[..., heads, queries, key] = value
    return out


ValueEdit = AblateHead
ScoreEdit = MaskKeys | SetScore
Edit = ValueEdit | ScoreEdit
