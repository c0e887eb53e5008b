"""The two tiers of tests: `make test` leaves out what has the marker `slow`, `make test-all` runs both.

The marker gives its reason, `@pytest.mark.slow("trains a model")`: a reader sees whether the reason still holds.
`@pytest.mark.sample(4, "a second for each architecture")` marks a test with many parameters: every fourth case is fast.
Nothing is decided by a clock. A run only names the tests without the marker that took long on this machine.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable

import pytest

#: Seconds of a test from which a run names it, with what it sets up: a fifth of the time that a fast page takes.
LONG = 10.0


MARKERS = ("slow", "sample")


def without_reason(items: Iterable[pytest.Item]) -> list[str]:
    """The tests whose marker does not say why, or how many stay in the fast tier."""
    kinds = {"slow": [str], "sample": [int, str]}
    return [
        item.nodeid
        for item in items
        for mark in item.iter_markers()
        if mark.name in kinds
        and (mark.kwargs or [*map(type, mark.args)] != kinds[mark.name] or not mark.args[-1].strip())
    ]


def mark_all_but_samples(items: Iterable[pytest.Item]) -> None:
    """Mark the cases as slow that `sample` leaves out.

    They are counted by name, since the order of a run may be another. Each test begins at another case, so that the
    tests of a file with the same parameters have other samples.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, of_one in cases.items():
        every, reason = of_one[0].get_closest_marker("sample").args
        first = zlib.crc32(name.encode()) % min(every, len(of_one))
        for number, item in enumerate(sorted(of_one, key=lambda item: item.nodeid)):
            if number % every != first:
                item.add_marker(pytest.mark.slow(reason))


def may_have(source: str, names: Iterable[str]) -> bool:
    """Whether a file's tests can have all of these markers: a file without the word is not imported."""
    return all(any(f"mark.{marker}" in source for marker in (MARKERS if name == "slow" else (name,))) for name in names)


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
