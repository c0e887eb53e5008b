"""Every public writer with hostile places: inputs, links, pipes, devices, a full disk, a kill, folders of the user."""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from encoder.errors import EncoderError
from tests.disk import writers
from tests.disk.writers import FILES, FOLDERS, KEEPS
from tests.fuzz.checkpoints import Found, bounded

#: Writers whose content takes seconds to compute.
SLOW = {"material", "site", "atlas", "index"}
MINE = {"notes.md": b"mine", "results/a.csv": b"1,2", "index.html.bak": b"old"}


def case(seed: int) -> str:
    """One writer in one place. Returns both, and what became of it. Raises Found."""
    chance = random.Random(seed)
    folder = chance.random() < 0.3
    name = chance.choice(sorted({*FOLDERS} - SLOW if chance.random() < 0.9 else FOLDERS) if folder else sorted(FILES))
    way = chance.choice(OF_FOLDERS if folder else OF_FILES)
    what = f"case {seed} ({name}, {way.__name__.strip('_')})"
    with tempfile.TemporaryDirectory() as place:
        try:
            with bounded(what), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                return f"{way.__name__.strip('_')}: {way(Path(place), name, chance)}"
        except Found:
            raise
        except BaseException as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error


def _wrote(write: Callable[[Path], object], path: Path) -> str:
    """ "written" or "refused"."""
    try:
        write(path)
    except EncoderError as error:
        if not str(error).strip() or "\n" in str(error):
            raise Found(f"the sentence is {str(error)[:200]!r}") from error
        return "refused"
    return "written"


def _nothing_left(place: Path, *names: str) -> None:
    left = {path.name for path in place.iterdir()} - {*names}
    if left := {one for one in left if not one.startswith("atlas of ")}:
        raise Found(f"left behind: {left}")


# --- files ------------------------------------------------------------------------------------------------------------


def _plain(place: Path, name: str, chance: random.Random) -> str:
    file = place / name
    if earlier := chance.random() < 0.5:
        file.write_bytes(b"earlier")
        file.chmod(mode := chance.choice((0o600, 0o640, 0o664)))
    outcome = _wrote(FILES[name], file)
    if earlier and (stat.S_IMODE(file.stat().st_mode) != mode or (outcome == "refused") != (name in KEEPS)):
        raise Found(f"{outcome}, mode {file.stat().st_mode:o}")
    if (outcome == "refused" or name in KEEPS) and earlier and file.read_bytes() != b"earlier":
        raise Found("the earlier file is lost")
    _nothing_left(place, name)
    return outcome


def _link(place: Path, name: str, chance: random.Random) -> str:
    (place / "deep").mkdir()
    target, at = place / "deep" / "target", place / "deep"
    if chance.random() < 0.5:
        target.write_bytes(b"earlier")
    link = place / name
    for step in range(chance.choice((1, 2, 5))):
        (at / f"step{step}").symlink_to(target)
        target = at / f"step{step}"
    link.symlink_to(chance.choice((target, Path("deep") / target.name)))
    outcome = _wrote(FILES[name], link)
    if not link.is_symlink():
        raise Found("the link is replaced")
    _nothing_left(place, name, "deep")
    return outcome


def _pipe(place: Path, name: str, chance: random.Random) -> str:
    os.mkfifo(place / name)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((place / name).read_bytes()), daemon=True)
    reader.start()
    outcome = _wrote(FILES[name], place / name)
    if outcome == "refused":
        with contextlib.suppress(OSError):  # let the reader end
            os.close(os.open(place / name, os.O_WRONLY | os.O_NONBLOCK))
    reader.join(10)
    if not stat.S_ISFIFO((place / name).stat().st_mode) or (outcome == "written" and not found[0]):
        raise Found("the pipe is replaced, or has no bytes")
    return outcome


def _device(place: Path, name: str, chance: random.Random) -> str:
    device = chance.choice(("/dev/null", "/dev/full"))
    (place / name).symlink_to(device)
    outcome = _wrote(FILES[name], place / name)
    fits = name in KEEPS or (device == "/dev/full") == (outcome == "refused")
    if not stat.S_ISCHR(os.stat(device).st_mode) or not fits:
        raise Found(f"{device}: {outcome}")
    return outcome


