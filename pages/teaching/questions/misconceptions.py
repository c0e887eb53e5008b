"""The misconceptions that questions reveal: lessons/misconceptions.yml, one list for lessons and concept test."""

from dataclasses import dataclass
from pathlib import Path

import yaml

FILE = Path(__file__).parents[1] / "lessons" / "misconceptions.yml"


@dataclass(frozen=True)
class Misconception:
    """belief: as a student would say it; truth: what is right; lesson, step: whose question reveals it."""

    id: str
    belief: str
    truth: str
    lesson: str
    step: int


ALL = tuple(Misconception(**one) for one in yaml.safe_load(FILE.read_text(encoding="utf-8")))
BY_ID = {one.id: one for one in ALL}
