"""What every question has: its words, the truth that is computed, and the grade of an answer.

An answer travels as JSON, from a lesson's page and from a room's members alike.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from encoder import EncoderError
from encoder.errors import quoted
from pages.base.access import limits
from pages.teaching.questions import misconceptions
from pages.teaching.questions.misconceptions import Reason, reason_of
from pages.teaching.questions.quantities import Look, QuestionError


@dataclass(frozen=True)
class Truth:
    """What the model computes. value: what a right answer says; numbers: label -> number; formula: LaTeX, or "".

    several: whether value is a list of right answers. A value of None: there is nothing to compute.
    """

    value: Any
    numbers: Mapping[str, float] = field(default_factory=dict)
    formula: str = ""
    several: bool = False

    @property
    def answers(self) -> list[Any]:
        """All right answers."""
        return list(self.value) if self.several else [self.value]


@dataclass(frozen=True)
class Grade:
    """score: 0 to 1; right: whether the answer counts as right; numbers: what the grade was computed from."""

    score: float
    right: bool
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Question(ABC):
    """A question of one kind.

    ask: its words; why: what is true, and why; hint: shown on request; look: whether the picture is shown before the
    answer. Otherwise a reader predicts first. mistakes: known wrong answers with their reasons, see `reason`.
    """

    kind: ClassVar[str]

    ask: str
    why: str = ""
    hint: str = ""
    look: bool = False
    mistakes: Sequence[Mapping[str, Any]] = ()

    def definition(self) -> dict[str, Any]:
        """What `read_question` reads again: JSON."""
        return {"kind": self.kind, **asdict(self)}

    @abstractmethod
    def truth(self, look: Look) -> Truth:
        """Compute what is true now. Raises EncoderError if the question does not fit the text or the model."""

    @abstractmethod
    def read(self, answer: Any, look: Look) -> Any:
        """An answer in its own type. Raises QuestionError with what to enter instead."""

    def grade(self, answer: Any, look: Look) -> Grade:
        """Grade an answer that `read` returned: right or wrong. Where nothing is computed, every answer counts."""
        truth = self.truth(look)
        right = truth.value is None or answer in truth.answers
        return Grade(float(right), right)

    def is_right(self, answer: Any, look: Look | None) -> bool | None:
        """Whether an answer counts as right; None where nothing is computed, and for a test of several items."""
        if look is None or self.kind in ("choice", "conclusion", "test"):
            return None
        try:
            return self.grade(answer, look).right
        except EncoderError:  # a sentence without the token that the question names
            return False

    def reason(self, answer: Any, look: Look) -> Reason:
        """Why this answer is wrong; without words where no mistake explains it.

        A mistake is an answer, or fields of another question, such as another quantity, whose answer it is.
        """
        for mistake in self.mistakes:
            with suppress(EncoderError):  # a mistake of the lesson's text, and the class reads another one
                if self._is_mistake(mistake, answer, look):
                    return reason_of(mistake, str(mistake.get("says", "")))
        return Reason()

    def mistaken(self, mistake: Mapping[str, Any], look: Look) -> Any:
        """The answer of a mistake: its own, or that of the other question. Raises QuestionError."""
        if "answer" not in mistake:
            return self.read(self.other(mistake).truth(look).answers[0], look)
        try:
            return self.written(mistake["answer"], look)
        except EncoderError as error:
            raise QuestionError(f"The mistake {quoted(mistake['answer'])} is not an answer. {error}") from error

    def written(self, answer: Any, look: Look) -> Any:
        """An answer as a lesson writes it, in its own type. Raises QuestionError."""
        return self.read(answer, look)

    def other(self, mistake: Mapping[str, Any]) -> Question:
        """The question whose answer a mistake is. Raises QuestionError."""
        return replace(self, **{name: value for name, value in mistake.items() if name not in MISTAKE_WORDS})

    def _is_mistake(self, mistake: Mapping[str, Any], answer: Any, look: Look) -> bool:
        if "answer" in mistake:
            return bool(answer == self.mistaken(mistake, look))
        return self.other(mistake).grade(answer, look).right and not self.grade(answer, look).right


class Choosing(Question):
    """A question whose answer is one of several options."""

    @abstractmethod
    def choices(self, look: Look) -> dict[Any, str]:
        """Each answer that can be chosen, and what it says."""

    def written(self, answer: Any, look: Look) -> Any:
        """An option, or what it says."""
        named = {text.casefold(): one for one, text in self.choices(look).items()}
        return self.read(named.get(answer.casefold(), answer) if isinstance(answer, str) else answer, look)

    def read(self, answer: Any, look: Look) -> Any:
        """One of the options."""
        if not any(one == answer and type(one) is type(answer) for one in self.choices(look)):
            raise QuestionError("Choose one of the options shown.")
        return answer


#: What a mistake has next to the fields of the question whose answer it is.
MISTAKE_WORDS = ("answer", "says", "truth", "misconception")
KINDS: dict[str, type[Question]] = {}

Kind = TypeVar("Kind", bound=type[Question])


def kind(name: str) -> Callable[[Kind], Kind]:
    """Register a kind of question under the name that lessons use."""

    def register(made: Kind) -> Kind:
        made.kind = name
        KINDS[name] = made
        return made

    return register


def read_question(definition: object) -> Question:
    """The question that a lesson or a room defines. Raises QuestionError that names the wrong field."""
    if not isinstance(definition, Mapping):
        raise QuestionError("A question is a list of names and values, such as “kind: token”.")
    values = dict(definition)
    name = values.pop("kind", None)
    if name not in KINDS:
        raise QuestionError(f"No kind of question “{name}”: choose {', '.join(KINDS)}.")
    made = KINDS[name]
    known = {one.name: one for one in fields(made)}
    if unknown := [str(one) for one in values if one not in known]:
        raise QuestionError(f"A {name} question has no {', '.join(unknown)}. It has {', '.join(known)}.")
    needed = [one.name for one in known.values() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [one for one in needed if one not in values]:
        raise QuestionError(f"A {name} question also needs {', '.join(missing)}.")
    for one in ("ask", "why", "hint"):
        text = values.get(one, "")
        if not isinstance(text, str) or len(text) > limits.QUESTION_TEXT.value:
            raise QuestionError(f"{one} is a text of at most {limits.QUESTION_TEXT.value} letters.")
    if not isinstance(values.get("look", False), bool):
        raise QuestionError("look is true or false.")
    _check_mistakes(values.get("mistakes", ()), known)
    question = made(**values)
    for mistake in question.mistakes:
        if "answer" not in mistake:
            question.other(mistake)  # raises for a field that no question of this kind has so
    return question


def _check_mistakes(mistakes: object, known: Mapping[str, object]) -> None:
    if not isinstance(mistakes, list | tuple) or not all(isinstance(one, Mapping) for one in mistakes):
        raise QuestionError("mistakes is a list; each has an answer or other fields of the question, and says.")
    for one in mistakes:
        name = one.get("misconception")
        if name is not None and name not in misconceptions.BY_ID:
            raise QuestionError(f"No misconception “{name}”: choose {', '.join(misconceptions.BY_ID)}.")
        if unknown := [str(field) for field in one if field not in known and field not in MISTAKE_WORDS]:
            raise QuestionError(f"A mistake has no {', '.join(unknown)}.")


def read_answer(question: Question, text: str, look: Look) -> Any:
    """An answer that arrived as JSON. Raises QuestionError."""
    if len(text.encode()) > limits.ANSWER.value:
        raise QuestionError(f"An answer has at most {limits.ANSWER.value:,} bytes. Shorten it.")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise QuestionError("This answer cannot be read. Enter it again.") from error
    return question.read(value, look)


def shuffled(labels: Sequence[str], seed: str, is_right: Callable[[list[str]], bool]) -> list[str]:
    """An order to begin with: the same on every screen and in every file, and not a right one."""

    def place(attempt: int, label: str) -> bytes:
        return hashlib.sha256(f"{seed}/{attempt}/{label}".encode()).digest()

    orders = (sorted(labels, key=partial(place, attempt)) for attempt in range(100))
    # Of equal numbers every order is right.
    return next((order for order in orders if not is_right(order)), sorted(labels))


def a_number(value: Any, what: str) -> float:
    """A finite number. Raises QuestionError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise QuestionError(f"Enter {what} as a number.")
    return float(value)
