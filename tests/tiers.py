"""The two tiers of tests: `make test` leaves out what has the marker `slow`, `make test-all` runs both.

The marker gives its reason, `@pytest.mark.slow("trains a model")`: a reader sees whether the reason still holds.
Nothing is decided by a clock. A run only names the tests without the marker that took long on this machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

#: Seconds of a test from which a run names it, with what it sets up: a fifth of the time that a fast page takes.
LONG = 10.0


def without_reason(items: Iterable[pytest.Item]) -> list[str]:
    """The tests whose marker `slow` does not say why."""
    return [
        item.nodeid
        for item in items
        for mark in item.iter_markers("slow")
        if mark.kwargs or [type(one) for one in mark.args] != [str] or not mark.args[0].strip()
    ]


def demanded(expression: str) -> set[str]:
    """The markers that every test of a run with `-m expression` has: browser and slow of "browser and slow"."""
    parts = expression.split(" and ")
    return {part.strip() for part in parts if part.strip().isidentifier()}


def long_unmarked(reports: Iterable[pytest.TestReport]) -> list[str]:
    """The tests that took long and are not marked, the longest first: "12.3 s tests/test_one.py::test_it"."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if "slow" not in report.keywords:
            seconds[report.nodeid] += report.duration
    return [f"{duration:.1f} s {name}" for name, duration in seconds.most_common() if duration >= LONG]
