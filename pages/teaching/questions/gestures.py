"""Questions that are answered by hand: drag, sort, fill, paint, mark, cut. lessons/gestures.yml has one table for each.

A gesture is a question like any other: it has a computed truth, so a lesson, a room and a file can ask it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pages.teaching.questions.quantities import Look, QuestionError, one_of
from pages.teaching.questions.question import Grade, Question, Truth, a_number, kind, shuffled

FILE = Path(__file__).parents[1] / "lessons" / "gestures.yml"
#: Components of a query that is dragged, at most.
FARTHEST = 6.0


@dataclass(frozen=True)
class Task:
    """One gesture. header: what the browser draws; truth: the answer as JSON; said: what is right, in a sentence; read:
    checks an answer and raises QuestionError; score: 0 to 1 for a read answer."""

    header: Mapping[str, Any]
    truth: Any
    said: str
    read: Callable[[Any], Any]
    score: Callable[[Any], float]
    #: An answer in a few words; None of a drawing, which has none.
    words: Callable[[Any], str] | None = None
    #: What is right, in words, where `said` only explains the drawing.
    right: str = ""


@cache
def table() -> dict[str, dict[str, Any]]:
    """All gestures by their id."""
    return {one["id"]: one for one in yaml.safe_load(FILE.read_text(encoding="utf-8"))}


def points(score: float) -> int:
    """A grade from 0 to 100, as a reader sees it: in a lesson on attention, a score is q · k."""
    return int(100 * score + 1e-6)


@kind("gesture")
@dataclass(frozen=True)
class GestureQuestion(Question):
    """A gesture of the table. ask and why: those of the table, unless a lesson has its own."""

    ask: str = ""
    gesture: str = ""

    def __post_init__(self) -> None:
        one_of("gesture", self.gesture, table())
        for name in ("ask", "why"):
            if not getattr(self, name):
                object.__setattr__(self, name, table()[self.gesture][name])

    def task(self, look: Look) -> Task:
        """What is drawn and computed."""
        row = table()[self.gesture]
        return DOES[row["does"]](look, **row["given"])

    def text(self, answer: Any, look: Look) -> str:
        """By what answers of a class are counted: their words, or the points of a drawing."""
        task, enough = self.task(look), table()[self.gesture]["enough"]
        if task.words is not None:
            return task.words(answer)
        if self.grade(answer, look).right:
            return f"{points(enough)} points" + (" or more" if enough < 1 else "")
        low = 10 * int(10 * task.score(answer))
        return f"{low} to {min(low + 10, points(enough))} points"

    def in_table(self, look: Look) -> str:
        """What is right, for a table of answers: never the numbers of a whole map."""
        task = self.task(look)
        return task.words(task.truth) if task.words is not None else task.right or task.said

    def truth(self, look: Look) -> Truth:
        """A right answer."""
        return Truth(self.task(look).truth)

    def read(self, answer: Any, look: Look) -> Any:
        """An answer of the form that its gesture has."""
        return self.task(look).read(answer)

    def grade(self, answer: Any, look: Look) -> Grade:
        """The score, and whether it is enough."""
        score = self.task(look).score(answer)
        return Grade(score, score >= table()[self.gesture]["enough"] - 1e-9, {"score": score})


def _numbers(answer: Any, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Numbers of a shape, within limits. Raises QuestionError."""
    try:
        found = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise QuestionError("This answer is not a list of numbers. Answer again.") from error
    if found.shape != shape or not np.isfinite(found).all() or found.min() < low or found.max() > high:
        raise QuestionError(f"The answer has {' x '.join(map(str, shape))} numbers from {low:g} to {high:g}.")
    return found


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _aim(look: Look, labels: Sequence[str], keys: Sequence[Sequence[float]], target: int, goal: float) -> Task:
    """Drag a query in the plane until one key's weight is large: weights = softmax(q · k / sqrt 2)."""
    matrix = np.array(keys, dtype=np.float64)
    towards = matrix[target] - matrix.mean(axis=0)

    def weight(query: Sequence[float]) -> float:
        return float(_softmax(matrix @ np.asarray(query) / np.sqrt(2))[target])

    found = next(list(map(float, towards * k)) for k in np.arange(0.5, 20, 0.25) if weight(towards * k) >= goal)
    header = {"does": "aim", "labels": labels, "keys": keys, "target": target, "goal": goal, "farthest": FARTHEST}
    read = lambda answer: _numbers(answer, (2,), -FARTHEST, FARTHEST).tolist()  # noqa: E731
    said = f"The query ({found[0]:.1f}, {found[1]:.1f}) gives “{labels[target]}” the weight {weight(found):.2f}."
    return Task(header, found, said, read, lambda query: min(1.0, weight(query) / goal))


