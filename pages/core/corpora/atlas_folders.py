"""Temporary folders of visitors' atlases: removed with their session, or when the server stops.

What a killed server leaves is in the system's folder for temporary files, which only the server's user can read.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

from encoder import EncoderError

_FOLDERS: weakref.WeakSet[Folder] = weakref.WeakSet()
_LOCK = threading.Lock()


class Folder:
    """A temporary folder that goes with this object."""

    def __init__(self, most: int) -> None:
        """Raises EncoderError if this process has `most` already."""
        with _LOCK:
            if len(_FOLDERS) >= most:
                raise EncoderError(f"This server keeps {most} atlases of visitors, no more: try again later.")
            self.path = Path(tempfile.mkdtemp(prefix="encoderscope-atlas-"))
            self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
            _FOLDERS.add(self)


def remove_all() -> None:
    """Remove the folders of this process, at its end: it leaves without Python's own clearing up (app_server.py)."""
    for folder in list(_FOLDERS):
        folder.remove()
