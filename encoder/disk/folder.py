"""A folder that is there as a whole or not at all: it is written next to its place, and then the two are exchanged.

The folder has a list of what it was written with, LIST. A later write replaces these files only: what a user added
stays. A folder without the list is refused unless it is empty.
"""

import contextlib
import ctypes
import functools
import json
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from encoder.disk.ending import finished, swapping, unfinished
from encoder.disk.regular import read_regular
from encoder.disk.whole import not_written, sync_folder
from encoder.errors import SaveError

#: The list of a folder's own files: JSON with "format", "kind" and "files", paths with / in them.
LIST, FORMAT = ".encoderscope", 1
MOST_BYTES = 100_000_000
#: Names that an earlier version, which kept no list, wrote in a folder; none for a folder of something else.
Earlier = Callable[[Path], Collection[str]]


def none_earlier(_: Path) -> Collection[str]:
    """Every version has kept a list."""
    return ()


@contextlib.contextmanager
def whole_folder(path: str | Path, kind: str, earlier: Earlier = none_earlier) -> Iterator[Path]:
    """An empty folder to fill, which takes its place at the end. After an error the earlier folder is as it was.

    kind: what the folder is ("a checkpoint"); one of another kind is not replaced. Raises SaveError as `check_folder`
    does, where a user's file is in the place of a new one, and where the disk is full or accepts no files.
    """
    target = _resolved(path)
    check_folder(target, kind, earlier)
    ready = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.partial")
    with unfinished(ready):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            ready.mkdir()
            yield ready
            put_in_place(ready, target, kind, earlier)
        except SaveError:
            raise
        except OSError as error:
            raise not_written(target.name[:80], error) from None


