"""The path of 90 minutes through the lessons, and the weeks of a course: path.yml."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from pages.teaching.lessons import library


@dataclass(frozen=True)
class Mark:
    """A step of the path. at: the minute in which it begins; minutes: how long it takes; do: what the teacher does."""

    at: int
    minutes: int
    lesson: str
    step: int
    do: str


@cache
def written() -> Mapping[str, Any]:
    """The file: title, minutes, steps and weeks."""
    return yaml.safe_load((library.SHIPPED.parent / "path.yml").read_text(encoding="utf-8"))


@cache
def marks() -> tuple[Mark, ...]:
    """All steps of the path in their order."""
    steps = written()["steps"]
    ends = [*(one["at"] for one in steps[1:]), written()["minutes"]]
    return tuple(Mark(minutes=end - one["at"], **one) for one, end in zip(steps, ends, strict=True))


def place(lesson: str, step: int) -> int | None:
    """The place of a step in the path, or None."""
    return next((n for n, one in enumerate(marks()) if (one.lesson, one.step) == (lesson, step)), None)
