"""HookPoint: a named place in the forward pass where a value can be recorded or edited.

Hook points are built into the model once. What happens at them is decided by the context of the current thread or
task (a ContextVar), never by the model: hooks put on and taken off a shared model per call mix up the captures of
concurrent sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from torch import Tensor, nn


class Visitor(Protocol):
    """What a forward pass shows its values to."""

    def visit(self, name: str, value: Tensor) -> Tensor:
        """See `value` at the hook point `name`; what is returned takes its place."""
        ...

    def edits_scores(self, layer: int) -> bool:
        """Whether the scores of `layer` are edited, so that they must be written out."""
        ...


_visitor: ContextVar[Visitor | None] = ContextVar("encoder_visitor", default=None)


def current_visitor() -> Visitor | None:
    """The visitor of this thread or task, or None."""
    return _visitor.get()


@contextmanager
def visiting(visitor: Visitor) -> Iterator[None]:
    """Within, every forward pass of this thread or task shows its values to `visitor`; undone on any way out."""
    token = _visitor.set(visitor)
    try:
        yield
    finally:
        _visitor.reset(token)


class HookPoint(nn.Module):
    """The identity, with a name. `layer` is given at the call, since layers may share their weights."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, value: Tensor, layer: int | None = None) -> Tensor:
        visitor = _visitor.get()
        if visitor is None:
            return value
        return visitor.visit(self.name if layer is None else f"layers.{layer}.{self.name}", value)

    def extra_repr(self) -> str:
        return self.name
