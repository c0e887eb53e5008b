"""Callbacks always run to their end.

A message of the browser ends the run of the message before it where that run next reads the session's state, and
Streamlit 1.67 begins the next run in another thread at once. If the first one is still in its callbacks, its event is
lost: the browser sends a click once. Here nothing ends a callback, and the next run waits for it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any
from weakref import WeakValueDictionary

from streamlit.runtime.state.safe_session_state import SafeSessionState

_run_callbacks = SafeSessionState.on_script_will_rerun
#: A session's lock by the id of its state, which takes no attribute itself; while any of its runs needs it.
_locks: WeakValueDictionary[int, _Lock] = WeakValueDictionary()
_changing_locks = threading.Lock()


class _Lock:
    """A lock that may be referred to weakly."""

    def __init__(self) -> None:
        self.taken = threading.RLock()


def _to_the_end(self: SafeSessionState, *args: Any, **options: Any) -> None:
    with _changing_locks:
        lock = _locks.setdefault(id(self._state), _Lock())  # `self` is of one run, the state is the session's
    with lock.taken:
        ends = self._yield_callback
        object.__setattr__(self, "_yield_callback", lambda: None)
        try:
            _run_callbacks(self, *args, **options)
        finally:
            object.__setattr__(self, "_yield_callback", ends)


@functools.cache
def begin() -> None:
    """Change Streamlit."""
    SafeSessionState.on_script_will_rerun = _to_the_end  # type: ignore[method-assign]
