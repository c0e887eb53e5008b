"""Runs the browser tests, those that fail once more alone, and lists the unstable ones at the end.

A test that fails both times makes the run fail. `python tests/run_browser_tests.py 2` uses two processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
SOME_FAILED = 1  # pytest's exit code


def main(workers: str) -> int:
    first = pytest("-m", "browser", "-n", workers, "--dist", "worksteal", "--cache-clear")
    failed = last_failed()
    if first != SOME_FAILED or not failed:
        return first
    second = pytest(*failed)
    failed_twice = last_failed()
    unstable = [test for test in failed if test not in failed_twice]
    report("UNSTABLE BROWSER TESTS (failed beside others, passed alone)", unstable)
    report("BROWSER TESTS THAT FAILED TWICE", failed_twice)
    return second


def pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


def last_failed() -> list[str]:
    """The tests that failed in the last run, as pytest's cache has them."""
    return list(json.loads(FAILED.read_text(encoding="utf-8"))) if FAILED.is_file() else []


def report(title: str, tests: list[str]) -> None:
    if tests:
        print(f"\n===== {title}: {len(tests)} =====", *tests, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "2"))
