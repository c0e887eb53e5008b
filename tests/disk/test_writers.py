"""Every public writer: nothing of the user's is lost, nothing is written by halves."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from encoder import disk
from encoder.errors import EncoderError, SaveError
from tests.conftest import ROOT
from tests.disk import writers
from tests.disk.writers import FILES, FOLDERS, KEEPS, USED_BY, command

pytestmark = pytest.mark.sample(4, "the same for another writer, way or signal")
each_file = pytest.mark.parametrize("name", FILES)
each_folder = pytest.mark.parametrize("name", FOLDERS)
#: Calls that write to the disk, besides those of encoder/disk.
WRITES = re.compile(
    r"\.(write_text|write_bytes|to_csv|to_parquet)\((?!self\b)|\b(save_file|mkstemp|mkdtemp|NamedTemporaryFile)\(|"
    r"\bos\.(replace|rename|unlink|remove)\(|\bshutil\.(rmtree|move|copy)|\bopen\([^)\n]*['\"][wax]b?\+?['\"]"
)
#: Files whose calls of that kind have another reason, with the number of lines.
OTHERWISE = {
    "encoder/checkpoints/huggingface.py": 1,  # in the new folder of encoder.save
    "encoder/checkpoints/native.py": 3,  # the same
    "encoder/checkpoints/in_memory.py": 6,  # temporary files of `wrap`
    "encoder/cli/serve.py": 1,  # the settings of nginx, in a temporary folder
    "encoder/corpus/staging.py": 1,  # an unfinished build: its lock
    "encoder/checkpoints/weights.py": 1,  # a sentence
    "pages/texts/plane.py": 1,  # bytes
    "encoder/export/report.py": 1,  # bytes
    "encoder/search/collection.py": 1,  # bytes
    "encoder/documents/csv_file.py": 1,  # text of a table
}


def sources() -> Iterator[tuple[str, str]]:
    for path in [*ROOT.glob("encoder/**/*.py"), *ROOT.glob("pages/**/*.py")]:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("encoder/disk/"):
            yield name, path.read_text(encoding="utf-8")


def test_the_list_of_writers_is_complete():
    own = {name for name, text in sources() if re.search(r"\bdisk\.(write_file|whole_file|whole_folder|put_in)", text)}
    assert own == set(USED_BY)
    assert set().union(*USED_BY.values()) == {*FILES, *FOLDERS}


def test_nothing_else_writes():
    found = {}
    for name, text in sources():
        lines = [line for line in text.splitlines() if WRITES.search(line) and not line.lstrip().startswith("#")]
        if len(lines) != OTHERWISE.get(name, 0):
            found[name] = lines
    assert found == {}


# --- files ------------------------------------------------------------------------------------------------------------


@each_file
def test_a_link_stays_and_its_file_keeps_its_permissions(name: str, tmp_path: Path):
    (tmp_path / "other").mkdir()
    behind, link = tmp_path / "other" / name, tmp_path / name
    link.symlink_to(behind)
    if name not in KEEPS:
        behind.write_text("earlier")
        behind.chmod(0o640)
        FILES[name](link)
        assert stat.S_IMODE(behind.stat().st_mode) == 0o640
        assert behind.read_bytes() != b"earlier"
    else:
        with pytest.raises(EncoderError):
            FILES[name](link)
        assert not behind.exists()
    assert link.is_symlink()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] in ([name], [])


@each_file
def test_a_new_file_has_usual_permissions(name: str, tmp_path: Path):
    (tmp_path / "usual").write_text("")
    FILES[name](tmp_path / name)
    assert (tmp_path / name).stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("name", sorted({*FILES} - KEEPS))
def test_a_pipe_gets_the_bytes(name: str, tmp_path: Path):
    pipe, found = tmp_path / name, []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    FILES[name](pipe)
    reader.join(60)
    assert len(found[0]) > 100
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", sorted({*FILES} - KEEPS))
def test_a_device_stays_a_device(name: str, tmp_path: Path):
    device = tmp_path / name
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat("/dev/full").st_rdev)
        device.open("ab").close()
    except OSError:
        device.unlink(missing_ok=True)
        device.symlink_to("/dev/full")
    with pytest.raises(SaveError, match="cannot be written"):
        FILES[name](device)
    assert stat.S_ISCHR(device.stat().st_mode)


@contextmanager
def full_disk(room: int = 1_000) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))  # Python ignores the signal
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", sorted({*FILES} - KEEPS))
def test_a_full_disk_leaves_the_earlier_file(name: str, tmp_path: Path):
    file = tmp_path / name
    file.write_text("earlier")
    with full_disk(100), pytest.raises(SaveError, match="cannot be written"):
        FILES[name](file)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


@each_file
def test_a_folder_and_a_missing_folder_are_refused(name: str, tmp_path: Path):
    (tmp_path / name).mkdir()
    for path in (tmp_path / name, tmp_path / "none" / name, tmp_path / ("x" * 300 + name)):
        with pytest.raises(EncoderError):
            FILES[name](path)
    assert not any((tmp_path / name).iterdir())


TEXTS = "text,label\nA cat sat.,a\nA dog ran.,b\n"


@pytest.mark.parametrize("way", ["itself", "a link", "a hard link", "another way there", "behind the link"])
def test_an_output_that_is_an_input_is_refused(way: str, tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_text(TEXTS)
    out, given = file, file
    if way == "a link":
        out = tmp_path / "b.csv"
        out.symlink_to("a.csv")
    elif way == "a hard link":
        out = tmp_path / "b.csv"
        os.link(file, out)
    elif way == "another way there":
        (tmp_path / "sub").mkdir()
        out = tmp_path / "sub" / ".." / "a.csv"
    elif way == "behind the link":
        given = tmp_path / "b.csv"
        given.symlink_to("a.csv")
    with pytest.raises(SaveError, match="is an input"):
        command("embed", "twin-pre", "--texts", str(given), "--device", "cpu", "--out", str(out))
    assert file.read_text() == TEXTS


def test_any_other_input_is_kept_too(tmp_path: Path):
    pairs, text = tmp_path / "p.csv", "query,key\n1,2\n"
    pairs.write_text(text)
    with pytest.raises(SaveError, match="is an input"):
        command("align", *writers.ONE_TEXT, "--pairs", str(pairs), "--out", str(pairs))
    assert pairs.read_text() == text
    maps = tmp_path / "maps.parquet"
    trace = writers.trace()
    import pandas as pd

    rows = [(0, 0, i, j, float(trace.attention(0, 0)[i, j])) for i in range(3) for j in range(3)]
    pd.DataFrame(rows, columns=["layer", "head", "query", "key", "weight"]).to_parquet(maps)
    before = maps.read_bytes()
    with pytest.raises(SaveError, match="is an input"):
        command("measure", str(maps), "--out", str(maps))
    assert maps.read_bytes() == before
    folder = tmp_path / "model"
    FOLDERS["saved"](folder)
    config = (folder / "config.json").read_bytes()
    with pytest.raises(SaveError, match="is an input"):
        command("embed", str(folder), "--text", "a", "--out", str(folder / "config.json"))
    assert (folder / "config.json").read_bytes() == config
    for _ in range(2):  # a table next to the model may be written again
        command("embed", str(folder), "--text", "a", "--out", str(folder / "vectors.npz"))


# --- folders ----------------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", "about.json", ".encoderscope")
    }


@each_folder
def test_what_a_user_added_stays(name: str, tmp_path: Path):
    folder = tmp_path / "folder"
    FOLDERS[name](folder)
    before = contents(folder)
    folder.chmod(0o750)
    (folder / "notes.md").write_text("mine")
    (folder / "results" / "deep").mkdir(parents=True)
    (folder / "results" / "deep" / "a.csv").write_text("1,2")
    (folder / "link").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe")
    number = (folder / "notes.md").stat().st_ino
    FOLDERS[name](folder)
    assert contents(folder) == {**before, "notes.md": b"mine", "results/deep/a.csv": b"1,2"}
    assert (folder / "notes.md").stat().st_ino == number
    assert os.readlink(folder / "link") == "/nowhere"
    assert (folder / "pipe").is_fifo()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert {path.name for path in tmp_path.iterdir()} <= {"folder", "atlas of folder"}


@each_folder
def test_a_folder_of_somebody_else_is_refused(name: str, tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for file in ("index.html", "config.json", "manifest.json", "notes.md"):
        (folder / file).write_text("mine")
    with pytest.raises(EncoderError, match=r"stay|exists|cannot be written"):
        FOLDERS[name](folder)
    assert contents(folder) | {"manifest.json": b"mine"} == dict.fromkeys(
        ("index.html", "config.json", "manifest.json", "notes.md"), b"mine"
    )


@each_folder
def test_a_link_to_a_folder_stays(name: str, tmp_path: Path):
    behind, link = tmp_path / "behind", tmp_path / "link"
    behind.mkdir()
    link.symlink_to(behind)
    FOLDERS[name](link)
    assert link.is_symlink()
    assert any(behind.iterdir())


@each_folder
def test_a_full_disk_leaves_the_earlier_folder(name: str, tmp_path: Path):
    folder = tmp_path / "folder"
    FOLDERS[name](folder)
    before = contents(folder)
    with full_disk(), pytest.raises(EncoderError):
        FOLDERS[name](folder)
    assert contents(folder) == before
    left = {path.name for path in tmp_path.iterdir()} - {"folder", "atlas of folder"}
    assert left <= ({"folder.partial"} if name == "atlas" else set())  # a build goes on from there


# --- the end of the process -------------------------------------------------------------------------------------------

WAITING = """
import sys, time
from pathlib import Path
from encoder import disk
target, kind = Path(sys.argv[1]), sys.argv[2]
with disk.whole_folder(target, "a test") if kind == "folder" else disk.whole_file(target) as place:
    disk.write_file(place / "a", "new") if kind == "folder" else place.write(b"new") and place.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_unfinished_is_left(kind: str, number: signal.Signals, tmp_path: Path):
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("earlier")
    line = [sys.executable, "-c", WAITING, str(target), kind]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len([*tmp_path.iterdir()]) == 1 + (kind == "file")
        process.send_signal(number)
        assert process.wait(30) != 0
    assert [path.name for path in tmp_path.iterdir()] == (["target"] if kind == "file" else [])
    if kind == "file":
        assert target.read_text() == "earlier"


