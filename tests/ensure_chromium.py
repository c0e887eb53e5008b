"""Find a Chromium for the browser tests, or install one: Debian's packages, or else Playwright's own build.

A headless shell is the same engine without a window and the processes for it: a page takes about a tenth less time.

`make test` runs this as a script; the tests import `find` from it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)


def find() -> str | None:
    """The first Chromium that starts: $CHROMIUM, or else on the path, in its usual place, Playwright's.

    Raises:
        FileNotFoundError: $CHROMIUM is set, and what it names does not start.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        path = shutil.which(named)
        if path is None or not _starts(path):
            raise FileNotFoundError(f"CHROMIUM is {named!r}, which does not start. Unset it, or name a Chromium.")
        return path
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    yield from filter(None, map(shutil.which, NAMES))
    yield from (place for place in PLACES if Path(place).is_file())
    path = _playwrights_own()
    if path:
        # .../chromium-1255/chrome-linux64/chrome has its shell in .../chromium_headless_shell-1255
        yield from map(str, sorted(Path(path).parents[2].glob("chromium_headless_shell-*/*/*headless*shell*")))
        if Path(path).is_file():
            yield path


def _playwrights_own() -> str | None:
    """Where Playwright keeps, or would keep, its own build; asked in a process of its own: it runs a loop."""
    program = "import playwright.sync_api as s\nwith s.sync_playwright() as p: print(p.chromium.executable_path)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    return answer.stdout.strip() or None


def _starts(path: str) -> bool:
    """Whether `path` is a browser and not, as on Ubuntu, a note on where to get one."""
    if os.name == "nt":  # there `--version` opens a window
        return True
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and any(char.isdigit() for char in answer.stdout)


def install() -> None:
    """Install a Chromium by the first way that works here; each way's own output tells what it does."""
    # A font as well: without any, canvases draw empty labels.
    for command in (
        *debian_commands("chromium-headless-shell", "fonts-liberation"),
        *debian_commands("chromium", "fonts-liberation"),
        [sys.executable, "-m", "playwright", "install", "chromium"],
    ):
        print("+", *command, flush=True)
        subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
        if find():
            return


def debian_commands(*packages: str) -> list[list[str]]:
    """The commands that install packages of Debian; none where that needs a password, or another system runs."""
    if shutil.which("apt-get") is None:
        return []
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if root and (not shutil.which("sudo") or subprocess.run([*root, "true"], check=False).returncode):
        return []
    quiet = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    return [
        [*quiet, "update"],
        [*quiet, "install", "-y", "--no-install-recommends", *packages],
    ]


def main() -> int:
    try:
        if find() is None:
            install()
        path = find()
    except FileNotFoundError as error:
        print(error)
        return 1
    if path is None:
        print("No Chromium was found and none could be installed. Install one, or name one in CHROMIUM.")
        return 1
    print(f"Chromium: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
