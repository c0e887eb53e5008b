"""Who comes first: a person who waits for this process, then training. Imports no torch."""

from __future__ import annotations

import threading

#: Clear while a person waits. Each step then waits first, `GIVE_WAY` seconds at most. Otherwise the person waits for
#: Python's lock, which a training thread may hold while the system runs other programs.
NOBODY_WAITS = threading.Event()
NOBODY_WAITS.set()
GIVE_WAY = 0.25
