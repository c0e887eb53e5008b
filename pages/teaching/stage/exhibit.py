"""What an answer rests on: the row of the map that was asked about, or the numbers that were compared, as bars.

It is a few hundred bytes of HTML, so that a phone has it at once; the wall draws the same in larger type.
"""

import math
import re
from collections.abc import Container, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_in_words, in_words
from encoder.trace.tokens import is_special
from pages.teaching.questions import Look, Question, controls, quantities
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, OrderQuestion, TokenQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion, DrawQuestion, SentenceQuestion
from pages.teaching.questions.quantities import read_quantity
from pages.teaching.questions.question import Truth
from pages.teaching.stage.asked import named_values
from pages.teaching.stage.bars import Line, table

#: Tokens of a row that are shown, the strongest ones; and bars of numbers.
MOST = 16
#: The smallest weight that a row has in figures.
SMALL = 0.001
#: Quantities that are read in a row of an attention map.
OF_A_ROW = ("weight", "row_entropy", "on_special_tokens", "on_later_tokens")


def html(question: Question, look: Look, truth: Truth) -> str:
    """The bars of a question's truth, or the tokens that it is about; "" where its sentence says all."""
    if places := _places_of_ids(question, look):
        return _with_ids(look, places)
    if lists := tokens(question, look):
        return f"<div>{''.join(map(_counted_tokens, lists))}</div>"
    if isinstance(question, NumberQuestion) and question.trial is not None:
        return _simulated(question, look, truth)
    steps = _steps(question, truth)
    lines = row(question, look, truth) or numbers(steps or truth.numbers, right_labels(question, look, truth))
    return table(lines, "How the number comes about" if steps else _caption(question, look)) if len(lines) > 1 else ""


def _simulated(question: NumberQuestion, look: Look, truth: Truth) -> str:
    """One trial, and the answer, which is exact."""
    tried = question.tried(look, 0)
    largest = max(*tried.values(), truth.value)
    lines = [Line(name, f"{value:.{controls.SIMULATED}f}", value / largest) for name, value in tried.items()]
    exact = Line("the answer, exact", exact_or_in_words(truth.value), truth.value / largest)
    return table([*lines, exact], question.simulated)


def _counted_tokens(labels: Sequence[str]) -> str:
    return f"<ol class='enc-counted'>{''.join(f'<li>{escape(one)}</li>' for one in labels)}</ol>"


def _places_of_ids(question: Question, look: Look) -> set[int]:
    """The tokens whose ids a question is about."""
    given = [value for name, value in named_values(question.definition()) if name == "token_id"]
    return {look.token(one["token"]) for one in given if isinstance(one, Mapping) and [*one] == ["token"]}


def _with_ids(look: Look, places: Container[int]) -> str:
    """The tokens in a row, each above its id: an id is a name, so no bar has its length. places: are marked."""
    ids = look.trace.source.ids if look.trace.source is not None else ()
    items = "".join(
        f"<li{' data-asked' if place in places else ''}>{escape(label)}<small>{one}</small></li>"
        for place, (label, one) in enumerate(zip(look.trace.labels, ids, strict=True))
    )
    return f"<ol class='enc-counted enc-ids' aria-label='Tokens and their ids'>{items}</ol>"


def picture(question: Question, look: Look, view: Mapping[str, str]) -> str:
    """The tokens of the picture that a conclusion is about, for the wall; "" of another question."""
    is_of_tokens = isinstance(question, ConclusionQuestion) and look.trace.kind == "text"
    if is_of_tokens and view.get("page") == "model" and view.get("step") == "ids":
        return _counted_tokens(look.trace.labels)
    return ""


def _steps(question: Question, truth: Truth) -> dict[str, float]:
    """The numbers that an answer is computed from: products and their sum; empty for others."""
    if not isinstance(question, NumberQuestion):
        return {}
    if question.asked.quantity.name == "weighted_sum":
        pairs = zip(question.asked.arguments["weights"], question.asked.arguments["values"], strict=True)
        return {f"{weight:g} × {value:g}".replace("-", "−"): weight * value for weight, value in pairs} | {
            "sum": truth.value
        }
    return {}


