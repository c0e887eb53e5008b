"""The app, started by its own command, and a Chromium."""

import ast
import contextlib
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoder.cli.app import ARENAS, find_app, streamlit_command

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
START_SECONDS = 180


@dataclass(frozen=True)
class App:
    """A running app: its address and its process."""

    url: str
    process: subprocess.Popen[bytes]
    log_file: Path

    def log(self) -> str:
        """All output of the server."""
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def cpu_seconds(self) -> float:
        """CPU time of the server's threads."""
        import psutil

        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def resident(self) -> int:
        """Bytes of the server's resident memory."""
        import psutil

        return psutil.Process(self.process.pid).memory_info().rss


def rooms() -> dict[str, tuple[str, str]]:
    """Folder of each page -> its title and its help. The registry is read: app.py would draw a page when imported."""
    tree = ast.parse(find_app().read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Page"]
    given = ([ast.literal_eval(value) for value in call.args] for call in calls)
    return {folder: (title, what) for folder, title, _, what, *_ in given}


def pages() -> dict[str, str]:
    """Folder of each page -> its title."""
    return {folder: title for folder, (title, _) in rooms().items()}


def addresses() -> dict[str, str]:
    """Folder of each page -> its path in the address. The first page opens at "/" only."""
    first = next(iter(pages()))
    return {folder: "/" if folder == first else f"/{folder}" for folder in pages()}


@contextlib.contextmanager
def app(script: Path | None = None, **environment: str) -> Iterator[App]:
    """The app on a free port of this machine, without the user's settings. script: another one than ours."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        log_file = Path(home) / "log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                streamlit_command(script or find_app(), "127.0.0.1", port, browser=False),
                env={**ARENAS, **os.environ, "HOME": home, **environment},
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        served = App(f"http://127.0.0.1:{port}", process, log_file)
        try:
            _wait(served)
            yield served
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(served: App) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if served.process.poll() is not None:
            raise RuntimeError(f"the app ended with {served.process.returncode}:\n{served.log()}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{served.url}/_stcore/health", timeout=5) as answer:
            if answer.read() == b"ok":
                return
        time.sleep(0.1)
    raise RuntimeError(f"no answer from the app in {START_SECONDS} s:\n{served.log()}")


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium (a Playwright Browser). Raises FileNotFoundError if there is none."""
    from playwright.sync_api import sync_playwright

    from tests import ensure_chromium

    path = ensure_chromium.find()
    if path is None:
        raise FileNotFoundError("no Chromium found: `python tests/ensure_chromium.py` installs one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        try:
            yield browser
        finally:
            browser.close()
