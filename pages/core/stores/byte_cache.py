"""A store that is bounded by bytes and shared by all sessions."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

#: Megabytes that traces and derived values may take together. Other stores of what visitors made are a share of it.
CACHE_MB = int(os.environ.get("ENCODERSCOPE_CACHE_MB", "768"))


@dataclass
class _Turn:
    """The sessions that want one key: they take turns, and the first makes the value."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sessions: int = 0


class ByteCache:
    """A least-recently-used store with a limit in bytes. Two sessions that ask for one key at once compute it once.

    on_evict: called with the key and the value of each entry that had to make room.
    """

    def __init__(self, limit: int, on_evict: Callable[[Hashable, Any], None] | None = None) -> None:
        self.limit = limit
        self.bytes = 0
        self._on_evict = on_evict
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._turns: dict[Hashable, _Turn] = {}

    def get(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """The value kept for `key`, or a new one from `make`; `size` gives its bytes."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            turn = self._turns.setdefault(key, _Turn())
            turn.sessions += 1
        try:
            with turn.lock:
                if (value := self.known(key)) is None:
                    value = make()
                    self._keep(key, value, size(value))
                return value
        finally:
            with self._lock:
                turn.sessions -= 1
                if not turn.sessions:
                    del self._turns[key]

    def known(self, key: Hashable) -> Any:
        """The value kept for `key`, or None; computes nothing and never waits."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def _keep(self, key: Hashable, value: Any, n_bytes: int) -> None:
        evicted = []
        with self._lock:
            self.bytes += n_bytes - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, n_bytes)
            while self.bytes > self.limit and len(self._entries) > 1:
                old_key, (old, freed) = self._entries.popitem(last=False)
                self.bytes -= freed
                evicted.append((old_key, old))
        if self._on_evict is not None:
            for old_key, old in evicted:
                self._on_evict(old_key, old)

    def discard(self, unwanted: Callable[[Hashable, Any], bool]) -> None:
        """Forget the entries for whose key and value `unwanted` is true."""
        with self._lock:
            for key in [key for key, (value, _) in self._entries.items() if unwanted(key, value)]:
                self.bytes -= self._entries.pop(key)[1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.bytes = 0
