"""An ordinary user, whose home and folders may be read-only: all that reads works, all that writes says what to do."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoder.cli.app import streamlit_command
from tests.conftest import ROOT, Server, free_port

#: What lets root write where an ordinary user must not.
RIGHTS = "dac_override", "dac_read_search", "fowner", "chown"


def as_ordinary_user() -> list[str]:
    """Words before a command line that take root's rights over files away."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root without setpriv cannot give its rights away")
    return ["setpriv", f"--bounding-set={','.join(f'-{one}' for one in RIGHTS)}", "--inh-caps=-all"]


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A read-only folder, which is the home of the user and where she is."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    yield folder
    assert list(folder.iterdir()) == []
    folder.chmod(stat.S_IRWXU)


def environment(home: Path) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**without, "HOME": str(home), "PYTHONPATH": str(ROOT), "TMPDIR": str(home.parent)}


def run(locked: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [*as_ordinary_user(), sys.executable, "-m", "encoder", *words]
    return subprocess.run(
        line, cwd=locked, env=environment(locked), capture_output=True, text=True, timeout=120, check=False
    )


def test_nothing_is_written_unless_it_is_asked_for(locked: Path):
    found = run(locked, "embed", "twin-pre", "--text", "A cat sat.", "--device", "cpu", "--format", "json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)


@pytest.mark.sample(3, "the same for another command")
@pytest.mark.parametrize(
    "words",
    [
        ["embed", "twin-pre", "--text", "A cat sat.", "--device", "cpu", "--out", "a.csv"],
        ["publish", "model?text=A+cat&model=twin-pre", "--out", "folder"],
        ["lesson", "new", "a.md"],
    ],
    ids=lambda words: words[0],
)
def test_what_cannot_be_written_is_said(words: list[str], locked: Path):
    found = run(locked, *words)
    assert found.returncode in (1, 2)
    assert "Traceback" not in found.stderr
    assert f"{words[-1]} cannot be written" in found.stderr
    assert "hoose another place" in found.stderr


def test_the_app_runs(locked: Path, tmp_path: Path):
    port, log_file = free_port(), tmp_path / "log"
    line = [*as_ordinary_user(), *streamlit_command(ROOT / "app.py", "127.0.0.1", port, browser=False)]
    with log_file.open("wb") as log:
        process = subprocess.Popen(line, cwd=locked, env=environment(locked), stdout=log, stderr=subprocess.STDOUT)
    server = Server(process, f"http://127.0.0.1:{port}", log_file)
    try:
        server.wait_until_ready()
    finally:
        process.terminate()
        process.wait(30)
    assert "denied" not in server.log().lower()
    assert "Traceback" not in server.log()
