"""The kinds of questions. Each computes its truth; none is written in a lesson."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from encoder.figures.numbers import three_digits
from encoder.trace import tokens
from pages.core.stores import cache
from pages.teaching.questions.quantities import PAIRS, Asked, Look, QuestionError, one_of, read_quantity
from pages.teaching.questions.question import Choosing, Grade, Question, Truth, a_number, kind, shuffled

#: Numbers of an order that differ by less, as a share of the largest, may stand in either order.
TIE = 0.005
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "above": lambda left, right: left > right,
    "below": lambda left, right: left < right,
    "equal": lambda left, right: math.isclose(left, right, rel_tol=1e-4, abs_tol=1e-6),
    "different": lambda left, right: not math.isclose(left, right, rel_tol=1e-4, abs_tol=1e-6),
}


class OfQuantity:
    """A question about one quantity."""

    quantity: Any

    @property
    def asked(self) -> Asked:
        """The quantity with its arguments. Raises QuestionError if there is none."""
        return read_quantity(self.quantity)

    @property
    def title(self) -> str:
        """What the number is, in words."""
        return self.asked.title


@kind("token")
@dataclass(frozen=True)
class TokenQuestion(Choosing):
    """To which token does `query` attend most?

    among: "all" tokens, or "words": neither special tokens nor punctuation nor the query itself.
    """

    query: str | int = 0
    among: str = "words"
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        one_of("among", self.among, ("all", "words"))

    def choices(self, look: Look) -> dict[int, str]:
        """The positions that an answer can name, with their tokens."""
        trace, query = look.trace, look.token(self.query)
        content, marks = tokens.is_content(trace), tokens.is_punctuation(trace)
        return {
            position: name
            for position, name in enumerate(look.names)
            if self.among == "all" or (content[position] and not marks[position] and position != query)
        }

    def written(self, answer: Any, look: Look) -> int:
        """A token's text or its position."""
        return super().written(look.token(answer), look)  # type: ignore[no-any-return]

    def truth(self, look: Look) -> Truth:
        """The positions with the largest weight; several where a screen shows the same weight."""
        row = look.at(self.layer, self.head).row(self.query)
        choices = self.choices(look)
        if not choices:
            raise QuestionError("This text has no other word: choose a longer one, or ask among all tokens.")
        ranked = sorted(choices, key=lambda position: -float(row[position]))
        best = [position for position in choices if _same(row[position], row[ranked[0]])]
        labels = look.trace.labels
        numbers = {f"{labels[position]} ({position})": float(row[position]) for position in ranked[:3]}
        return Truth(best, numbers, ROW, several=True)


def _same(one: float, other: float) -> bool:
    """Whether the wall and the phones show the same number, to three digits."""
    return three_digits(one) == three_digits(other)


#: Heads whose number differs by less, as a share of the best, count as right, too: nobody sees so little on a map.
AS_GOOD = 0.1


def _is_as_good(value: float, best: float) -> bool:
    return _same(value, best) or abs(value - best) <= AS_GOOD * abs(best)


#: A row of attention.
ROW = r"\alpha_{ij} = \mathrm{softmax}_j\big(q_i \cdot k_j / \sqrt{d_k}\big)"


