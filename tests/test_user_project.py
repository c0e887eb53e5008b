"""A user's project that uses the package: both type checkers are silent in their strict modes, and so is Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROJECT = ROOT / "tests/user_project"
CHECKERS = {
    # With our own settings, which are as strict, what `make types` knows of the package is not found out again.
    "mypy": ["--python-executable", sys.executable, "--config-file", str(ROOT / "pyproject.toml")],
    "pyright": ["--pythonpath", sys.executable],
}
#: What a checker that saw no types would accept.
WRONG = "\nwrong: int = opened('minilm').trace('a').n_tokens.upper()\nalso_wrong: str = corpus.build(1, [], 2)\n"


@pytest.mark.slow("checks types of a whole project, three times with each checker")
@pytest.mark.parametrize("name", CHECKERS)
def test_types_are_known(name: str, tmp_path: Path):
    if find_spec(name) is None or (name == "pyright" and shutil.which("node") is None):
        pytest.skip(f"{name} is not installed, or Node.js is not")
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}

    def said(code: int) -> str:
        command = [sys.executable, "-m", name, *CHECKERS[name], str(tmp_path / "study.py")]
        place = ROOT if name == "mypy" else tmp_path
        answer = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert answer.returncode == code, answer.stdout + answer.stderr
        return answer.stdout

    said(0)
    with (tmp_path / "study.py").open("a", encoding="utf-8") as file:
        file.write(WRONG)
    assert "upper" in (found := said(1))
    assert "TextEncoder" in found


@pytest.mark.slow("runs a whole project in another process")
def test_it_runs_without_a_warning(tmp_path: Path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(PROJECT / "study.py")]
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert not answer.stderr
    assert "A kitten" in answer.stdout or "The cat" in answer.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"head.csv", "head.html", "atlas"}
