"""A file that is there as a whole or not at all: it is written under another name next to it, and then renamed.

Its links stay links, and its permissions stay. A pipe or a device gets the bytes directly.
"""

import contextlib
import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from encoder.disk.ending import finished, unfinished
from encoder.errors import SaveError

#: Names of what a process has open already, such as /dev/stdout: its bytes are added there.
DESCRIPTOR = re.compile(r"/(proc/[^/]+(/task/[^/]+)?|dev)/fd/\d+|/dev/std(out|err)")
MOST_LINKS = 40
#: Endings of what a folder that is an input consists of; a picture or a table next to a model may be written again.
READ = (".json", ".parquet", ".safetensors", ".txt", ".npy")


def write_file(path: str | Path, content: bytes | str, *, inputs: Iterable[str | Path] = ()) -> Path:
    """Write a file, text as UTF-8. Arguments, errors and the result of `whole_file`; returns the path."""
    with whole_file(path, inputs=inputs) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


@contextlib.contextmanager
def whole_file(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[IO[bytes]]:
    """A file to write to. After an error or an interruption inside, the earlier file is as it was.

    inputs: files and folders that the content is made of. Raises SaveError for an output that is one of them, for a
    folder, and where the disk is full or accepts no files.
    """
    path = Path(path)
    check_output(path, inputs)
    try:
        target, earlier = _behind_links(path)
    except OSError as error:
        raise _refused(path, error) from None
    if earlier is not None and (not stat.S_ISREG(earlier.st_mode) or DESCRIPTOR.fullmatch(str(target))):
        with _opened(path, target, os.O_WRONLY | os.O_APPEND) as file:
            yield file
        return
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    with unfinished(part):
        with _opened(path, part, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            yield file
            _settle(path, file, earlier)
        try:
            os.replace(part, target)
            finished(part)
            sync_folder(target.parent)
        except OSError as error:
            raise _refused(path, error) from None


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raise SaveError if `path` cannot be written: it is one of the inputs by any name, is a part of a folder among
    them, is a folder, is read-only, or its own folder is missing."""
    path = Path(path)
    try:
        if path.is_dir():
            raise SaveError(f"{path} is a folder: specify the name of a file in it.")
        target, earlier = _behind_links(path)
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None
    if earlier is None and not target.parent.is_dir():
        raise SaveError(f"{path}: no folder {path.parent}. Make it first, or choose another.")
    if earlier is None or not stat.S_ISREG(earlier.st_mode):
        return
    for one in inputs:
        if _is_same(target, earlier, Path(one)):
            raise SaveError(f"{path} is an input, and would be lost: choose another file for the output.")
    if not os.access(target, os.W_OK):
        raise SaveError(f"{path} is read-only: choose another file, or change its permissions.")


def sync_folder(folder: Path) -> None:
    """Keep the names in a folder through a power failure, where the system can."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _is_same(target: Path, about: os.stat_result, given: Path) -> bool:
    """Whether the existing file `target` is the input `given`, or in that folder."""
    try:
        other = given.stat()
        if os.path.samestat(about, other):
            return True
        in_folder = stat.S_ISDIR(other.st_mode) and target.suffix.lower() in READ
        return in_folder and any(os.path.samestat(one.stat(), other) for one in target.parents)
    except (OSError, ValueError):
        return False


def _behind_links(path: Path) -> tuple[Path, os.stat_result | None]:
    """The path that the links at `path` lead to, and what is there. Raises OSError for a circle of links."""
    for _ in range(MOST_LINKS):
        if DESCRIPTOR.fullmatch(str(path)) or not path.is_symlink():
            break
        path = path.parent / os.readlink(path)
    try:
        return path, path.stat()
    except FileNotFoundError:
        return path, None


class _Raw(io.FileIO):
    """A file whose errors are SaveError, so that they are not taken for errors of what makes the content."""

    said: Path

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            raise _refused(self.said, error) from None


@contextlib.contextmanager
def _opened(path: Path, at: Path, flags: int) -> Iterator[IO[bytes]]:
    """The file `at`, which a sentence calls `path`."""
    try:
        raw = _Raw(os.open(at, flags | getattr(os, "O_BINARY", 0), 0o666), "wb")
    except OSError as error:
        raise _refused(path, error) from None
    raw.said = path
    file = io.BufferedWriter(raw, 1 << 20)
    try:
        yield file
        file.flush()
    finally:
        with contextlib.suppress(SaveError):  # that of the flush above, once more
            file.close()


def _settle(path: Path, file: IO[bytes], earlier: os.stat_result | None) -> None:
    """Put everything on the disk, with owner and permissions of the earlier file."""
    file.flush()
    try:
        if earlier is not None and hasattr(os, "fchmod"):
            if hasattr(os, "fchown"):
                with contextlib.suppress(OSError):  # only root may give files away
                    os.fchown(file.fileno(), earlier.st_uid, earlier.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(earlier.st_mode))
        os.fsync(file.fileno())
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> SaveError:
    return not_written(str(path), error)


def not_written(name: str, error: Exception) -> SaveError:
    """What to do about an error of the disk: a full one needs room, any other another place."""
    reason = getattr(error, "strerror", None) or error
    remedy = "Free space, or choose another place." if no_room(error) else "Choose another place."
    return SaveError(f"{name} cannot be written: {reason}. {remedy}")


def no_room(error: Exception) -> bool:
    """Whether the disk is full, or a limit on it is reached."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