def _sort(look: Look, text: str, layer: int, head: int, query: str, keys: Sequence[str]) -> Task:
    """Put tokens in the order of their weights in a row; the score is the share of pairs in the right order."""
    at = look.about(text).at(layer, head)
    row = at.row(query)
    weights = {key: float(row[at.token(key)]) for key in keys}
    ranked = sorted(keys, key=lambda key: -weights[key])

    def read(answer: Any) -> list[str]:
        if not isinstance(answer, list) or sorted(map(str, answer)) != sorted(keys):
            raise QuestionError("Put every token in the list, each once.")
        return [str(one) for one in answer]

    def score(answer: Sequence[str]) -> float:
        pairs = list(itertools.combinations(answer, 2))
        return sum(weights[one] >= weights[other] for one, other in pairs) / len(pairs)

    begins_with = shuffled(keys, text, lambda order: score(order) == 1)
    header = {"does": "sort", "labels": begins_with, "weights": weights}
    return Task(header, ranked, f"The order is: {' > '.join(ranked)}.", read, score, " > ".join)


def _fill(look: Look, scores: Sequence[float]) -> Task:
    """Set the weights of a softmax; the score is 1 minus the total variation distance."""
    truth = _softmax(np.array(scores, dtype=np.float64))

    def read(answer: Any) -> list[float]:
        found = _numbers(answer, truth.shape, 0, 1)
        if found.sum() <= 0:
            raise QuestionError("At least one weight is above 0.")
        return [float(one) for one in found / found.sum()]

    def score(answer: Sequence[float]) -> float:
        return 1 - float(np.abs(np.asarray(answer) - truth).sum() / 2)

    said = f"The weights are {', '.join(f'{one:.2f}' for one in truth)}."
    return Task({"does": "softmax", "scores": list(scores)}, [float(one) for one in truth], said, read, score)


def _paint(look: Look, text: str, layer: int, head: int) -> Task:
    """Paint a map; each row is scaled to the sum 1, and the score is the mean overlap with the model's rows."""
    at = look.about(text).at(layer, head)
    truth = np.stack([at.row(place) for place in range(at.trace.n_tokens)])

    def score(answer: Sequence[Sequence[float]]) -> float:
        painted = np.asarray(answer)
        sums = painted.sum(axis=1, keepdims=True)
        rows = np.divide(painted, sums, out=np.zeros_like(painted), where=sums > 0)
        return float(np.minimum(rows, truth).sum(axis=1).mean())

    header = {"does": "paint", "labels": at.names}
    said = "The number in a cell is the model's weight."
    read = lambda one: _numbers(one, truth.shape, 0, 1).tolist()  # noqa: E731
    strongest = (
        f"{name}: {at.names[int(row.argmax())]} {row.max():.2f}" for name, row in zip(at.names, truth, strict=True)
    )
    return Task(header, truth.round(4).tolist(), said, read, score, right="; ".join(strongest))


def _mask(look: Look, labels: Sequence[str]) -> Task:
    """Mark what a causal mask forbids; the score is the share of cells that are marked as they should be."""
    truth = np.triu(np.ones((len(labels), len(labels))), 1)

    def score(answer: Sequence[Sequence[float]]) -> float:
        return float(np.mean((np.asarray(answer) > 0.5) == (truth > 0.5)))

    header = {"does": "mask", "labels": labels}
    said = f"The mask sets {int(truth.sum())} of {truth.size} weights to 0: × marks them."
    read = lambda one: _numbers(one, truth.shape, 0, 1).tolist()  # noqa: E731
    return Task(header, truth.tolist(), said, read, score, right="every cell above the diagonal")


def _cut(look: Look, word: str) -> Task:
    """Cut a word where the tokenizer does. The answer is the places of the cuts, in letters from the beginning."""
    source = look.about(word).trace.source
    assert source is not None
    labels = look.about(word).trace.labels[1:-1]
    pieces = [label.removeprefix("##") for label in labels]
    truth = [sum(map(len, pieces[: place + 1])) for place in range(len(pieces) - 1)]

    def read(answer: Any) -> list[int]:
        if not isinstance(answer, list) or len(answer) >= len(word):
            raise QuestionError("The cuts are places between letters.")
        places = sorted({int(a_number(one, "each cut")) for one in answer})
        if any(not 0 < one < len(word) for one in places):
            raise QuestionError(f"Cut between letters: places 1 to {len(word) - 1}.")
        return places

    def score(answer: Sequence[int]) -> float:
        both = len(set(answer) & set(truth))
        return both / max(len(set(answer) | set(truth)), 1)

    def words(answer: Sequence[int]) -> str:
        parts = [word[start:end] for start, end in itertools.pairwise([0, *answer, len(word)])]
        return "|".join(parts) if answer else f"{word}, without a cut"

    said = f"The tokens are {', '.join(labels)}."
    return Task({"does": "cut", "labels": list(word)}, truth, said, read, score, words)


#: What the hands do -> what is drawn and computed.
DOES: dict[str, Callable[..., Task]] = {
    "aim": _aim, "sort": _sort, "softmax": _fill, "paint": _paint, "mask": _mask, "cut": _cut,
}  # fmt: skip
