"""Failed browser tests run once more: the run names the unstable ones and fails for those that fail twice."""

from __future__ import annotations

import pytest

from tests import run_browser_tests


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """Results of pytest to come, each an exit code and the tests that failed; a run takes the first."""
    planned: list[tuple[int, list[str]]] = []
    failed: list[str] = []

    def pytest_stand_in(*arguments: str) -> int:
        assert "browser" in arguments or list(arguments) == failed
        code, failed[:] = planned.pop(0)
        return code

    monkeypatch.setattr(run_browser_tests, "pytest", pytest_stand_in)
    monkeypatch.setattr(run_browser_tests, "last_failed", lambda: list(failed))
    return planned


def test_a_good_run_runs_once(runs: list[tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]) -> None:
    runs[:] = [(0, [])]
    assert run_browser_tests.main("2") == 0
    assert capsys.readouterr().out == ""


def test_an_unstable_test_is_named(runs: list[tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]) -> None:
    runs[:] = [(1, ["one", "two"]), (0, [])]
    assert run_browser_tests.main("2") == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["one", "two"]


def test_a_test_that_fails_twice_fails_the_run(
    runs: list[tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    runs[:] = [(1, ["one", "two"]), (1, ["two"])]
    assert run_browser_tests.main("2") == 1
    unstable, twice = capsys.readouterr().out.split("FAILED TWICE")
    assert "one" in unstable
    assert "two" not in unstable
    assert "two" in twice


@pytest.mark.parametrize("code", [2, 3, 5])
def test_a_run_that_could_not_test_fails(runs: list[tuple[int, list[str]]], code: int) -> None:
    runs[:] = [(code, ["one"])]
    assert run_browser_tests.main("2") == code
