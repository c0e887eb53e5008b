"""Kinds of questions with a free answer: a drawn row of weights, a sentence, options, a poll, a conclusion."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoder.explain.arithmetic import cosine
from encoder.figures.numbers import exact_or_in_words
from encoder.run import ModelSpec
from pages.core.stores import cache, model_store
from pages.teaching.questions import misconceptions
from pages.teaching.questions.kinds import COMPARISONS, ROW, OfQuantity, TrueOrFalse
from pages.teaching.questions.misconceptions import Reason, reason_of
from pages.teaching.questions.quantities import Look, QuestionError, one_of, read_quantity
from pages.teaching.questions.question import Choosing, Grade, Question, Truth, a_number, kind

#: Letters of a sentence and of a conclusion.
MOST_LETTERS = 300
#: What separates words, in Python and JavaScript: space, or a mark before another letter. The comma of
#: 1,3-dimethylxanthine separates none.
BETWEEN_WORDS = re.compile(r"\s+|[.,;:!?/–—_+]+(?=[^\d\s])")


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
    """Write a sentence in which `quantity` is above (or below, or equal to) a number.

    words: how many words it has; None: any number.
    """

    quantity: Any = None
    compare: str = "above"
    than: float = 0.5
    example: str = ""
    words: int | None = None

    def __post_init__(self) -> None:
        read_quantity(self.quantity)
        one_of("compare", self.compare, COMPARISONS)
        a_number(self.than, "than")
        if not self.example.strip():
            raise QuestionError("A sentence question needs an example, a sentence that is a right answer.")
        if self.words is not None and a_number(self.words, "words") < 1:
            raise QuestionError("words is at least 1.")

    def truth(self, look: Look) -> Truth:
        """The example, and its number."""
        value = self.asked.value(look.about(self.example))
        return Truth(self.example, {f"{self.asked.title}, example": value}, self.asked.quantity.equation)

    def read(self, answer: Any, look: Look) -> str:
        """A sentence of at most MOST_LETTERS letters."""
        text = _written(answer)
        found = len([word for word in BETWEEN_WORDS.split(text) if word])
        if self.words is not None and found != self.words:
            raise QuestionError(f"Words in your text: {found}. The question asks for {self.words}.")
        return text

    def grade(self, answer: str, look: Look) -> Grade:
        """Run the sentence and compare. Raises QuestionError if it lacks a token that the question names."""
        value = self.asked.value(look.about(answer))
        right = COMPARISONS[self.compare](value, self.than)
        return Grade(float(right), right, {self.asked.title: value})


@kind("concept")
@dataclass(frozen=True)
class ConceptQuestion(Choosing):
    """Choose the one option that is true.

    options: each `says` a text, in which {} is its `quantity`; `holds` compares two numbers as a question of the kind
    “true or false”, or `right` marks an option without a number; `misconception`: what choosing it reveals; `truth`:
    what is right instead, in which {} is the number on the left of `holds`.
    """

    options: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        listed = self.options if isinstance(self.options, list | tuple) else ()
        if not 2 <= len(listed) <= 6 or not all(isinstance(one, Mapping) and one.get("says") for one in listed):
            raise QuestionError("A concept question has 2 to 6 options, and each says a text.")
        for one in listed:
            if unknown := set(one) - {"says", "quantity", "holds", "right", "misconception", "truth"}:
                raise QuestionError(f"An option has no {', '.join(map(str, unknown))}.")
            if "holds" in one:
                self._comparison(one)
            if "quantity" in one:
                read_quantity(one["quantity"])
            if one.get("misconception") not in (None, *misconceptions.BY_ID):
                raise QuestionError(f"No misconception “{one['misconception']}”.")

    @property
    def is_computed(self) -> bool:
        """Whether every option holds by a comparison of numbers."""
        return all("holds" in one for one in self.options)

    def _comparison(self, option: Mapping[str, Any]) -> TrueOrFalse:
        return TrueOrFalse(ask="", **option["holds"])

    def texts(self, look: Look) -> list[str]:
        """What the options say, with their numbers."""
        return [
            str(one["says"]).replace("{}", exact_or_in_words(read_quantity(one["quantity"]).value(look)))
            if "quantity" in one
            else str(one["says"])
            for one in self.options
        ]

    def truth(self, look: Look) -> Truth:
        """The position of the option that holds. Raises QuestionError unless exactly one does."""
        numbers: dict[str, float] = {}
        right = []
        for place, one in enumerate(self.options):
            if "holds" in one:
                compared = self._comparison(one).truth(look)
                numbers |= compared.numbers if compared.value else {}
                holds = compared.value
            else:
                holds = bool(one.get("right"))
            right += [place] if holds else []
        if len(right) != 1:
            raise QuestionError(f"{len(right)} options are true: a concept question has exactly one.")
        return Truth(right[0], numbers)

    def choices(self, look: Look) -> dict[int, str]:
        """The number of each option, and its text."""
        return dict(enumerate(self.texts(look)))

    def reason(self, answer: int, look: Look) -> Reason:
        """Why the chosen option is wrong."""
        option = self.options[answer]
        found = reason_of(option)
        if "{}" not in found.truth or "holds" not in option:
            return found
        left = next(iter(self._comparison(option).truth(look).numbers.values()))
        return replace(found, truth=found.truth.replace("{}", exact_or_in_words(left)))


def _vector(text: str) -> np.ndarray:
    """The sentence vector of a text, computed once: each run of a page that shows an answer asks for it."""
    embed = model_store.model(ModelSpec()).embed
    return cache.computed(("sentence", text), lambda: embed([text])[0].double().cpu().numpy())  # type: ignore[no-any-return]


@kind("conclusion")
@dataclass(frozen=True)
class ConclusionQuestion(Question):
    """The reader's own conclusion in one or two sentences. It is kept, and nobody grades it.

    model: a model answer, which a reader compares with her own afterwards.
    """

    model: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or len(self.model) > 2 * MOST_LETTERS:
            raise QuestionError(f"model is a text of at most {2 * MOST_LETTERS} letters.")

    def similarity(self, answer: str) -> float:
        """The cosine of the sentence vectors of an answer and of the model answer, by MiniLM."""
        return cosine(_vector(answer), _vector(self.model))

    def truth(self, look: Look) -> Truth:
        """None: there is nothing to compute."""
        return Truth(None)

    def read(self, answer: Any, look: Look) -> str:
        """A text of at most MOST_LETTERS letters."""
        return _written(answer)


@kind("choice")
@dataclass(frozen=True)
class ChoiceQuestion(Choosing):
    """Choose one of several texts: a poll that a teacher makes. It has no computed truth.

    right: the position of the option that the teacher marks as right; None: a poll.
    """

    options: Sequence[str] = ()
    right: int | None = None

    def __post_init__(self) -> None:
        is_list = isinstance(self.options, list | tuple)
        if not is_list or not 2 <= len(self.options) <= 8 or not all(isinstance(one, str) for one in self.options):
            raise QuestionError("A choice question has 2 to 8 options, each a text.")
        if self.right is not None and (type(self.right) is not int or not 0 <= self.right < len(self.options)):
            raise QuestionError(f"right is the position of an option, 0 to {len(self.options) - 1}.")

    def truth(self, look: Look) -> Truth:
        """The option that is marked as right, None in a poll: there is nothing to compute."""
        return Truth(self.right)

    def is_right(self, answer: int, look: Look | None) -> bool | None:
        """By the mark of the teacher, which needs no view."""
        return None if self.right is None else answer == self.right

    def choices(self, look: Look) -> dict[int, str]:
        """The number of each option, and its text."""
        return dict(enumerate(self.options))


def _written(answer: Any) -> str:
    if not isinstance(answer, str) or not answer.strip() or len(answer) > MOST_LETTERS:
        raise QuestionError(f"Write one or two sentences of at most {MOST_LETTERS} letters.")
    return answer.strip()
