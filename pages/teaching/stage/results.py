"""The answers of a class: counted, drawn, and as a table."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_in_words, in_words
from pages.components.row_sketch import row_sketch
from pages.core.stores import cache
from pages.core.words.markdown import say_error
from pages.teaching.questions import Look, Question, controls
from pages.teaching.rooms import Asked, Member, Room, RoomError, session
from pages.teaching.stage import votes
from pages.teaching.stage.bars import Line
from pages.teaching.stage.bars import table as bars_table

#: Bars of a histogram; further answers are one bar together.
BARS = 12
#: Titles of both votes.
VOTES = ("First vote", "After the discussion")
#: Of the table of all answers.
COLUMNS = ("question", "who", "answer", "right", "vote", "reason", "late")


@dataclass(frozen=True)
class Bar:
    """One bar: answers that say the same. right: None where nothing is computed; reason: why somebody thinks so."""

    label: str
    count: int
    right: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Vote:
    """What a class answered: by member, as bars, the mean of drawn rows, and the share of right answers."""

    given: Mapping[str, Any]
    bars: Sequence[Bar]
    mean: list[float] | None
    right: float | None


def read(question: Question, look: Look | None, answers: Mapping[str, str]) -> dict[str, Any]:
    """The answers by member, in their own type; those that do not fit the question are left out."""
    found = {}
    for text in set(answers.values()):  # a hundred students give a few different answers
        try:
            found[text] = question.read(json.loads(text), look)
        except (EncoderError, ValueError):
            continue
    return {member: found[text] for member, text in answers.items() if text in found}


def bars(question: Question, look: Look | None, answers: Sequence[Any]) -> list[Bar]:
    """A histogram: most frequent answers first, numbers in ascending order. A drawn row and a test have none."""
    if question.kind in ("draw", "gesture", "test") or not answers:
        return []
    if question.kind == "number":
        return _numbers(question, look, answers)
    texts = [controls.answer_text(question, look, one) for one in answers]
    known = dict(zip(texts, answers, strict=True))
    counted = Counter(texts).most_common()
    found = [_bar(question, look, known[text], text, count) for text, count in counted[:BARS]]
    if rest := sum(count for _, count in counted[BARS:]):
        found.append(Bar(f"{len(counted) - BARS} other answers", rest, None))
    return found


def _bar(question: Question, look: Look | None, answer: Any, label: str, count: int) -> Bar:
    right = question.is_right(answer, look)
    return Bar(label, count, right, question.reason(answer, look)[0] if right is False and look is not None else "")


def _numbers(question: Question, look: Look | None, answers: Sequence[float]) -> list[Bar]:
    values = Counter(answers)
    if len(values) <= BARS:
        return [_bar(question, look, one, exact_or_in_words(one), values[one]) for one in sorted(values)]
    # Outliers must not squeeze all others into one bar: the outer bars take what lies beyond.
    low, high = np.quantile(np.asarray(answers, dtype=np.float64), (0.05, 0.95))
    edges = np.linspace(low, high, 9)
    places = np.clip(np.digitize(answers, edges) - 1, 0, len(edges) - 2)
    truth = question.truth(look).value
    at = int(np.clip(np.digitize(truth, edges) - 1, 0, len(edges) - 2))
    return [
        Bar(f"{in_words(edges[k])} to {in_words(edges[k + 1])}", int(np.sum(places == k)), k == at)
        for k in range(len(edges) - 1)
    ]


def draw(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """The class's answers: a histogram; for rows of attention, their mean next to the model's row."""
    try:
        answers, first = session.answers(now.code, asked.id), votes.first_answers(now, asked)
    except RoomError as error:
        say_error(error, st.warning, icon=None)
        return
    st.caption(f"{len(answers)} {'answer' if len(answers) == 1 else 'answers'} of the class")
    given = vote(asked.id, answers, question, look)
    if (mean := given.mean) is not None:
        model = question.truth(look).value if asked.revealed else None
        st.caption("The class's mean row" + (", and the model's next to it." if asked.revealed else "."))
        row_sketch(
            look.names,
            key=f"room:{asked.id}:mean:{asked.revealed}",
            question=question.ask,
            drawn=mean,
            truth=model or mean,
        )
    if first:
        _both(vote(asked.before, first, question, look), given, show_right=asked.revealed)
    elif given.bars:
        st.html(table(given.bars, show_right=asked.revealed))


def _both(*found: Vote, show_right: bool) -> None:
    """Both votes next to each other, and the share that moved."""
    for column, title, one in zip(st.columns(2), VOTES, found, strict=True):
        with column:
            right = one.right if show_right else None
            st.caption(f"{title}: {len(one.given)}" + ("" if right is None else f", {right:.0%} right"))
            if one.bars:
                st.html(table(one.bars, show_right=show_right))
    if (share := votes.moved(*(one.given for one in found))) is not None:
        st.caption(f"{share:.0%} of those who voted twice changed their answer.")


def vote(asked: str, answers: Mapping[str, str], question: Question, look: Look | None) -> Vote:
    """One vote, computed once for all sessions of a class. asked: the question's id."""
    ordered = tuple(sorted(answers.items()))

    def make() -> Vote:
        given = read(question, look, dict(ordered))
        values = [*given.values()]
        mean = np.mean(values, axis=0).tolist() if question.kind == "draw" and values else None
        return Vote(given, bars(question, look, values), mean, votes.share_right(question, look, given))

    return cache.computed(("vote", asked, ordered), make)


def table(found: Sequence[Bar], *, show_right: bool) -> str:
    """The bars as an HTML table; every text is escaped."""
    largest = max(bar.count for bar in found)
    lines = [
        Line(
            bar.label,
            str(bar.count),
            bar.count / largest,
            show_right and bool(bar.right),
            bar.reason if show_right else "",
        )
        for bar in found
    ]
    return bars_table(lines, "Answers of the class: number of students")


def rows(
    question: Question,
    look: Look | None,
    answers: Mapping[str, str],
    members: Mapping[str, Member],
    vote: int,
    *,
    late: bool = False,
) -> Iterator[dict[str, Any]]:
    """One row for each answer: who, the answer, whether it is right, which vote it is of, a known reason, late or not.

    who: a nickname, or the number of a member in the order of joining, the same for all questions.
    """
    numbers = {member: number for number, member in enumerate([*members, *(answers.keys() - members.keys())], 1)}
    for member, value in read(question, look, answers).items():
        known = members.get(member)
        who = known.nickname if known and known.nickname else str(numbers[member])
        text = json.dumps(value) if question.kind == "draw" else controls.answer_text(question, look, value)
        bar = _bar(question, look, value, text, 1)
        yield {
            "question": _writable(question.ask),
            "who": _writable(who),
            "answer": _writable(text),
            "right": "" if bar.right is None else int(bar.right),
            "vote": vote,
            "reason": _writable(bar.reason),
            "late": int(late),
        }


def _writable(text: str) -> str:
    """A text that UTF-8 can write: somebody may send half of a character."""
    return text.encode("utf-8", "replace").decode()
