"""What an answer rests on: the row of the map that was asked about, or the numbers that were compared, as bars.

It is a few hundred bytes of HTML, so that a phone has it at once; the wall draws the same in larger type.
"""

from collections.abc import Mapping, Sequence

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_three_digits, three_digits
from pages.teaching.questions import Look, Question, controls
from pages.teaching.questions.kinds import NumberQuestion, TokenQuestion
from pages.teaching.questions.open_kinds import DrawQuestion
from pages.teaching.questions.question import Truth
from pages.teaching.stage.bars import Line, table

#: Tokens of a row that are shown, the strongest ones; and bars of numbers.
MOST = 16
#: Quantities that are read in a row of an attention map.
OF_A_ROW = ("weight", "row_entropy", "on_special_tokens", "on_later_tokens")


def html(question: Question, look: Look, truth: Truth) -> str:
    """The bars of a question's truth; "" where its sentence says all."""
    lines = row(question, look, truth) or numbers(truth.numbers, right_labels(question, look, truth))
    return table(lines, "What the model computes") if len(lines) > 1 else ""


def row(question: Question, look: Look, truth: Truth) -> list[Line]:
    """The row of the map that a question is about; empty for other questions."""
    query, at, marked = None, look, list[int]()
    if isinstance(question, TokenQuestion | DrawQuestion):
        query, at = question.query, look.at(question.layer, question.head)
        marked = truth.answers if isinstance(question, TokenQuestion) else []
    elif isinstance(question, NumberQuestion) and question.asked.quantity.name in OF_A_ROW:
        given = question.asked.arguments
        query, at = given["query"], look.about(given.get("text")).at(given.get("layer"), given.get("head"))
        marked = [at.token(given["key"])] if "key" in given else []
    if query is None:
        return []
    weights = at.row(query)
    largest = max(float(weights.max()), 1e-9)
    strongest = sorted(range(len(weights)), key=lambda place: (place not in marked, -weights[place]))[:MOST]
    return [
        Line(at.names[place], f"{weights[place]:.2f}", float(weights[place]) / largest, place in marked)
        for place in sorted(strongest)
    ]


def numbers(found: Mapping[str, float], right: Sequence[str] = ()) -> list[Line]:
    """Numbers of one kind as bars, by their absolute values. right: labels that are marked."""
    largest = max(map(abs, found.values()), default=0) or 1
    return [
        Line(name, exact_or_three_digits(value), abs(value) / largest, name in right)
        for name, value in list(found.items())[:MOST]
    ]


def right_labels(question: Question, look: Look, truth: Truth) -> list[str]:
    """Labels among the numbers of a truth that are themselves right answers, such as a head."""
    if question.kind != "head":
        return []
    try:
        return [controls.answer_text(question, look, one) for one in truth.answers]
    except EncoderError:
        return []


def answer(question: Question, look: Look, truth: Truth) -> str:
    """The right answer in a few characters, for the largest type; "" where it is a sentence or a row."""
    if question.kind in ("token", "head", "order", "true or false"):
        return " or ".join(controls.answer_text(question, look, one) for one in truth.answers)
    if question.kind == "number":
        return exact_or_three_digits(truth.value) if float(truth.value).is_integer() else three_digits(truth.value)
    return ""
