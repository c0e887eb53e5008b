"""Kinds of questions with a free answer: a row of weights that is drawn, a sentence, and a poll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.core.teaching.questions.kinds import COMPARISONS, ROW, OfQuantity
from pages.core.teaching.questions.quantities import Look, QuestionError, read_quantity
from pages.core.teaching.questions.question import Grade, Question, Truth, a_number, kind


@kind("draw")
@dataclass(frozen=True)
class DrawQuestion(Question):
    """Draw the attention of `query` over all tokens. within: total variation distance that still counts as right."""

    query: str | int = 0
    layer: int | None = None
    head: int | None = None
    within: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < a_number(self.within, "within") < 1:
            raise QuestionError("within is a total variation distance between 0 and 1.")

    def truth(self, look: Look) -> Truth:
        """The row, T weights that sum to 1."""
        return Truth([float(weight) for weight in look.at(self.layer, self.head).row(self.query)], {}, ROW)

    def read(self, answer: Any, look: Look) -> list[float]:
        """T weights, scaled to the sum 1."""
        n_tokens = look.trace.n_tokens
        if not isinstance(answer, Sequence) or len(answer) != n_tokens:
            raise QuestionError(f"Draw one weight for each of the {n_tokens} tokens.")
        weights = [a_number(weight, "each weight") for weight in answer]
        if min(weights) < 0 or not sum(weights) > 0:
            raise QuestionError("Weights are 0 or more, and at least one is above 0.")
        return [weight / sum(weights) for weight in weights]

    def grade(self, answer: list[float], look: Look) -> Grade:
        """1 minus the total variation distance."""
        apart = float(np.abs(np.subtract(answer, self.truth(look).value)).sum() / 2)
        return Grade(1 - apart, apart <= self.within, {"total variation distance": apart})


@kind("sentence")
@dataclass(frozen=True)
class SentenceQuestion(OfQuantity, Question):
    """Write a sentence in which `quantity` is above (or below, or equal to) a number."""

    quantity: Any = None
    compare: str = "above"
    than: float = 0.5
    example: str = ""

    def __post_init__(self) -> None:
        read_quantity(self.quantity)
        if self.compare not in COMPARISONS:
            raise QuestionError(f"compare is {', '.join(COMPARISONS)}, not {self.compare!r}.")
        a_number(self.than, "than")
        if not self.example.strip():
            raise QuestionError("A sentence question needs an example, a sentence that is a right answer.")

    def truth(self, look: Look) -> Truth:
        """The example, and its number."""
        return Truth(self.example, {"example": self.asked.value(look.about(self.example))}, self.asked.quantity.formula)

    def read(self, answer: Any, look: Look) -> str:
        """A sentence of at most 300 letters."""
        if not isinstance(answer, str) or not answer.strip() or len(answer) > 300:
            raise QuestionError("Write one sentence of at most 300 letters.")
        return answer.strip()

    def grade(self, answer: str, look: Look) -> Grade:
        """Run the sentence and compare. Raises QuestionError if it lacks a token that the question names."""
        value = self.asked.value(look.about(answer))
        right = COMPARISONS[self.compare](value, self.than)
        return Grade(float(right), right, {self.asked.quantity.name.replace("_", " "): value})


@kind("choice")
@dataclass(frozen=True)
class ChoiceQuestion(Question):
    """Choose one of several texts: a poll that a teacher makes. It has no computed truth."""

    options: Sequence[str] = ()

    def __post_init__(self) -> None:
        is_list = isinstance(self.options, list | tuple)
        if not is_list or not 2 <= len(self.options) <= 8 or not all(isinstance(one, str) for one in self.options):
            raise QuestionError("A choice question has 2 to 8 options, each a text.")

    def truth(self, look: Look) -> Truth:
        """None: there is nothing to compute."""
        return Truth(None)

    def read(self, answer: Any, look: Look) -> int:
        """The number of an option."""
        if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(self.options):
            raise QuestionError("Choose one of the options shown.")
        return answer

    def grade(self, answer: int, look: Look) -> Grade:
        """Every answer counts."""
        return Grade(1.0, True)
