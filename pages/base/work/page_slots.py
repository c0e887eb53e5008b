"""Pages are drawn before anything in the background, and few at once: a training step waits while a page is drawn.

Thirty threads that share one interpreter take a half more processor time than two, and nobody is served before nearly
all are. So a page waits for its slot, in the order in which pages are asked for. A page that computes for long frees
its slot: nobody waits for it.
"""

import math
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
    """Slots for pages that are drawn at once; patience: seconds for which one waits at most."""

    def __init__(self, at_once: int = AT_ONCE, counts: float = COUNTS, patience: float = math.inf) -> None:
        self._at_once, self._counts, self._patience = at_once, counts, patience
        self._lock = threading.Lock()
        self._began: dict[threading.Event, float] = {}  # of the pages that have a slot
        self._queue: deque[threading.Event] = deque()
        self._mine = threading.local()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Inside, this thread draws a page. Raises Streamlit's exception if its visitor asks for another one first."""
        before = getattr(self._mine, "slot", None)
        self.enter()
        try:
            yield
        finally:
            self.leave()
            self._mine.slot = before

    def enter(self) -> None:
        """Wait for a slot of this thread. Raises Streamlit's exception if its visitor asks for another page first."""
        mine = threading.Event()
        self._wait(mine)
        self._mine.slot = mine

    def leave(self) -> None:
        """Free the slot of this thread, if it has one: what follows takes long, or the page is drawn."""
        with self._lock:
            self._began.pop(getattr(self._mine, "slot", None), None)  # type: ignore[arg-type]
            self._call_next()

    def _wait(self, mine: threading.Event) -> None:
        until = time.monotonic() + self._patience
        with self._lock:
            self._queue.append(mine)
        try:
            while (seconds := self._taken(mine, until)) is not None:
                mine.wait(seconds)
                mine.clear()
                leave_if_asked()
        except BaseException:
            with self._lock:
                self._queue.remove(mine)
                self._call_next()
            raise

    def _taken(self, mine: threading.Event, until: float) -> float | None:
        """Seconds until this page looks again for a slot; None: it has taken one."""
        with self._lock:
            now = time.monotonic()
            self._began = {one: began for one, began in self._began.items() if now - began < self._counts}
            if now < until and self._queue[0] is not mine:
                return min(self._counts, until - now)
            if now < until and len(self._began) >= self._at_once:
                return min(min(self._began.values()) + self._counts, until) - now
            self._queue.remove(mine)
            self._began[mine] = now
            self._call_next()
            return None

    def _call_next(self) -> None:
        if self._queue:
            self._queue[0].set()


#: The slots of this process.
SLOTS = Slots()


#: Whether this thread draws for a class.
_for = threading.local()


def draw_for_class(is_so: bool) -> None:
    """This run draws a screen that follows a teacher, one of many at once; or it does not. Say it in each run."""
    _for.a_class = is_so


def draws_for_class() -> bool:
    """Whether a class waits for this run and others: it leaves out what takes long and nobody asked for."""
    return getattr(_for, "a_class", False)


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
