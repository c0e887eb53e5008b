"""Files are opened for reading here: regular files only, of a bounded size.

Opening a pipe waits for a writer, perhaps for ever, and a device has no end. A sparse file has any size and takes no
room on the disk.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def check_regular(path: str | Path, most: int | None = None) -> None:
    """Raise OSError for no file, for a folder, a pipe or a device, and for a file of more than `most` bytes."""
    _check(os.stat(path), path, most)


def open_regular(path: str | Path, most: int | None = None) -> BufferedReader:
    """The open file, as bytes. Raises OSError as `check_regular` does, whose `strerror` is a part of a sentence."""
    # Without waiting, in case that the name is a pipe's: what it is, is known only when it is open.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check(os.fstat(file), path, most)
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def read_regular(path: str | Path, most: int | None = None) -> bytes:
    """The content of a file. Raises OSError as `check_regular` does."""
    with open_regular(path, most) as file:
        return file.read()


def _check(about: os.stat_result, path: str | Path, most: int | None) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if most is not None and about.st_size > most:
        said = f"it has {about.st_size / 1e6:,.0f} MB, and the limit is {most / 1e6:,.0f} MB"
        raise OSError(errno.EFBIG, said, str(path))