@kind("head")
@dataclass(frozen=True)
class HeadQuestion(OfQuantity, Question):
    """Which head has the largest (or smallest) `quantity`, in one layer or in all?"""

    quantity: Any = None
    layer: int | None = None
    pick: str = "largest"

    def __post_init__(self) -> None:
        if not self.asked.quantity.per_head:
            raise QuestionError(f"{self.asked.quantity.name} is the same for every head: ask for another quantity.")
        one_of("pick", self.pick, ("largest", "smallest"))

    def choices(self, look: Look) -> list[tuple[int, int]]:
        """The heads (layer, head) that an answer can name."""
        config = look.loaded.config
        layers = range(config.n_layers) if self.layer is None else [look.at(self.layer).layer]
        return [(layer, head) for layer in layers for head in range(config.n_heads)]

    def values(self, look: Look) -> dict[tuple[int, int], float]:
        """The number of each head, in the order of their ranks; computed once for all screens of a class."""
        name = "heads", repr(self), look.run
        return cache.computed(name, lambda: self._ranked(look))  # type: ignore[no-any-return]

    def _ranked(self, look: Look) -> dict[tuple[int, int], float]:
        found = {place: self.asked.value(look.at(*place)) for place in self.choices(look)}
        sign = 1 if self.pick == "largest" else -1
        measured = {place: value for place, value in found.items() if not math.isnan(value)}
        if not measured:
            raise QuestionError("No head has this number in this text: choose another text.")
        return dict(sorted(measured.items(), key=lambda item: -sign * item[1]))

    def truth(self, look: Look) -> Truth:
        """The best head as [layer, head], and those whose number is as good as the best."""
        values = self.values(look)
        best = next(iter(values.values()))
        numbers = {f"L{layer} H{head}": value for (layer, head), value in itertools.islice(values.items(), 3)}
        accepted = [list(place) for place, value in values.items() if _is_as_good(value, best)]
        return Truth(accepted, numbers, self.asked.quantity.equation, several=True)

    def read(self, answer: Any, look: Look) -> list[int]:
        """[layer, head]."""
        if not isinstance(answer, list) or tuple(answer) not in self.choices(look):
            raise QuestionError("Choose one of the heads shown.")
        return [int(answer[0]), int(answer[1])]

    def grade(self, answer: list[int], look: Look) -> Grade:
        """Right for the best head; the score falls with its rank among all."""
        ranked = list(self.values(look))
        right = answer in self.truth(look).value
        rank = ranked.index((answer[0], answer[1])) if (answer[0], answer[1]) in ranked else len(ranked)
        return Grade(1.0 if right else 1 - rank / len(ranked), right, {"rank": rank + 1})


@kind("number")
@dataclass(frozen=True)
class NumberQuestion(OfQuantity, Question):
    """How large is `quantity`? within: the error that still counts as right, absolute; factor: or as a ratio.

    label: what the number is, where the quantity's own name does not say it;
    trial: label -> a random quantity, which the reader can draw as often as she likes before she answers.
    """

    quantity: Any = None
    within: float | None = None
    factor: float | None = None
    label: str = ""
    trial: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for one in (self.quantity, *(self.trial or {}).values()):
            read_quantity(one)
        if (self.within is None) == (self.factor is None):
            raise QuestionError("A number question needs either within (a difference) or factor (a ratio above 1).")
        if self.within is not None and a_number(self.within, "within") < 0:
            raise QuestionError("within is at least 0.")
        if self.factor is not None and a_number(self.factor, "factor") <= 1:
            raise QuestionError("factor is above 1.")
        if not isinstance(self.label, str):
            raise QuestionError("label is a text: what the number is.")

    @property
    def title(self) -> str:
        """What the number is, in words."""
        return self.label or self.asked.title

    def truth(self, look: Look) -> Truth:
        """The number."""
        value = self.asked.value(look)
        return Truth(value, {self.title: value}, self.asked.quantity.equation)

    def read(self, answer: Any, look: Look) -> float:
        """A number."""
        return a_number(answer, "your answer")

    def grade(self, answer: float, look: Look) -> Grade:
        """Right within the tolerance."""
        truth = self.truth(look)
        low, high = self.accepted(truth)
        right = low <= answer <= high
        return Grade(float(right), right, {"difference": answer - truth.value})

    def accepted(self, truth: Truth) -> list[float]:
        """The smallest and the largest number that count as right."""
        if self.within is not None:
            return [truth.value - self.within, truth.value + self.within]
        assert self.factor is not None
        return sorted([truth.value / self.factor, truth.value * self.factor])

    @property
    def tolerance(self) -> str:
        """Which other numbers count as right, in a sentence; "" where none does."""
        if self.within is not None:
            return f"Within {self.within:g} counts as right." if self.within else ""
        return f"Within a factor of {self.factor:g} counts as right."

    @property
    def simulated(self) -> str:
        """What the numbers of a trial are, and from how many draws."""
        counts = {read_quantity(one).arguments.get("pairs", PAIRS) for one in (self.trial or {}).values()}
        return f"Simulated: {self.title}, each from {' or '.join(f'{one:,}' for one in sorted(counts))} random pairs"

    def tried(self, look: Look, seed: int) -> dict[str, float]:
        """The numbers of one trial."""
        drawn = ((label, read_quantity(one)) for label, one in (self.trial or {}).items())
        return {
            label: replace(asked, arguments={**asked.arguments, "seed": seed}).value(look) for label, asked in drawn
        }


