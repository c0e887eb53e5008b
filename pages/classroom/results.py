"""The answers of a class: counted, drawn, and as a table."""

from __future__ import annotations

import csv
import html
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_three_digits, three_digits
from pages.components.row_sketch import row_sketch
from pages.core.teaching.questions import Look, Question, controls
from pages.core.teaching.rooms import Asked, Member, Room, RoomError, session
from pages.core.words.markdown import plain, say_error

#: Bars of a histogram; further answers are one bar together.
BARS = 12


@dataclass(frozen=True)
class Bar:
    """One bar: answers that say the same. right: None where nothing is computed."""

    label: str
    count: int
    right: bool | None


def read(question: Question, look: Look | None, answers: Mapping[str, str]) -> dict[str, Any]:
    """The answers by member, in their own type; those that do not fit the question are left out."""
    found = {}
    for member, text in answers.items():
        try:
            found[member] = question.read(json.loads(text), look)
        except (EncoderError, ValueError):
            continue
    return found


def bars(question: Question, look: Look | None, answers: Sequence[Any]) -> list[Bar]:
    """A histogram: most frequent answers first, numbers in ascending order. A row that was drawn has none."""
    if question.kind == "draw" or not answers:
        return []
    if question.kind == "number":
        return _numbers(question, look, answers)
    texts = [controls.answer_text(question, look, one) for one in answers]
    right = {text: _is_right(question, look, one) for text, one in zip(texts, answers, strict=True)}
    counted = Counter(texts).most_common()
    found = [Bar(text, count, right[text]) for text, count in counted[:BARS]]
    if rest := sum(count for _, count in counted[BARS:]):
        found.append(Bar(f"{len(counted) - BARS} other answers", rest, None))
    return found


def _numbers(question: Question, look: Look | None, answers: Sequence[float]) -> list[Bar]:
    values = Counter(answers)
    if len(values) <= BARS:
        return [Bar(exact_or_three_digits(one), values[one], _is_right(question, look, one)) for one in sorted(values)]
    # Outliers must not squeeze all others into one bar: the outer bars take what lies beyond.
    low, high = np.quantile(np.asarray(answers, dtype=np.float64), (0.05, 0.95))
    edges = np.linspace(low, high, 9)
    places = np.clip(np.digitize(answers, edges) - 1, 0, len(edges) - 2)
    truth = question.truth(look).value
    at = int(np.clip(np.digitize(truth, edges) - 1, 0, len(edges) - 2))
    return [
        Bar(f"{three_digits(edges[k])} to {three_digits(edges[k + 1])}", int(np.sum(places == k)), k == at)
        for k in range(len(edges) - 1)
    ]


def _is_right(question: Question, look: Look | None, answer: Any) -> bool | None:
    if question.kind == "choice":
        return None
    try:
        return question.grade(answer, look).right
    except EncoderError:  # a sentence without the token that the question names
        return False


def truth(question: Question, look: Look | None) -> None:
    """What the model computes, and why."""
    found = question.truth(look)
    if found.value is None:
        return
    if question.kind != "draw":  # the rows are drawn below
        st.success(plain(controls.true_value(question, look, found)), icon=":material/check_circle:")
    if question.why:
        st.write(plain(question.why))
    if found.formula:
        st.latex(found.formula)


def draw(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """The class's answers: a histogram; for rows of attention, their mean next to the model's row."""
    try:
        answers = session.store().answers(now.code, asked.id)
    except RoomError as error:
        say_error(error, st.warning, icon=None)
        return
    st.caption(f"{len(answers)} {'answer' if len(answers) == 1 else 'answers'} of the class")
    found, mean = _computed(asked.id, tuple(sorted(answers.items())), _Asked(question, look))
    if mean is not None:
        model = question.truth(look).value if asked.revealed else None
        st.caption("The class's mean row" + (", and the model's next to it." if asked.revealed else "."))
        row_sketch(
            controls.names(look), key=f"room:{asked.id}:mean:{asked.revealed}", question=question.ask, drawn=mean,
            truth=model or mean,
        )  # fmt: skip
    if found:
        st.html(table(found, show_right=asked.revealed))


@dataclass(frozen=True)
class _Asked:
    """A question with what it is about; equal to every other one: the key of the cache is its id."""

    question: Question
    look: Look | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _computed(asked: str, answers: tuple[tuple[str, str], ...], about: _Asked) -> tuple[list[Bar], list[float] | None]:
    """Bars and mean row, once for all sessions of a class. asked: the question's id."""
    found = [*read(about.question, about.look, dict(answers)).values()]
    mean = np.mean(found, axis=0).tolist() if about.question.kind == "draw" and found else None
    return bars(about.question, about.look, found), mean


def table(found: Sequence[Bar], *, show_right: bool) -> str:
    """The bars as an HTML table; every text is escaped."""
    largest = max(bar.count for bar in found)
    rows = "".join(
        f"<tr{' data-right' if show_right and bar.right else ''}><th scope='row'>{html.escape(bar.label)}"
        f"{' ✓' if show_right and bar.right else ''}</th><td>{bar.count}</td>"
        f"<td><i style='width:{100 * bar.count / largest:.0f}%'></i></td></tr>"
        for bar in found
    )
    return (
        f"<table class='enc-class-answers'><caption hidden>Answers of the class</caption><tbody>{rows}</tbody></table>"
    )


def as_csv(question: Question, look: Look | None, answers: Mapping[str, str], members: Mapping[str, Member]) -> bytes:
    """One line for each answer: who (a nickname, or a number), the answer, and whether it is right."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["question", "who", "answer", "right"])
    for number, (member, value) in enumerate(read(question, look, answers).items(), 1):
        known = members.get(member)
        who = known.nickname if known and known.nickname else str(number)
        text = json.dumps(value) if question.kind == "draw" else controls.answer_text(question, look, value)
        right = _is_right(question, look, value)
        writer.writerow([_cell(question.ask), _cell(who), _cell(text), "" if right is None else int(right)])
    return out.getvalue().encode("utf-8-sig", "replace")


def _cell(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
