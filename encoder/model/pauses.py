"""Places inside a long computation where whoever started it may wait for others, or end it.

The forward pass has one after each layer, attention maps one after each chunk of rows, training one before each step.
Imports no torch.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Clear while a person waits. Each step of a training then waits first, `GIVE_WAY` seconds at most. Otherwise the
#: person waits for Python's lock, which a training thread may hold while the system runs other programs.
NOBODY_WAITS = threading.Event()
NOBODY_WAITS.set()
GIVE_WAY = 0.25
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