def check_folder(
    path: str | Path, kind: str, earlier: Earlier = none_earlier, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Raise SaveError unless `path` is nothing yet, an empty folder, or one that was written as this kind.

    inputs: files that the content is made of. One that would be replaced is refused, too.
    """
    target = _resolved(path)
    try:
        try:
            target.lstat()
        except FileNotFoundError:
            return
        if not target.is_dir():
            raise SaveError(f"{target.name} is a file: specify the name of a folder.")
        if any(target.iterdir()) and not _written(target, kind, earlier):
            raise SaveError(
                f"{target.name} has files that are not {kind}, and they stay: specify another folder, or an empty one."
            )
        written = _written(target, kind, earlier)
        for one in map(_resolved, inputs):
            if one.is_relative_to(target) and one.relative_to(target).as_posix() in written:
                raise SaveError(f"{one.name} is an input, and would be lost: specify another folder for the output.")
        if not os.access(target, os.W_OK):
            raise SaveError(f"{target.name} is read-only: specify another folder, or change its permissions.")
    except OSError as error:
        raise not_written(target.name[:80], error) from None


def put_in_place(ready: Path, target: Path, kind: str, earlier: Earlier = none_earlier) -> None:
    """Make the finished folder `ready` the folder `target`, next to it. Arguments and errors: of `whole_folder`."""
    listed = _written(target, kind, earlier) if target.exists() else set()
    foreign = sorted(_files(target) - listed)
    new = {name for name in _files(ready) - {LIST} if name not in foreign or not _is_same(ready / name, target / name)}
    if clash := [name for name in foreign if _clashes(name, new)]:
        raise SaveError(
            f"{target.name} has a file {clash[0]} of yours, which would be replaced: rename it, or specify another "
            "folder."
        )
    content = {"format": FORMAT, "kind": kind, "files": sorted(new)}
    (ready / LIST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for name in new:
        if (ready / name).is_file():  # some writers make files that only their owner reads
            shutil.copymode(ready / LIST, ready / name)
    _sync(ready)
    if not target.exists():
        with swapping():
            os.rename(ready, target)
            finished(ready)
        sync_folder(target.parent)
        return
    check_folder(target, kind, earlier)
    shutil.copymode(target, ready)
    for name in foreign:
        _keep(target, ready, name)
    number = ready.stat().st_ino
    with swapping():
        mine = finished(ready)
        try:
            old = _exchange(ready, target)
        finally:
            if mine and ready.exists() and ready.stat().st_ino == number:  # they were not exchanged
                shutil.rmtree(ready, ignore_errors=True)
        sync_folder(target.parent)
        _drop(old, target, listed)


def clear_folder(folder: Path, kind: str, earlier: Earlier = none_earlier) -> None:
    """Remove what a folder was written with, and the folder if nothing else is in it."""
    listed = _written(folder, kind, earlier)
    for name in listed:
        with contextlib.suppress(OSError):
            (folder / name).unlink()
    _prune(folder)


def _written(folder: Path, kind: str, earlier: Earlier) -> set[str]:
    """The files that the folder was written with, those of such folders in it included; none for a foreign folder."""
    names = _listed(folder, kind)
    if names is None:
        names = set(earlier(folder))
    if not names:
        return set()
    for inside in folder.rglob(LIST):
        place = inside.parent.relative_to(folder).as_posix()
        if place != ".":
            names |= {f"{place}/{name}" for name in _listed(inside.parent, None) or ()}
    return names


def _listed(folder: Path, kind: str | None) -> set[str] | None:
    """The names in a folder's list, its own included; None for a folder without one, or of another kind."""
    try:
        content = json.loads(read_regular(folder / LIST, MOST_BYTES))
        if content["format"] != FORMAT or kind not in (None, content["kind"]):
            return None
        return {LIST, *(name for name in content["files"] if _is_inside(name))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_inside(name: object) -> bool:
    """Whether a name of a list, which anybody may have edited, is of a file in the folder."""
    return isinstance(name, str) and not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def _files(folder: Path) -> set[str]:
    """All that is in a folder but the folders that have something in them, as paths with /. Links are not followed."""
    found: set[str] = set()
    for place, folders, files in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        found |= {(here / name).relative_to(folder).as_posix() for name in [*files, *links]}
        if here != folder and not folders and not files:
            found.add(here.relative_to(folder).as_posix())
    return found


def _clashes(name: str, new: Collection[str]) -> bool:
    """Whether a user's file is in the place of a new one, of its folder, or has a folder's name."""
    above = {str(one) for one in PurePosixPath(name).parents}
    return name in new or not above.isdisjoint(new) or any(one.startswith(f"{name}/") for one in new)


def _is_same(one: Path, other: Path) -> bool:
    return os.path.samestat(one.lstat(), other.lstat())


def _keep(target: Path, ready: Path, name: str) -> None:
    """Put a file that a user added to `target` in `ready`, too."""
    given, place = target / name, ready / name
    if os.path.lexists(place):
        return  # an earlier try was killed
    for one in reversed(list(PurePosixPath(name).parents)[:-1]):
        if not (ready / one).exists():
            (ready / one).mkdir()
            shutil.copymode(target / one, ready / one)
    about = given.lstat()
    if stat.S_ISDIR(about.st_mode):
        place.mkdir()
        shutil.copymode(given, place)
    elif stat.S_ISLNK(about.st_mode):
        os.symlink(os.readlink(given), place)
    else:
        try:
            os.link(given, place)  # the same file, pipe or socket: whoever has it open goes on
        except OSError:
            if not stat.S_ISREG(about.st_mode):
                return  # moved at the end
            shutil.copy2(given, place)


def _drop(old: Path, target: Path, listed: Collection[str]) -> None:
    """Remove the earlier folder. What somebody added to it meanwhile moves to the new one."""
    for name in _files(old):
        given, place = old / name, target / name
        with contextlib.suppress(OSError):
            if name in listed or os.path.lexists(place):
                given.rmdir() if given.is_dir() and not given.is_symlink() else given.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                os.rename(given, place)
    _prune(old)


def _prune(folder: Path) -> None:
    """Remove the empty folders in a folder, and itself where nothing is left in it."""
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(place)


def _exchange(ready: Path, target: Path) -> Path:
    """Exchange the two folders; returns where the earlier one is now. At once where the system can."""
    at_once = _renameat2()
    if at_once is not None and at_once(-100, os.fsencode(ready), -100, os.fsencode(target), 2) == 0:
        return ready
    old = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.old")
    try:
        os.rename(target, old)
        os.rename(ready, target)
    finally:
        if not target.exists() and old.exists():
            os.rename(old, target)
    return old


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """Linux' exchange of two names (AT_FDCWD is -100, RENAME_EXCHANGE is 2); None elsewhere."""
    if sys.platform != "linux":
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), "renameat2", None)
    return found


def _sync(folder: Path) -> None:
    for place, _, files in os.walk(folder):
        for name in files:
            with open(Path(place) / name, "rb") as file, contextlib.suppress(OSError):
                os.fsync(file.fileno())
        sync_folder(Path(place))


def _resolved(path: str | Path) -> Path:
    """The path itself behind all links. Raises SaveError for a circle of links."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise SaveError(f"{str(path)[:200]} cannot be written: {error}. Specify another folder.") from None
