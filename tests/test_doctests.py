"""The examples in the docstrings run: `model` and `trace` are those of the first one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import encoder

MODULES = ["encoder", *(f"encoder.{one.name}" for one in pkgutil.iter_modules(encoder.__path__) if one.name[0] != "_")]


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    model = encoder.load("minilm")
    found = {name: getattr(encoder, name) for name in encoder.__all__}
    return found | {"encoder": encoder, "model": model, "trace": model.trace("The cat sat on the mat")}


def test_the_main_packages_have_examples():
    having = {name for name in MODULES if ">>>" in (importlib.import_module(name).__doc__ or "")}
    rooms = "measure causal gradients search similarity edits explain export figures corpus".split()
    assert having >= {"encoder", *(f"encoder.{room}" for room in rooms)}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str, names: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs=dict(names)):
        said: list[str] = []
        found = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
        assert not found.failed, "".join(said)
