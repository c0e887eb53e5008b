"""The rules of the two tiers: a slow test says why, a long one is named, and what is near to a change comes first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import tiers, touched
from tests.conftest import ROOT

SAMPLE = """
import pytest

@pytest.mark.MARK
@pytest.mark.parametrize("case", range(5))
def test_one(case):
    pass
"""


@pytest.mark.parametrize(
    "mark", ["slow", "slow()", 'slow("  ")', "slow(reason='trains a model')", "slow(3)", "sample(2)", "sample('a', 2)"]
)
def test_a_marker_without_a_reason_is_refused(mark: str, tmp_path: Path):
    answer = run(tmp_path, mark)
    assert answer.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_sample.py::test_one" in answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("mark", "fast", "slow"), [('slow("trains a model")', 0, 5), ('sample(2, "trains a model")', 3, 2)]
)
def test_a_case_is_in_one_tier(mark: str, fast: int, slow: int, tmp_path: Path):
    for expression, expected in (("not slow", fast), ("slow", slow)):
        answer = run(tmp_path, mark, "-m", expression)
        assert (f"{expected} passed" in answer.stdout) == (expected > 0), answer.stdout


def run(folder: Path, mark: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(SAMPLE.replace("MARK", mark), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        "-p",
        "tests.conftest",
    ]
    return subprocess.run(
        [*command, "--config-file", str(ROOT / "pyproject.toml"), *options, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("expression", "markers"),
    [
        ("", set()),
        ("not browser and not slow", set()),
        ("browser and not slow", {"browser"}),
        ("slow and browser", {"slow", "browser"}),
        ("slow or browser", set()),
        ("not (slow and browser)", set()),
        ("(slow) and browser or cuda", set()),
    ],
)
def test_what_a_run_demands_of_each_test(expression: str, markers: set[str]):
    assert tiers.demanded(expression) == markers


def test_long_tests_are_named_unless_they_are_marked():
    def report(name: str, seconds: float, **keywords: int) -> pytest.TestReport:
        return pytest.TestReport(name, ("", None, ""), keywords, "passed", None, "call", duration=seconds)

    half = tiers.LONG / 2
    found = tiers.long_unmarked(
        [report("a", half), report("a", half), report("b", half), report("c", 9 * half, slow=1), report("d", 4 * half)]
    )
    assert [line.split(" s ")[1] for line in found] == ["d", "a"]


SOURCES = {
    "encoder/measure/rollout.py": "",
    "encoder/measure/table.py": "from encoder.measure import rollout",
    "pages/norms/page.py": "from pages.core import plot",
    "pages/core/plot.py": "from . import assets",
    "pages/core/assets.py": 'JAVASCRIPT = "plot_layout.js"',
    "tests/measure/conftest.py": "from encoder.measure.table import table",
    "tests/measure/test_table.py": "",
    "tests/measure/test_rollout.py": "",
    "tests/pages/test_norms.py": "",
    "tests/pages/test_plot.py": "import pages.core.plot",
    "tests/browser/test_plot.py": "import pages.core.plot",
    "tests/test_calls.py": "import encoder\nencoder.measure.rollout(1)",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/pages/test_norms.py", ["tests/pages/test_norms.py"]),
        ("pages/norms/about.md", ["tests/pages/test_norms.py"]),
        ("docs/paper.md", []),
        ("tests/measure/conftest.py", ["tests/measure/test_rollout.py", "tests/measure/test_table.py"]),
        ("encoder/measure/rollout.py",
         ["tests/measure/test_rollout.py", "tests/test_calls.py", "tests/measure/test_table.py"]),
        ("pages/core/plot_layout.js", ["tests/pages/test_plot.py", "tests/browser/test_plot.py"]),
    ],
)  # fmt: skip
def test_tests_near_to_a_change_come_in_the_order_of_their_distance(path: str, expected: list[str]):
    assert touched.near([path], SOURCES) == expected
