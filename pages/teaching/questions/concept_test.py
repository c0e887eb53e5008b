"""The concept test: ten items in two parallel forms, its scores, and the normalised gain.

Both forms are in lessons/concept-test.yml. A test is one question of a room, so answers, export and deletion are
those of every question.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from encoder.export import report
from pages.teaching.questions.open_kinds import ConceptQuestion
from pages.teaching.questions.quantities import Look, QuestionError, one_of
from pages.teaching.questions.question import Grade, Question, Truth, kind

FILE = Path(__file__).parents[1] / "lessons" / "concept-test.yml"
FORMS = {"A": "before", "B": "after"}
#: Resamples of the interval of the gain, and its level.
RESAMPLES, LEVEL = 2_000, 0.95


@cache
def items(form: str) -> tuple[tuple[str, ConceptQuestion], ...]:
    """The items of a form: the misconception that each is about, and the question."""
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple((one["misconception"], ConceptQuestion(**one[form])) for one in written)


@kind("test")
@dataclass(frozen=True)
class ConceptTest(Question):
    """All items of one form."""

    form: str = "A"

    def __post_init__(self) -> None:
        one_of("form", self.form, FORMS)

    def truth(self, look: Look) -> Truth:
        """The true option of each item."""
        return Truth([item.truth(look).value for _, item in items(self.form)])

    def read(self, answer: Any, look: Look) -> list[int]:
        """An option of each item."""
        asked = items(self.form)
        if not isinstance(answer, list) or len(answer) != len(asked):
            raise QuestionError(f"Answer all {len(asked)} questions.")
        return [item.read(one, look) for (_, item), one in zip(asked, answer, strict=True)]

    def grade(self, answer: list[int], look: Look) -> Grade:
        """The share of right answers."""
        score = float(np.mean(np.equal(answer, self.truth(look).value)))
        return Grade(score, score == 1)


@dataclass(frozen=True)
class Gain:
    """before, after: shares of right answers of the n who took both forms; gain: <g>, from low to high."""

    n: int
    before: float
    after: float
    gain: float
    low: float
    high: float


def normalised_gain(before: np.ndarray, after: np.ndarray, seed: int = 0) -> Gain | None:
    """<g> = (after - before) / (1 - before) of the class means (Hake 1998), with a bootstrap interval over students.

    before, after: scores [n] from 0 to 1 of the same students. None for fewer than two, or where all were right before.
    """
    if len(before) < 2 or before.mean() == 1:
        return None
    drawn = np.random.default_rng(seed).integers(len(before), size=(RESAMPLES, len(before)))
    means = before[drawn].mean(axis=1), after[drawn].mean(axis=1)
    possible = means[0] < 1
    gains = (means[1] - means[0])[possible] / (1 - means[0][possible])
    low, high = np.quantile(gains, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    gain = (after.mean() - before.mean()) / (1 - before.mean())
    return Gain(len(before), float(before.mean()), float(after.mean()), float(gain), float(low), float(high))


Answers = Mapping[str, Mapping[str, list[int]]]


def both(answers: Answers, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Whether each item is right, [n, items] before and after, of the n members who took both forms."""
    members = sorted(answers.get("A", {}).keys() & answers.get("B", {}).keys())
    before, after = (
        np.array([np.equal(answers[form][one], ConceptTest("", form=form).truth(look).value) for one in members])
        for form in FORMS
    )
    return before, after


def by_misconception(answers: Answers) -> list[dict[str, Any]]:
    """How many hold each misconception before and after: those who chose its option. A row for each item."""

    def holding(form: str, place: int) -> float | None:
        name, item = items(form)[place]
        given = [item.options[one[place]].get("misconception") == name for one in answers.get(form, {}).values()]
        return float(np.mean(given)) if given else None

    return [
        {"misconception": name, **{when: holding(form, place) for form, when in FORMS.items()}}
        for place, (name, _) in enumerate(items("A"))
    ]


def by_distractor(answers: Answers, look: Look) -> list[dict[str, Any]]:
    """Each wrong option with the share of students who chose it, and the misconception that it reveals, if any."""
    return [
        {
            "item": number,
            "form": form,
            "when": FORMS[form],
            "option": text,
            "misconception": item.options[place].get("misconception", ""),
            "chosen": float(np.mean([one[number - 1] == place for one in given.values()])),
        }
        for form, given in sorted(answers.items())
        if given
        for number, (_, item) in enumerate(items(form), 1)
        for place, text in enumerate(item.texts(look))
        if place != item.truth(look).value
    ]


def read_csv(text: str) -> dict[str, dict[str, list[int]]]:
    """The answers of a table that `as_csv` wrote, by form and student. Raises QuestionError for any other table."""
    found: dict[str, dict[str, list[int]]] = {}
    try:
        for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))):
            chosen = [int(row[f"item{number}"]) - 1 for number in range(1, len(items(row["form"])) + 1)]
            if any(not 0 <= one < len(item.options) for one, (_, item) in zip(chosen, items(row["form"]), strict=True)):
                raise ValueError
            found.setdefault(row["form"], {})[row["student"]] = chosen
    except (KeyError, TypeError, ValueError) as error:
        raise QuestionError("This is not the table of a concept test. Export “Concept test as CSV” again.") from error
    return found


def as_csv(answers: Answers, look: Look, members: Sequence[str]) -> bytes:
    """One line for each student and form; students are numbers, without a name. members: in the order of joining."""
    count = len(items("A"))
    places = range(1, count + 1)
    columns = ["student", "form", "when", *(f"item{n}" for n in places), *(f"right{n}" for n in places), "score"]
    rows: list[list[Any]] = []
    numbers = {member: number for number, member in enumerate(members, 1)}
    for form, given in answers.items():
        truth = ConceptTest("", form=form).truth(look).value
        for member, chosen in given.items():
            right = [int(one == true) for one, true in zip(chosen, truth, strict=True)]
            options = [one + 1 for one in chosen]
            rows.append([numbers.get(member, 0), form, FORMS[form], *options, *right, sum(right)])
    return report.as_csv(pd.DataFrame(rows, columns=columns))


def codebook(look: Look) -> bytes:
    """What each number of the CSV means: a line for each option of each item."""
    rows = [
        {
            "column": f"item{number}",
            "form": form,
            "question": item.ask,
            "option": place + 1,
            "text": text,
            "right": int(place == item.truth(look).value),
            "misconception": item.options[place].get("misconception"),
        }
        for form in FORMS
        for number, (_, item) in enumerate(items(form), 1)
        for place, text in enumerate(item.texts(look))
    ]
    return report.as_csv(pd.DataFrame(rows))
