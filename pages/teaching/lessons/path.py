"""The paths of 45 and 90 minutes through the lessons, and the weeks of a course: path.yml."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from pages.teaching.lessons import library
from pages.teaching.lessons.lesson import Lesson


@dataclass(frozen=True)
class Mark:
    """A step of a path. at: the minute in which it begins; minutes: how long it takes; do: what the teacher does."""

    at: int
    minutes: int
    lesson: str
    step: int
    do: str


@dataclass(frozen=True)
class Path:
    """A plan of one class. name: its minutes, in files and links."""

    name: str
    title: str
    marks: tuple[Mark, ...]

    def place(self, lesson: str, step: int) -> int | None:
        """The place of a step in the path, or None."""
        return next((n for n, one in enumerate(self.marks) if (one.lesson, one.step) == (lesson, step)), None)


@cache
def _written() -> Mapping[str, Any]:
    return yaml.safe_load((library.SHIPPED.parent / "path.yml").read_text(encoding="utf-8"))


@cache
def paths() -> Mapping[str, Path]:
    """All paths by name, the shortest first."""
    return {str(one["minutes"]): _path(one) for one in _written()["paths"]}


def _path(written: Mapping[str, Any]) -> Path:
    steps = written["steps"]
    ends = [*(one["at"] for one in steps[1:]), written["minutes"]]
    marks = tuple(Mark(minutes=end - one["at"], **one) for one, end in zip(steps, ends, strict=True))
    return Path(str(written["minutes"]), written["title"], marks)


def weeks() -> list[Mapping[str, Any]]:
    """The weeks of a course, each with a title and its lessons."""
    return list(_written()["weeks"])


def weeks_said(lessons: Iterable[Lesson]) -> tuple[str, ...]:
    """A line for each week: its title and its lessons, of those that there are."""
    headings = {lesson.name: lesson.heading for lesson in lessons}
    return tuple(
        f"Week {number}, {week['title']}: {'; '.join(headings[name] for name in week['lessons'] if name in headings)}"
        for number, week in enumerate(weeks(), 1)
    )


def weeks_asked() -> str:
    """What somebody asks the search who wants the weeks."""
    return str(_written()["weeks_asked"])
