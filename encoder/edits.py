"""Changes to a forward pass: ablate a head, mask keys, set a score. They travel in the recording's context.

An edit is a frozen, hashable value, so it can be part of a cache key and of a Trace. `hook` names the hook point that
it changes, `touches` says in which layers, `check` refuses places that do not exist, `apply` returns the changed value.
Layers, heads, queries and keys count from 0.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from encoder.errors import EncoderError

#: The largest score that can be set: float32 and bfloat16 both end at 3.4e38.
MAX_SCORE = 3e38
#: The fields of edits that name a place.
PLACES = ("layer", "head", "query", "key")


class _Placed:
    """What edits share. `required` names the places that cannot be None; `None` means every layer, head or query."""

    required: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in PLACES:
            value = getattr(self, name, None)
            if name in self.required or value is not None:
                object.__setattr__(self, name, _index(self, name, value))

    def check(self, n_layers: int, n_heads: int, n_tokens: int) -> None:
        """Raise EncoderError where the model or the text has no such layer, head, query or key."""
        counts = {"layer": n_layers, "head": n_heads, "query": n_tokens, "key": n_tokens}
        places = [(name, getattr(self, name, None)) for name in PLACES]
        for name, value in [*places, *(("key", key) for key in getattr(self, "keys", ()))]:
            if value is not None and value >= counts[name]:
                where = "text" if name in ("query", "key") else "model"
                raise EncoderError(f"No {name} {value} in this {where} to edit: choose 0 to {counts[name] - 1}.")

    def touches(self, layer: int) -> bool:
        """Whether the values of `layer` change."""
        return getattr(self, "layer", None) in (None, layer)


@dataclass(frozen=True)
class AblateHead(_Placed):
    """Set z of one head to zero, so that it adds nothing to the residual stream.

    Raises EncoderError for a layer or head that is not a whole number from 0 on.
    """

    layer: int
    head: int
    hook: ClassVar[str] = "z"
    required: ClassVar[tuple[str, ...]] = ("layer", "head")

    def apply(self, value: Tensor) -> Tensor:
        """z [B, H, T, K] of the layer -> a new tensor of the same shape."""
        kept = torch.ones(value.shape[1], dtype=value.dtype, device=value.device)
        kept[self.head] = 0.0
        return value * kept.view(1, -1, 1, 1)


@dataclass(frozen=True)
class MaskKeys(_Placed):
    """Mask keys for a query: their scores become the lowest number. layer, head, query: None means every one.

    keys: any sequence of whole numbers. Raises EncoderError for an index that is not a whole number from 0 on.
    """

    keys: tuple[int, ...]
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    hook: ClassVar[str] = "scores"

    def __post_init__(self) -> None:
        if isinstance(self.keys, str) or not hasattr(self.keys, "__iter__"):
            raise EncoderError(f"MaskKeys needs several keys, not {self.keys!r}: give a tuple such as (3,).")
        object.__setattr__(self, "keys", tuple(_index(self, "key", key) for key in self.keys))
        super().__post_init__()

    def within(self, heads: range, queries: range) -> MaskKeys | None:
        """The same edit for the scores of these heads and queries alone; None where it leaves them unchanged."""
        if (self.head is not None and self.head not in heads) or (self.query is not None and self.query not in queries):
            return None
        return replace(
            self,
            head=None if self.head is None else heads.index(self.head),
            query=None if self.query is None else queries.index(self.query),
        )

    def apply(self, value: Tensor) -> Tensor:
        """Scores [..., H, T, T] of the layer -> a new tensor of the same shape."""
        return _set_scores(value, self.head, self.query, self.keys, torch.finfo(value.dtype).min)


@dataclass(frozen=True)
class SetScore(_Placed):
    """Replace the score of one query and key, before the softmax.

    Raises EncoderError for an index that is not a whole number from 0 on, and for a value that is not a finite number.
    """

    layer: int
    head: int
    query: int
    key: int
    value: float
    hook: ClassVar[str] = "scores"
    required: ClassVar[tuple[str, ...]] = PLACES

    def __post_init__(self) -> None:
        super().__post_init__()
        is_number = isinstance(self.value, numbers.Real) and not isinstance(self.value, bool)
        if not is_number or not abs(self.value) <= MAX_SCORE:  # NaN compares as False
            raise EncoderError(
                f"SetScore cannot set a score to {self.value!r}: give a number from {-MAX_SCORE:g} to {MAX_SCORE:g}."
            )
        object.__setattr__(self, "value", float(self.value))

    def within(self, heads: range, queries: range) -> SetScore | None:
        """The same edit for the scores of these heads and queries alone; None where it leaves them unchanged."""
        if self.head not in heads or self.query not in queries:
            return None
        return replace(self, head=heads.index(self.head), query=queries.index(self.query))

    def apply(self, value: Tensor) -> Tensor:
        """Scores [..., H, T, T] of the layer -> a new tensor of the same shape."""
        return _set_scores(value, self.head, self.query, (self.key,), self.value)


ScoreEdit = MaskKeys | SetScore
Edit = AblateHead | ScoreEdit


def check_edits(edits: Sequence[Edit], n_layers: int, n_heads: int, n_tokens: int) -> None:
    """Raise EncoderError for what is no edit, and for a layer, head or token that does not exist."""
    for edit in edits:
        if not isinstance(edit, Edit):
            raise EncoderError(f"{edit!r} is no edit: choose from AblateHead, MaskKeys and SetScore.")
        edit.check(n_layers, n_heads, n_tokens)


def _index(edit: object, name: str, value: object) -> int:
    """`value` as an int. numpy's integers are fine; True, 1.5 and "0" are mistakes."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise EncoderError(f"{type(edit).__name__} has {name}={value!r}: give a whole number from 0 on.")
    return int(value)


def _set_scores(scores: Tensor, head: int | None, query: int | None, keys: tuple[int, ...], value: float) -> Tensor:
    out = scores.clone()
    heads = slice(None) if head is None else slice(head, head + 1)
    queries = slice(None) if query is None else slice(query, query + 1)
    for key in keys:
        out[..., heads, queries, key] = value
    return out
