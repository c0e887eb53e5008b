"""HookPoint: a named place in the forward pass where a value can be recorded or edited.

The model contains its hook points from the start. A ContextVar of the current thread or task decides what happens at
them. Hooks that each call adds to a shared model and removes again would mix up the captures of concurrent sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from torch import Tensor, nn

#: The hook points of each layer, in the order of the forward pass (a post-norm layer applies its norms later).
LAYER_POINTS = (
    "first_ffn_norm.input", "first_ffn.hidden", "first_ffn_out", "after_first_ffn",
    "attention_norm.input", "q", "k", "v", "scores", "pattern", "z", "attention_out", "after_attention",
    "cross_norm.input", "cross.q", "cross.k", "cross.v", "cross.scores", "cross.pattern", "cross.z", "cross_out",
    "after_cross",
    "convolution_norm.input", "convolution.hidden", "convolution_out", "after_convolution",
    "ffn_norm.input", "ffn.hidden", "ffn_out", "end_norm.input", "after_ffn",
    "adapter_norm.input", "adapter.hidden", "adapter_out", "after_adapter",
)  # fmt: skip

#: The hook points outside the layers. "memory": the vectors that a decoder's cross-attention reads.
OTHER_POINTS = (
    "embedding.tokens", "embedding.segments", "embedding.position", "embedding.places", "embedding_norm.input",
    "embedding", "memory", "final_norm.input", "output",
)  # fmt: skip


class Visitor(Protocol):
    """What a forward pass shows its values to."""

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        """Receive `value` at the hook point `name` and return what replaces it. layer: None outside the layers."""
        ...

    def needs_scores(self, layer: int) -> bool:
        """Whether `layer` must compute its scores explicitly, because they or the weights are edited or recorded."""
        ...


_visitor: ContextVar[Visitor | None] = ContextVar("encoder_visitor", default=None)


def current_visitor() -> Visitor | None:
    """The visitor of this thread or task, or None."""
    return _visitor.get()


@contextmanager
def visiting(visitor: Visitor | None) -> Iterator[None]:
    """Inside, every forward pass of this thread or task shows its values to `visitor`, if any. Any exit ends this."""
    token = _visitor.set(visitor)
    try:
        yield
    finally:
        _visitor.reset(token)


class HookPoint(nn.Module):
    """The identity, with a name. The call gives `layer`, since layers may share their weights."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, value: Tensor, layer: int | None = None) -> Tensor:
        visitor = _visitor.get()
        return value if visitor is None else visitor.visit(self.name, layer, value)

    def extra_repr(self) -> str:
        return self.name
