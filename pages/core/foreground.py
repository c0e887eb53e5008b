"""Pages are drawn before anything in the background: a training step waits while a page is drawn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from encoder.train.turns import NOBODY_WAITS

_lock = threading.Lock()
_drawn = 0


def n_drawn() -> int:
    """Pages that are drawn now."""
    return _drawn


@contextmanager
def drawing() -> Iterator[None]:
    """While a page is drawn, for any session."""
    global _drawn
    with _lock:
        _drawn += 1
        NOBODY_WAITS.clear()
    try:
        yield
    finally:
        with _lock:
            _drawn -= 1
            if not _drawn:
                NOBODY_WAITS.set()