def _caption(question: Question, look: Look) -> str:
    """What the numbers of `html` are."""
    query, at = None, look
    if isinstance(question, TokenQuestion | DrawQuestion):
        query, at = question.query, look.at(question.layer, question.head)
    elif isinstance(question, NumberQuestion) and question.asked.quantity.name in OF_A_ROW:
        given = question.asked.arguments
        query, at = given["query"], look.about(given.get("text")).at(given.get("layer"), given.get("head"))
    if query is not None:
        return f"Attention weights of “{at.names[at.token(query)]}”, L{at.layer} H{at.head}"
    if isinstance(question, NumberQuestion | HeadQuestion):
        return f"What the model computes: {question.title}"
    if isinstance(question, OrderQuestion):
        titles = {read_quantity(one).quantity.label for one in question.items.values()}
        return "What the model computes" + (f": {titles.pop()}" if len(titles) == 1 else "")
    return "What the model computes"


def row(question: Question, look: Look, truth: Truth) -> list[Line]:
    """The row of the map that a question is about; empty for other questions."""
    found = _row(question, look, truth)
    if found is None:
        return []
    names, weights, marked = found
    largest = max(float(weights.max()), 1e-9)
    strongest = sorted(range(len(weights)), key=lambda place: (place not in marked, -weights[place]))[:MOST]
    return [
        Line(names[place], weight(float(weights[place])), float(weights[place]) / largest, place in marked)
        for place in sorted(strongest)
    ]


def weight(value: float) -> str:
    """A weight among others of its row: the last digits of a tiny one say nothing next to a large one."""
    return "<0.001" if 0 < value < SMALL else in_words(value)


def _row(question: Question, look: Look, truth: Truth) -> tuple[Sequence[str], np.ndarray, Sequence[int]] | None:
    """Names and weights of a row, and the places that are marked."""
    if isinstance(question, TokenQuestion | DrawQuestion):
        at = look.at(question.layer, question.head)
        return at.names, at.row(question.query), truth.answers if isinstance(question, TokenQuestion) else ()
    if not isinstance(question, NumberQuestion):
        return None
    name, given = question.asked.quantity.name, question.asked.arguments
    at = look.about(given.get("text")).at(given.get("layer"), given.get("head"))
    if name == "cross_weight":
        return at.names, quantities.cross_row(at, given["target"], given["at"]), [at.token(given["key"])]
    if name == "decoder_weight":
        target = given["target"]
        weights = quantities.decoder_row(at, target, given["query"])
        return quantities.decoder_names(at, target), weights, [given["key"]]
    return (at.names, at.row(given["query"]), _counted(at, name, given)) if name in OF_A_ROW else None


def _counted(look: Look, quantity: str, given: Mapping[str, Any]) -> list[int]:
    """The places of a row whose weights are the number: one key, or all special or later tokens."""
    if quantity == "on_special_tokens":
        return [place for place, special in enumerate(is_special(look.trace)) if special]
    if quantity == "on_later_tokens":
        return list(range(look.token(given["query"]) + 1, look.trace.n_tokens))
    return [look.token(given["key"])] if "key" in given else []


def tokens(question: Question, look: Look) -> list[list[str]]:
    """The tokens that a question counts, or those of the texts that it compares; empty for other questions."""
    if not isinstance(question, NumberQuestion | SentenceQuestion):
        return []
    name, given = question.asked.quantity.name, question.asked.arguments
    about = look.about(question.example if isinstance(question, SentenceQuestion) else given.get("text"))
    if name == "sentence_cosine":
        return [list(one.trace.labels) for one in (about, look.about(given["other"]))]
    if name not in ("n_tokens", "n_pieces"):
        return []
    hidden = is_special(about.trace) if name == "n_pieces" else [False] * about.trace.n_tokens
    return [[label for label, is_hidden in zip(about.trace.labels, hidden, strict=True) if not is_hidden]]


def numbers(found: Mapping[str, float], right: Sequence[str] = ()) -> list[Line]:
    """Numbers of one kind as bars, by their absolute values. right: labels that are marked."""
    largest = max(map(abs, found.values()), default=0) or 1
    return [
        Line(name, rounded(value), abs(value) / largest, name in right) for name, value in list(found.items())[:MOST]
    ]


def rounded(value: float) -> str:
    """A number next to others: one that is rounded has three digits, as 0.890 next to 0.867."""
    said = exact_or_in_words(value)
    digits = re.fullmatch(r"−?(\d+)\.(\d+)", said)
    if digits is None or math.isclose(float(said.replace("−", "-")), value, rel_tol=1e-9):
        return said
    return said + "0" * (3 - len((digits[1] + digits[2]).lstrip("0")))


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
        return exact_or_in_words(truth.value)
    return ""