@kind("order")
@dataclass(frozen=True)
class OrderQuestion(Question):
    """Put items in order, largest first. items: label -> quantity."""

    items: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.items, Mapping) or not 2 <= len(self.items) <= 8:
            raise QuestionError("An order question has 2 to 8 items, each a label with its quantity.")
        for quantity in self.items.values():
            read_quantity(quantity)

    def truth(self, look: Look) -> Truth:
        """The labels in order, with their numbers."""
        values = {str(label): read_quantity(quantity).value(look) for label, quantity in self.items.items()}
        ranked = sorted(values, key=lambda label: -values[label])
        return Truth(ranked, {label: values[label] for label in ranked})

    def begins_with(self, look: Look) -> list[str]:
        """The labels as a reader finds them: an answer that nobody moved is wrong."""
        return shuffled([*map(str, self.items)], self.ask, lambda order: self.grade(order, look).right)

    def read(self, answer: Any, look: Look) -> list[str]:
        """All labels, each once."""
        if not isinstance(answer, list) or sorted(map(str, answer)) != sorted(map(str, self.items)):
            raise QuestionError("Put every item in the list, each once.")
        return [str(one) for one in answer]

    def grade(self, answer: list[str], look: Look) -> Grade:
        """The share of pairs in the right order; pairs that are as good as equal count as right."""
        values = self.truth(look).numbers
        pairs = list(itertools.combinations(answer, 2))
        largest = max(map(abs, values.values()))
        in_order = sum(values[first] - values[second] > -TIE * largest for first, second in pairs)
        return Grade(in_order / len(pairs), in_order == len(pairs))


@kind("true or false")
@dataclass(frozen=True)
class TrueOrFalse(Choosing):
    """Is `left` above `right` (or below, or equal to it)? left, right: quantities; right may be a number."""

    left: Any = None
    compare: str = "above"
    right: Any = 0

    def __post_init__(self) -> None:
        read_quantity(self.left)
        one_of("compare", self.compare, COMPARISONS)
        if not isinstance(self.right, int | float):
            read_quantity(self.right)

    def truth(self, look: Look) -> Truth:
        """True or False, with both numbers."""
        left, right = _number(self.left, look), _number(self.right, look)
        names = (_name(self.left, self.right, look), _name(self.right, self.left, look))
        return Truth(COMPARISONS[self.compare](left, right), dict(zip(names, (left, right), strict=True)))

    def choices(self, look: Look) -> dict[bool, str]:
        """Both."""
        return {True: "True", False: "False"}


#: Arguments of quantities that are places of tokens.
TOKENS = ("token", "query", "key")


def _number(quantity: Any, look: Look) -> float:
    return float(quantity) if isinstance(quantity, int | float) else read_quantity(quantity).value(look)


def _name(quantity: Any, other: Any, look: Look) -> str:
    """What a compared number is: its quantity, with the arguments in which it differs from the other one."""
    if isinstance(quantity, int | float):
        return "compared with"
    asked = read_quantity(quantity)
    if asked.quantity.name == "weighted_sum":
        pairs = zip(asked.arguments["weights"], asked.arguments["values"], strict=True)
        return " + ".join(f"{weight:g} x {value:g}" for weight, value in pairs)
    others = asked.arguments if isinstance(other, int | float) else read_quantity(other).arguments
    names = look.about(asked.arguments.get("text")).names
    differs = [
        value if isinstance(value, str) else names[value] if name in TOKENS else f"{name} {value}"
        for name, value in asked.arguments.items()
        if others.get(name) != value
    ]
    named = asked.quantity.label + (": " if differs else "") + ", ".join(differs)
    return named.replace("_", " ").replace("ffn", "FFN")
