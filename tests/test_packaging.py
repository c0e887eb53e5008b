"""The wheel: what it carries, and that the command from it starts the app where there is no checkout."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from streamlit import file_util

from tests.conftest import ROOT, collect_complaints, settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser

APP = "encoderscope_app"
built = pytest.mark.slow("builds the sdist and the wheel, and installs it")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of this checkout, built with the installed hatchling and no network."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (built,) = folder.glob("encoderscope-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist: as an index without our wheel would have it, and as `make dist` does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--wheel-dir", str(folder)]
    pip(*build, str(sdist))
    (built,) = folder.glob("encoderscope-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel is installed in, apart from the checkout; its dependencies are this Python's."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--no-index", "--no-compile", "--target", str(folder), str(wheel))
    return folder


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def run_installed(folder: Path, *command: str) -> subprocess.CompletedProcess:
    """Run `command` with the packages of `folder` before any other, in a folder where there is nothing to import."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def contents(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def tracked(folder: str) -> set[str]:
    """The files of the checkout in `folder` that are the project's own."""
    skipped = {"__pycache__"}
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not skipped & set(path.parts) and path.suffix not in {".pyc", ".pyo"}
    }


@built
def test_the_wheel_carries_engine_and_app(wheel: Path):
    assert tracked("encoder") <= contents(wheel)
    assert {f"{APP}/{name}" for name in tracked("pages")} <= contents(wheel)
    assert {f"{APP}/app.py", f"{APP}/.streamlit/config.toml", f"{APP}/static/README.md"} <= contents(wheel)
    assert "encoder/py.typed" in contents(wheel)


@built
def test_the_wheel_carries_nothing_else(wheel: Path):
    assert {name.split("/")[0] for name in contents(wheel) if ".dist-info/" not in name} == {"encoder", APP}
    assert not [name for name in contents(wheel) if "__pycache__" in name or name.endswith(".pyc")]
    plotly = "encoder/drawing/plotly/"
    assert [name for name in contents(wheel) if name.endswith(".gz")] == [f"{plotly}plotly.min.js.gz"]
    assert f"{plotly}LICENSES.txt" in contents(wheel)
    assert not [name for name in contents(wheel) if "secrets" in name]


@built
def test_the_sdist_has_what_builds_tests_and_cites(sdist: Path):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "constraints.txt", "CITATION.cff", "LICENSE"} <= names
    assert {"tests/conftest.py", "deploy/install.sh", "docs/conf.py"} <= names
    ignored = (".venv", "site/", "build/", "docs/generated")
    assert not [name for name in names if name.startswith(ignored) or name.endswith(".pyc")]


@built
def test_neither_is_larger_than_an_index_accepts(sdist: Path, wheel: Path):
    """PyPI refuses files above 100 MB; ours have some 17, nearly all of it weights."""
    assert max(sdist.stat().st_size, wheel.stat().st_size) < 30_000_000


@built
def test_the_metadata(wheel: Path):
    import encoder

    (place,) = (name for name in contents(wheel) if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(place).decode()
        entry_points = archive.read(place.replace("METADATA", "entry_points.txt")).decode()
    assert f"Name: encoderscope\nVersion: {encoder.__version__}\n" in metadata
    assert "License-Expression: MIT" in metadata
    assert "License-File: LICENSE" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "encoderscope = encoder.cli.main:main" in entry_points


@built
def test_the_command_runs_from_the_wheel(installed: Path):
    import encoder

    answer = run_installed(installed, sys.executable, str(installed / "bin" / "encoderscope"), "--version")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == f"encoderscope {encoder.__version__}\n"


@built
def test_the_command_finds_the_wheels_app(installed: Path):
    program = "from encoder.cli.app_location import find_app; print(find_app())"
    answer = run_installed(installed, sys.executable, "-c", program)
    assert answer.stdout.strip() == str(installed / APP / "app.py"), answer.stderr


@built
def test_the_app_starts_from_the_wheel_and_shows_a_map(
    installed: Path, serve: Callable, request: pytest.FixtureRequest
):
    complaints: list[str] = []
    with serve(app=installed / APP / "app.py", PYTHONPATH=str(installed)) as server:
        script = max(Path(file_util.get_static_dir()).rglob("*.js"), key=lambda path: path.stat().st_size)
        address = f"{server.url}/{script.relative_to(file_util.get_static_dir()).as_posix()}"
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})) as answer:
            assert gzip.decompress(answer.read()) == script.read_bytes()
        # Only now: without a Chromium the test ends here, as skipped.
        browser: Browser = request.getfixturevalue("browser")
        page = browser.new_page()
        collect_complaints(page, server.url, complaints)
        page.goto(f"{server.url}/heads")
        settle(page)
        page.get_by_role("heading", level=1).wait_for()
        assert page.get_by_test_id("stException").count() == 0
        assert page.get_by_test_id("stAlertContentError").count() == 0
        # What is drawn with Plotly needs its script, which an installation has to serve by itself.
        page.wait_for_function("() => window.Plotly || document.querySelector('.js-plotly-plot')")
        assert list((installed / APP / "static").glob("plotly-*.min.js.gz"))
        page.context.close()
        assert not complaints
        assert server.log() == ""


def test_every_direct_dependency_is_pinned():
    """What is tested is what is named: a dependency without a pin would change under the tests."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    versions = {}
    for pin in pins:
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        versions[canonicalize_name(pin.name)] = specifier.version
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement
    assert versions["torch"] == "2.13.0"
