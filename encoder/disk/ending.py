"""What is unfinished on the disk when the process is told to stop: it is removed first.

After Ctrl-C or an error, `with` removes it. SIGTERM and SIGHUP stop Python without that, so they have a handler here
while something is unfinished.
"""

import contextlib
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
#: What this process has begun to write: (its id, since a fork has the same list; the path).
_unfinished: set[tuple[int, Path]] = set()
#: Whether a swap is under way, and the signal that has come meanwhile.
_swapping, _late = False, 0


@contextlib.contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """While inside, `path` is a file or a folder to remove; it may have another name when that ends well."""
    entry = (os.getpid(), path)
    handled = _handle()
    _unfinished.add(entry)
    try:
        yield
    finally:
        if entry in _unfinished:
            _remove(path)
            _unfinished.discard(entry)
        for number in handled:
            if signal.getsignal(number) is _stop:
                signal.signal(number, signal.SIG_DFL)


def finished(path: Path) -> bool:
    """`path` stays from here on. Returns whether it would have been removed."""
    entry = (os.getpid(), path)
    found = entry in _unfinished
    _unfinished.discard(entry)
    return found


@contextlib.contextmanager
def swapping() -> Iterator[None]:
    """A signal that comes inside stops the process at the end of it."""
    global _swapping
    _swapping = True
    try:
        yield
    finally:
        _swapping = False
        if _late:
            _stop(_late, None)


def _handle() -> list[int]:
    """Handle the signals that nobody else does. Only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        return []
    found = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in found:
        signal.signal(number, _stop)
    return found


def _stop(number: int, _: FrameType | None) -> None:
    """Remove what is unfinished, and stop as the signal does."""
    global _late
    if _swapping:
        _late = number
        return
    for process, path in list(_unfinished):
        if process == os.getpid():
            _remove(path)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