STOPPED_LATE = """
import os, signal, sys
from pathlib import Path
from encoder import disk
from encoder.disk import folder
drop = folder._drop
folder._drop = lambda *given: (os.kill(os.getpid(), signal.SIGTERM), drop(*given))  # the folders have been exchanged
with disk.whole_folder(Path(sys.argv[1]), "a test") as place:
    disk.write_file(place / "a", "new")
"""


def test_the_earlier_folder_is_gone_when_a_signal_comes_after_the_exchange(tmp_path: Path):
    with disk.whole_folder(tmp_path / "target", "a test") as place:
        disk.write_file(place / "a", "earlier")
    line = [sys.executable, "-c", STOPPED_LATE, str(tmp_path / "target")]
    assert subprocess.run(line, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target" / "a").read_text() == "new"


def test_two_processes_write_one_file(tmp_path: Path):
    program = (
        "import sys; from encoder import disk\nfor _ in range(200): disk.write_file(sys.argv[1], sys.argv[2] * 100_000)"
    )
    file = tmp_path / "file"
    file.write_text("a" * 100_000)
    both = [subprocess.Popen([sys.executable, "-c", program, str(file), one], cwd=ROOT) for one in "ab"]
    while any(one.poll() is None for one in both):
        assert file.read_text() in ("a" * 100_000, "b" * 100_000)
        time.sleep(0.01)
    assert [one.returncode for one in both] == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_processes_write_one_folder(tmp_path: Path):
    """Each exchange is whole: no reader finds files of both, and a writer that meets the other's exchange says so."""
    program = """
import sys
from pathlib import Path
from encoder import disk
from encoder.errors import SaveError
written = 0
for _ in range(100):
    try:
        with disk.whole_folder(Path(sys.argv[1]), "a test") as place:
            for name in "xyz":
                disk.write_file(place / name, sys.argv[2])
        written += 1
    except SaveError as error:
        assert "cannot be written" in str(error) or "stay" in str(error), error
print(written)
"""
    folder = tmp_path / "folder"
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), one], cwd=ROOT, stdout=subprocess.PIPE)
        for one in "ab"
    ]
    written = [int(one.communicate(timeout=120)[0]) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert all(written)
    assert len({(folder / name).read_text() for name in "xyz"}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
