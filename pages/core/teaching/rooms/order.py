"""In what order a class is drawn.

Thirty runs at once hold up each other and all end late. One after another, half of the class waits half as long, and
the last one no longer.
"""

from __future__ import annotations

import threading
import time

#: Runs of followers at a time, in one process.
AT_ONCE = 1
#: Seconds after which a run no longer counts, however it ended, and for which one waits at most.
LEASE, PATIENCE = 0.6, 4.0


class Order:
    """A queue, first come first served. Nobody is stuck: a place that is not given back is free after LEASE."""

    def __init__(self, at_once: int = AT_ONCE, lease: float = LEASE, patience: float = PATIENCE) -> None:
        self._at_once, self._lease, self._patience = at_once, lease, patience
        self._changed = threading.Condition()
        self._runs: dict[object, float] = {}  # each run, and since when
        self._queue: list[object] = []

    def enter(self) -> object:
        """Wait for a place; returns what `leave` takes."""
        me, until = object(), time.monotonic() + self._patience
        with self._changed:
            self._queue.append(me)
            while not self._is_next(me) and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(left, self._lease / 2))
            self._queue.remove(me)
            self._runs[me] = time.monotonic()
            self._changed.notify_all()
        return me

    def leave(self, me: object) -> None:
        """Give the place back."""
        with self._changed:
            self._runs.pop(me, None)
            self._changed.notify_all()

    def _is_next(self, me: object) -> bool:
        now = time.monotonic()
        self._runs = {one: since for one, since in self._runs.items() if now - since < self._lease}
        return self._queue[0] is me and len(self._runs) < self._at_once


#: Of this process.
ORDER = Order()
