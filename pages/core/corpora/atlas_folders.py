"""Temporary folders of visitors' atlases: removed with their session, when the server stops, or by the next server.

A server holds a lock in each of its folders. The system releases it when the process stops, even a killed one. So a
folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from encoder import EncoderError

PREFIX, LOCK = "encoderscope-atlas-", "lock"
#: A folder without a lock is being made, or its server was killed in that moment: it is removed after so many seconds.
MAKING_SECONDS = 3600.0
_FOLDERS: weakref.WeakSet[Folder] = weakref.WeakSet()
_LOCK = threading.Lock()


class Folder:
    """A temporary folder that goes with this object."""

    def __init__(self, most: int) -> None:
        """Raises EncoderError if this process has `most` already."""
        with _LOCK:
            if len(_FOLDERS) >= most:
                raise EncoderError(f"This server keeps {most} atlases of visitors, no more: try again later.")
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            lock = open(self.path / LOCK, "wb")  # noqa: SIM115 (held as long as the folder is used)
            _take(lock)
            self.remove = weakref.finalize(self, _remove, self.path, lock)
            _FOLDERS.add(self)


def remove_all() -> None:
    """Remove the folders of this process, at its end: it leaves without Python's own clearing up (serve.py)."""
    for folder in list(_FOLDERS):
        folder.remove()


def sweep() -> None:
    """Remove the folders that killed servers of this user left behind."""
    for path in _left(Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            if not (path / LOCK).exists():
                if time.time() - path.stat().st_mtime > MAKING_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
                continue
            if os.name == "nt":
                (path / LOCK).unlink()  # Windows refuses while another process has it open
            else:
                with open(path / LOCK, "rb+") as lock:
                    _take(lock)
            shutil.rmtree(path, ignore_errors=True)


def _left(place: Path) -> Iterator[Path]:
    """Folders of that name which this user owns; nobody else's, and no links."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                owner = entry.stat(follow_symlinks=False).st_uid
                if not hasattr(os, "getuid") or owner == os.getuid():
                    yield Path(entry.path)


def _take(lock: IO[Any]) -> None:
    """Raises OSError if another open file holds the lock. Windows has no fcntl; it refuses to remove an open file."""
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove(path: Path, lock: IO[Any]) -> None:
    if os.name == "nt":
        lock.close()
    shutil.rmtree(path, ignore_errors=True)
    lock.close()
