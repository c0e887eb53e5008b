"""Pages are drawn before anything in the background, and few at once: a training step waits while a page is drawn.

Thirty threads that share one interpreter take a half more processor time than two, and nobody is served before nearly
all are. So a page waits for its slot, in the order in which pages are asked for. A page that computes for long frees
its slot: nobody waits for it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from encoder.model.pauses import NOBODY_WAITS

#: Pages that are drawn at once: one computes while the other runs Python. With four, thirty pages took a fifth longer.
AT_ONCE = 2
#: Seconds for which a page counts: a shorter one is drawn long before.
COUNTS = 1.0
_lock = threading.Lock()
_drawn = 0


class Slots:
    """Slots for pages that are drawn at once."""

    def __init__(self, at_once: int = AT_ONCE, counts: float = COUNTS) -> None:
        self._at_once, self._counts = at_once, counts
        self._lock = threading.Lock()
        self._began: dict[threading.Event, float] = {}  # of the pages that have a slot
        self._queue: deque[threading.Event] = deque()
        self._mine = threading.local()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Inside, this thread draws a page. Raises Streamlit's exception if its visitor asks for another one first."""
        mine, before = threading.Event(), getattr(self._mine, "slot", None)
        self._wait(mine)
        self._mine.slot = mine
        try:
            yield
        finally:
            self.leave()
            self._mine.slot = before

    def leave(self) -> None:
        """Free the slot of this thread, if it has one: what follows takes long, or the page is drawn."""
        with self._lock:
            self._began.pop(getattr(self._mine, "slot", None), None)  # type: ignore[arg-type]
            self._call_next()

    def _wait(self, mine: threading.Event) -> None:
        with self._lock:
            self._queue.append(mine)
        try:
            while (seconds := self._taken(mine)) is not None:
                mine.wait(seconds)
                mine.clear()
                leave_if_asked()
        except BaseException:
            with self._lock:
                self._queue.remove(mine)
                self._call_next()
            raise

    def _taken(self, mine: threading.Event) -> float | None:
        """Seconds until this page looks again for a slot; None: it has taken one."""
        with self._lock:
            now = time.monotonic()
            counted = [began for began in self._began.values() if now - began < self._counts]
            if self._queue[0] is not mine:
                return self._counts
            if len(counted) >= self._at_once:
                return min(counted) + self._counts - now
            self._queue.popleft()
            self._began[mine] = now
            self._call_next()
            return None

    def _call_next(self) -> None:
        if self._queue:
            self._queue[0].set()


#: The slots of this process.
SLOTS = Slots()


def n_drawn() -> int:
    """Pages that are drawn now or wait for their slot."""
    return _drawn


@contextmanager
def drawing() -> Iterator[None]:
    """While a page is drawn, for any session."""
    global _drawn
    with _lock:
        _drawn += 1
        NOBODY_WAITS.clear()
    try:
        with SLOTS.slot():
            yield
    finally:
        with _lock:
            _drawn -= 1
            if not _drawn:
                NOBODY_WAITS.set()


def leave_if_asked() -> None:
    """Raise Streamlit's own exception if this script has to stop or to run again: reading its state does."""
    if get_script_run_ctx(suppress_warning=True) is not None:
        st.session_state.get("_turns")
