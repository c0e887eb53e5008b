"""Places inside a long computation where whoever started it may wait for others, or end it.

The forward pass has one after each layer, attention maps one after each chunk of rows. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_action: ContextVar[Callable[[], None] | None] = ContextVar("encoder_pause", default=None)


@contextmanager
def pausing(action: Callable[[], None]) -> Iterator[None]:
    """Inside, computations of this thread or task call `action` between their parts. What it raises ends them."""
    token = _action.set(action)
    try:
        yield
    finally:
        _action.reset(token)


def pause() -> None:
    """Call the action of this thread or task, if there is one."""
    if (action := _action.get()) is not None:
        action()
