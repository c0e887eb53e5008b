"""The analysis of docs/teaching-study.md: `python -m docs.teaching_study DATA.csv`; without a file, on synthetic data.

`python -m docs.teaching_study --class FILE.csv ...` reads “Concept test as CSV” of rooms, one class a file.

DATA.csv has a line for each student: group (lesson or comparison), before and after, the shares of right answers in the
two forms of the concept test.
"""

import csv
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from pages.teaching.lessons.library import look_of
from pages.teaching.questions import concept_test

GROUPS = ("comparison", "lesson")
#: The share of a class from which a distractor is named.
SHOWN = 0.1
#: Items of a form: scores are multiples of 1 / ITEMS.
ITEMS = 10


@dataclass(frozen=True)
class Result:
    """difference: of the groups' means after, adjusted for the scores before, with its 95% interval and p.

    d: the difference after the lesson in pooled standard deviations, with its 95% interval; gains: <g> of each group.
    """

    n: Mapping[str, int]
    gains: Mapping[str, float]
    difference: float
    interval: tuple[float, float]
    p: float
    d: float
    d_interval: tuple[float, float]


def analyse(group: np.ndarray, before: np.ndarray, after: np.ndarray) -> Result:
    """Analysis of covariance: after ~ 1 + lesson + before. group: [n] of GROUPS; before, after: [n] from 0 to 1."""
    lesson = (group == "lesson").astype(float)
    x = np.column_stack([np.ones_like(before), lesson, before - before.mean()])
    found, *_ = np.linalg.lstsq(x, after, rcond=None)
    free = len(after) - x.shape[1]
    variance = float(np.sum((after - x @ found) ** 2)) / free
    error = math.sqrt(variance * np.linalg.inv(x.T @ x)[1, 1])
    reach = float(stats.t.ppf(0.975, free)) * error
    parts = {name: group == name for name in GROUPS}
    n = {name: int(chosen.sum()) for name, chosen in parts.items()}
    gains = {
        name: float((after[one].mean() - before[one].mean()) / (1 - before[one].mean())) for name, one in parts.items()
    }
    other, own = (after[parts[name]] for name in GROUPS)
    pooled = math.sqrt(
        ((len(own) - 1) * own.var(ddof=1) + (len(other) - 1) * other.var(ddof=1)) / (len(own) + len(other) - 2)
    )
    d = float((own.mean() - other.mean()) / pooled)
    d_error = math.sqrt(1 / len(own) + 1 / len(other) + d * d / (2 * (len(own) + len(other))))
    return Result(
        n,
        gains,
        float(found[1]),
        (float(found[1]) - reach, float(found[1]) + reach),
        float(2 * stats.t.sf(abs(found[1] / error), free)),
        d,
        (d - 1.96 * d_error, d + 1.96 * d_error),
    )


def group_size(d: float, power: float = 0.8, level: float = 0.05) -> int:
    """Students in each of two equal groups for a two-sided t test with this power at a true effect d."""
    for n in range(2, 100_000):
        free, shift = 2 * n - 2, d * math.sqrt(n / 2)
        limit = stats.t.ppf(1 - level / 2, free)
        if stats.nct.sf(limit, free, shift) + stats.nct.cdf(-limit, free, shift) >= power:
            return n
    raise ValueError(f"d = {d} needs more than 100,000 students in each group.")


def synthetic(n: int, d: float, seed: int, rho: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """group, before, after of n students in each group. d: the true effect after; rho: correlation of both forms."""
    drawn = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 2 * n)
    group = np.repeat(GROUPS, n)
    before = 0.35 + 0.15 * drawn[:, 0]
    after = 0.5 + 0.15 * (drawn[:, 1] + d * (group == "lesson"))
    rounded = [np.clip(np.round(ITEMS * one) / ITEMS, 0, 1) for one in (before, after)]
    return group, rounded[0], rounded[1]


def read(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """group, before, after of a CSV file."""
    with file.open(encoding="utf-8-sig", newline="") as source:
        rows = [(row["group"], float(row["before"]), float(row["after"])) for row in csv.DictReader(source)]
    groups, before, after = zip(*rows, strict=True)
    if set(groups) != set(GROUPS):
        raise ValueError(f"group is {' or '.join(GROUPS)}, and both occur.")
    return np.array(groups), np.array(before), np.array(after)


def of_class(file: Path) -> str:
    """What the export of one room says: the gain with its interval, and what each distractor reveals."""
    answers, look = concept_test.read_csv(file.read_text(encoding="utf-8")), look_of({})
    before, after = concept_test.both(answers, look)
    gain = concept_test.normalised_gain(before.mean(axis=1), after.mean(axis=1)) if len(before) else None
    lines = [f"{file.name}: {len(before)} students took both forms."]
    if gain is not None:
        lines.append(f"Normalised gain: {gain.gain:.2f} ({gain.low:.2f} to {gain.high:.2f}).")
    for row in concept_test.by_distractor(answers, look):
        named = f" [{row['misconception']}]" if row["misconception"] else ""
        if row["chosen"] >= SHOWN:
            lines.append(f"{row['when']}, item {row['item']}: {row['chosen']:.0%} chose “{row['option']}”{named}")
    return "\n".join(lines)


def simulated_class(n: int, knows: tuple[float, float], holds: float, seed: int) -> dict[str, dict[str, list[int]]]:
    """The answers of n students to both forms, with known knowledge.

    knows: the chance that a student knows an item, before and after; holds: the chance that one who does not know it
    chooses the distractor of the item's misconception, and not one of the others.
    """
    rng, look = np.random.default_rng(seed), look_of({})
    answers: dict[str, dict[str, list[int]]] = {}
    for form, known in zip(concept_test.FORMS, knows, strict=True):
        asked = concept_test.items(form)
        for student in range(n):
            chosen = []
            for name, item in asked:
                truth = item.truth(look).value
                named = [option.get("misconception") == name for option in item.options].index(True)
                others = [place for place in range(len(item.options)) if place not in (truth, named)]
                wrong = named if rng.random() < holds or not others else int(rng.choice(others))
                chosen.append(truth if rng.random() < known else wrong)
            answers.setdefault(form, {})[f"student {student}"] = chosen
    return answers


def report(found: Result) -> str:
    """The result in sentences."""
    sizes = ", ".join(f"{name}: {count}" for name, count in found.n.items())
    gains = ", ".join(f"{name}: {gain:.2f}" for name, gain in found.gains.items())
    return (
        f"Students: {sizes}.\nNormalised gain: {gains}.\n"
        f"Adjusted difference after the lesson: {found.difference:.3f} "
        f"({found.interval[0]:.3f} to {found.interval[1]:.3f}), p = {found.p:.4f}.\n"
        f"Effect d: {found.d:.2f} ({found.d_interval[0]:.2f} to {found.d_interval[1]:.2f})."
    )


def main(arguments: list[str]) -> None:
    """Analyse a file, or synthetic data with the effect 0.5."""
    if arguments[:1] == ["--class"]:
        print("\n\n".join(of_class(Path(one)) for one in arguments[1:]))
        return
    data = read(Path(arguments[0])) if arguments else synthetic(group_size(0.5), 0.5, seed=0)
    print("" if arguments else "Synthetic data with the true effect d = 0.5.")
    print(report(analyse(*data)))
    print(f"For d = 0.5, 80% power and a two-sided level of 5%, each group needs {group_size(0.5)} students.")


if __name__ == "__main__":
    main(sys.argv[1:])
