"""Why answers are wrong, in the words of every screen, paper and platform; and the misconceptions that they reveal.

lessons/misconceptions.yml is one list for lessons and concept test.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Reason:
    """Why an answer is wrong. belief: what somebody who gives it perhaps thinks; truth: what is right, and why."""

    belief: str = ""
    truth: str = ""
    #: The id of the misconception that the answer reveals, or "".
    misconception: str = ""

    @property
    def said(self) -> str:
        """What a student reads: a belief is false, so it is never said without these words around it."""
        if not self.belief:
            return self.truth
        return f"Perhaps you thought: “{self.belief}”" + (f" In fact: {self.truth}" if self.truth else "")


ALL = tuple(Misconception(**one) for one in yaml.safe_load(FILE.read_text(encoding="utf-8")))
BY_ID = {one.id: one for one in ALL}


def reason_of(answer: Mapping[str, Any], belief: str = "") -> Reason:
    """The reason of a known wrong answer or option: its own words, then those of the misconception that it names."""
    known = BY_ID.get(str(answer.get("misconception", "")))
    truth = answer.get("truth") or (known.truth if known else "")
    return Reason(belief or (known.belief if known else ""), str(truth), known.id if known else "")
