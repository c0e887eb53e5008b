"""What the C library does with freed memory, set so that tracing one text after another does not fetch it anew.

glibc hands a freed trace back to the system at once, and the next one is then faulted in again, 4 kB at a time: all
that a trace cost beside a plain forward pass (10 % at 128 to 512 tokens, 7,500 faults at 512) was this.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

#: Freed memory that a process may keep for its next use, and the size from which a block is the system's own again:
#: glibc's names and numbers in malloc.h. The second is what glibc itself arrives at, once it no longer adapts.
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 128 << 20
M_MMAP_THRESHOLD, LARGE_BYTES = -3, 32 << 20


@cache
def keep_freed_memory() -> bool:
    """Let this process keep up to KEPT_BYTES of freed memory, once; whether that was possible.

    Only with glibc, and not where the person who starts the process has said MALLOC_TRIM_THRESHOLD_ or GLIBC_TUNABLES.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - another C library's mallopt may mean something else by these numbers
    except (AttributeError, OSError, TypeError):  # no glibc; on Windows there is no library without a name
        return False
    return bool(library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES) and library.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
