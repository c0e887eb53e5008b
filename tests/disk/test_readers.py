"""Every public reader of a file: a pipe, a device and a folder are one sentence, and nothing waits."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import encoder
from encoder import EncoderError, corpus, own
from encoder.cli import main
from encoder.inputs.read import read_texts
from encoder.measure.head_alignment import read_pairs
from encoder.run.files import open_run
from pages.teaching.lessons import lesson
from tests.disk import writers

READERS: dict[str, Callable[[Path], object]] = {
    "trace.safetensors": encoder.open_trace,
    "maps.safetensors": encoder.load,
    "maps.parquet": encoder.load,
    "texts.txt": read_texts,
    "texts.parquet": read_texts,
    "corpus.csv": lambda path: corpus.Source(str(path)).check(),
    "pairs.csv": lambda path: read_pairs(path, writers.trace()),
    "report.html": open_run,
    "table.parquet": open_run,
    "image.png": lambda path: encoder.load("digits-pre", device="cpu").open(path),
    "sound.wav": encoder.open_sound,
    "lesson.md": lesson.load,
    "own.py": lambda path: _own(path),
    "checkpoint": lambda path: _checkpoint(path, "config.json"),
    "weights": lambda path: _checkpoint(path, "model.safetensors"),
}


def _own(path: Path) -> None:
    before, os.environ[own.FILE] = os.environ.get(own.FILE), str(path)
    try:
        own.load.__wrapped__()
    finally:
        del os.environ[own.FILE]
        if before is not None:
            os.environ[own.FILE] = before


def _checkpoint(path: Path, name: str) -> None:
    folder = path.with_name(f"folder of {path.name}")
    if not folder.exists():
        encoder.save(encoder.load("twin-pre", device="cpu"), folder)
    (folder / name).unlink()
    (folder / name).symlink_to(path)
    encoder.load(folder)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing", "link in a circle"])
@pytest.mark.parametrize("name", READERS)
def test_only_regular_files_are_read(name: str, kind: str, tmp_path: Path):
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "link in a circle":
        path.symlink_to(path)

    def late(_: int, __: FrameType | None) -> None:
        raise TimeoutError("the reader waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    try:
        with pytest.raises((EncoderError, OSError)) as found:
            READERS[name](path)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not isinstance(found.value, TimeoutError)
    assert isinstance(found.value, EncoderError) or name == "lesson.md"  # `library` makes a sentence of it


def test_the_command_line_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture):
    os.mkfifo(tmp_path / "a.txt")
    assert main.main(["embed", "twin-pre", "--texts", str(tmp_path / "a.txt")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