@contextlib.contextmanager
def _full(room: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _full_disk(place: Path, name: str, chance: random.Random) -> str:
    file = place / name
    file.write_bytes(b"earlier")
    with _full(chance.choice((0, 1, 100, 5_000))):
        outcome = _wrote(FILES[name], file)
    if outcome == "refused" and file.read_bytes() != b"earlier":
        raise Found("the earlier file is lost")
    _nothing_left(place, name)
    return outcome


def _killed(place: Path, name: str, chance: random.Random) -> str:
    """A child process writes until it is stopped at any moment."""
    file = place / name
    write = FILES.get(name) or FOLDERS[name]
    write(file)
    before, number = _content(file), chance.choice((signal.SIGTERM, signal.SIGKILL, signal.SIGHUP))
    child = os.fork()
    if child == 0:
        signal.alarm(0)
        signal.signal(number if number != signal.SIGKILL else signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with contextlib.suppress(BaseException):
            while True:
                write(file)
        os._exit(0)
    time.sleep(chance.random() * 0.3)
    os.kill(child, number)
    os.waitpid(child, 0)
    if _content(file).keys() != before.keys() or any(not one for one in _content(file).values()):
        raise Found(f"after {number.name}: {_content(file).keys()}")
    if number != signal.SIGKILL:
        _nothing_left(place, name, *([f"{name}.partial"] if name == "atlas" else []))  # it is built on from there
    return number.name


def _content(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def _input(place: Path, name: str, chance: random.Random) -> str:
    """An output that is an input of the command line, by any name."""
    ending = chance.choice(("csv", "jsonl", "parquet"))
    given = place / f"a.{ending}"
    texts = [f"text {number}" for number in range(3)]
    if ending == "parquet":
        import pandas as pd

        pd.DataFrame({"text": texts}).to_parquet(given)
    else:
        given.write_text("text\n" + "\n".join(texts) if ending == "csv" else '{"text": "a"}\n', encoding="utf-8")
    out = chance.choice((given, place / f"b.{ending}", place / ".." / place.name / given.name))
    if out.name[0] == "b":
        os.link(given, out) if chance.random() < 0.5 else out.symlink_to(given)
    before = given.read_bytes()
    words = ("embed", "twin-pre", "--texts", str(given), "--device", "cpu", "--out", str(out))
    if _wrote(lambda _: writers.command(*words), out) != "refused" or given.read_bytes() != before:
        raise Found("the input is lost")
    return "refused"


# --- folders ----------------------------------------------------------------------------------------------------------


def _with_mine(place: Path, name: str, chance: random.Random) -> str:
    folder = place / "folder"
    FOLDERS[name](folder)
    for file, content in MINE.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(content)
    with _full(2_000) if chance.random() < 0.3 else contextlib.nullcontext():
        outcome = _wrote(FOLDERS[name], folder)
    if any((folder / file).read_bytes() != content for file, content in MINE.items()):
        raise Found("a file of the user is lost")
    _nothing_left(place, "folder", *(["folder.partial"] if name == "atlas" else []))
    return outcome


def _foreign(place: Path, name: str, chance: random.Random) -> str:
    folder = place / "folder"
    folder.mkdir()
    for file in chance.sample(["index.html", "config.json", "manifest.json", "a.txt", ".encoderscope"], 2):
        (folder / file).write_text(chance.choice(("", "{}", "mine", '{"format": 1, "kind": "x", "files": ["../a"]}')))
    before = _content(folder)
    if _wrote(FOLDERS[name], folder) != "refused" or _content(folder) != before:
        raise Found("a folder of somebody else is written")
    shutil.rmtree(folder)
    _nothing_left(place, *(["folder.partial"] if name == "atlas" else []))
    return "refused"


def _folder_link(place: Path, name: str, chance: random.Random) -> str:
    (place / "behind").mkdir()
    (place / "link").symlink_to("behind")
    outcome = _wrote(FOLDERS[name], place / "link")
    if not (place / "link").is_symlink() or (outcome == "written" and not any((place / "behind").iterdir())):
        raise Found("the link is replaced")
    return outcome


OF_FILES = (_plain, _link, _pipe, _device, _full_disk, _killed, _input)
OF_FOLDERS = (_with_mine, _foreign, _folder_link, _killed)
