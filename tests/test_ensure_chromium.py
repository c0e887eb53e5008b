"""How a Chromium is found and installed, on a path that holds nothing but what a test puts there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stands in for Debian's commands")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to be the whole PATH: the shell and env, and no browser."""
    for name in ("sh", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    return tmp_path


def put(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!{shutil.which('sh')}\n{script}\n")
    (folder / name).chmod(0o755)


def ensure(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if name != "CHROMIUM"}
    # A proxy that nobody is behind: an attempt to download fails at once.
    nowhere = {"PLAYWRIGHT_BROWSERS_PATH": str(folder / "none"), "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, str(ROOT / "tests" / "ensure_chromium.py")],
        env={**kept, **nowhere, "PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_chromium_on_the_path_is_taken(folder: Path):
    put(folder, "chromium", "echo Chromium 1.2.3")
    answer = ensure(folder)
    assert (answer.returncode, answer.stdout) == (0, f"Chromium: {folder / 'chromium'}\n")


def test_a_headless_shell_is_taken_first(folder: Path):
    put(folder, "chromium", "echo Chromium 1.2.3")
    put(folder, "chromium-headless-shell", "echo Chromium 1.2.3")
    assert ensure(folder).stdout == f"Chromium: {folder / 'chromium-headless-shell'}\n"


def test_playwrights_own_shell_is_found(folder: Path):
    place = folder / "none" / "chromium_headless_shell-1234" / "chrome-headless-shell-linux64"
    place.mkdir(parents=True)
    put(place, "chrome-headless-shell", "echo Chromium 1.2.3")
    assert ensure(folder).stdout == f"Chromium: {place / 'chrome-headless-shell'}\n"


def test_a_named_one_comes_first(folder: Path):
    put(folder, "chromium", "echo Chromium 1.2.3")
    put(folder, "mine", "echo Mine 4")
    assert ensure(folder, CHROMIUM="mine").stdout == f"Chromium: {folder / 'mine'}\n"


def test_a_named_one_that_does_not_start_is_said(folder: Path):
    put(folder, "chromium", "echo Chromium 1.2.3")
    answer = ensure(folder, CHROMIUM="nothing")
    assert answer.returncode == 1
    assert "'nothing'" in answer.stdout
    assert "not start" in answer.stdout


@pytest.mark.slow("asks Playwright for its browser, in another process")
def test_debians_package_is_installed_where_there_is_none(folder: Path):
    """Ubuntu's stand-in, which only says where to get one, does not count."""
    put(folder, "chromium-browser", "echo install the snap; exit 1")
    package = '[ "$*" != "${*%chromium fonts-liberation}" ]'  # the shell's package is not in every Debian
    installer = f"echo \"$@\" >> {folder}/calls; {package} && printf '#!{folder}/sh\\necho Chromium 9\\n' "
    put(folder, "apt-get", f"{installer} > {folder}/chromium && {shutil.which('chmod')} 755 {folder}/chromium; :")
    put(folder, "sudo", 'shift; exec "$@"')
    put(folder, "true", ":")
    answer = ensure(folder)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.endswith(f"Chromium: {folder / 'chromium'}\n")
    calls = [call.split() for call in (folder / "calls").read_text().splitlines()]
    assert ["-q", "update"] in calls
    assert {"install", "-y", "chromium"} <= set(calls[-1])


@pytest.mark.slow("asks Playwright for its browser, in another process")
def test_where_none_can_be_had_it_says_what_to_do(folder: Path):
    answer = ensure(folder)
    assert answer.returncode == 1
    assert "playwright install chromium" in answer.stdout
    assert "CHROMIUM" in answer.stdout.splitlines()[-1]
