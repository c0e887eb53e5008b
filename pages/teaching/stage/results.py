"""The answers of a class: counted, drawn, and as a table."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_in_words
from pages.core.stores import cache
from pages.core.words.markdown import say_error
from pages.teaching.questions import Look, Question, controls
from pages.teaching.questions.gestures import GestureQuestion
from pages.teaching.questions.open_kinds import ChoiceQuestion
from pages.teaching.questions.question import Choosing
from pages.teaching.rooms import Asked, Member, Room, RoomError
from pages.teaching.rooms.room import wall_mark
from pages.teaching.stage import exhibit, votes
from pages.teaching.stage.bars import Line
from pages.teaching.stage.bars import table as bars_table

#: Bars of a histogram; further answers are one bar together. Ranges of many different numbers.
BARS, RANGES = 12, 8
#: Decimals of the weights of a right row.
DECIMALS = 3
#: Titles of both votes.
VOTES = ("First vote", "After the discussion")
#: What the bars of a class count.
HEADING = "Answers of the class: number of students"
#: Of the table of all answers.
COLUMNS = ("question", "who", "answer", "right", "vote", "reason", "late", "lesson", "step", "right_answer", "time")


@dataclass(frozen=True)
class Bar:
    """One bar: answers that say the same. right: None where nothing is computed; reason: why it is wrong."""

    label: str
    count: int
    right: bool | None
    reason: str = ""
    #: How many said so in the first vote; None without one.
    first: int | None = None
    #: By which a teacher calls the option, or "".
    letter: str = ""


@dataclass(frozen=True)
class Vote:
    """What a class answered: by member, as bars, the mean of what was drawn, and the share of right answers."""

    given: Mapping[str, Any]
    bars: Sequence[Bar]
    mean: list[Any] | None
    right: float | None
    #: The vote before the discussion; None without one.
    first: Vote | None = None


def read(question: Question, look: Look | None, answers: Mapping[str, str]) -> dict[str, Any]:
    """The answers by member, in their own type; those that do not fit the question are left out."""
    found = {}
    for text in set(answers.values()):  # a hundred students give a few different answers
        try:
            found[text] = question.read(json.loads(text), look)
        except (EncoderError, ValueError):
            continue
    return {member: found[text] for member, text in answers.items() if text in found}


def bars(
    question: Question, look: Look | None, answers: Sequence[Any], first: Sequence[Any] | None = None
) -> list[Bar]:
    """A histogram: most frequent answers first, numbers in ascending order; of what is drawn by hand, scores.

    A drawn row and a test have none.

    first: the answers of the first vote, counted in the same bars.
    """
    both = [*(first or ()), *answers]
    if question.kind in ("draw", "test") or not both:
        return []
    found, places = (_of_numbers if question.kind == "number" else _of_texts)(question, look, both)
    before = len(both) - len(answers)
    then, now = Counter(places[:before]), Counter(places[before:])
    return [
        replace(bar, count=now[place], first=None if first is None else then[place]) for place, bar in enumerate(found)
    ]


def _bar(question: Question, look: Look | None, answer: Any, label: str) -> Bar:
    right = question.is_right(answer, look)
    reason = question.reason(answer, look).said if right is False and look is not None else ""
    named = controls.letters(question, look)
    return Bar(label, 1, right, reason, letter=named[answer] if named else "")


def _of_texts(question: Question, look: Look | None, answers: Sequence[Any]) -> tuple[list[Bar], list[int]]:
    """The bars, still without counts, and the place of each answer's bar."""
    texts = [controls.answer_text(question, look, one) for one in answers]
    known = dict(zip(texts, answers, strict=True))
    ranked = [text for text, _ in Counter(texts).most_common()]
    if isinstance(question, Choosing) and question.kind != "token":  # options keep their order on every screen
        ranked = [one for one in dict.fromkeys(question.choices(look).values()) if one in known]  # type: ignore[arg-type]
    found = [_bar(question, look, known[text], text) for text in ranked[:BARS]]
    if (rest := len(ranked) - BARS) > 0:
        found.append(Bar(f"{rest} other answers", 0, None))
    place = {text: min(at, BARS) for at, text in enumerate(ranked)}
    return found, [place[text] for text in texts]


def _of_numbers(question: Question, look: Look | None, answers: Sequence[float]) -> tuple[list[Bar], list[int]]:
    """The bars in ascending order, still without counts, and the place of each answer's bar."""
    known = {one: _bar(question, look, one, exact_or_in_words(one)) for one in sorted(set(answers))}
    groups = _grouped(known, lambda one: known[one])  # those that are shown alike are one
    if len(groups) > BARS:
        groups = _ranges(known)
    place = {one: at for at, group in enumerate(groups) for one in group}
    found = [replace(known[group[0]], label=_span(group), count=0) for group in groups]
    return found, [place[one] for one in answers]


def _grouped(values: Iterable[float], key: Callable[[float], object]) -> list[list[float]]:
    groups: dict[object, list[float]] = {}
    for one in values:
        groups.setdefault(key(one), []).append(one)
    return sorted(groups.values())


def _ranges(known: Mapping[float, Bar]) -> list[list[float]]:
    """Many different numbers as a few groups: what is right, each known mistake, and ranges of others on both sides."""
    values = [*known]
    # Outliers must not squeeze all others into one bar.
    edges = np.linspace(*np.quantile(values, (0.05, 0.95)), RANGES - 1)
    right = [one for one in values if known[one].right] or values[-1:]

    def key(one: float) -> object:
        bar = known[one]
        return bar.right or bar.reason or (one < right[0], int(np.digitize(one, edges)))

    return _grouped(values, key)


def _span(group: Sequence[float]) -> str:
    """The smallest and the largest number of a group."""
    return " to ".join(dict.fromkeys(exact_or_in_words(one) for one in (group[0], group[-1])))


def fewer(found: Sequence[Bar], most: int) -> list[Bar]:
    """At most so many bars, in their order: right, known mistakes, the most frequent; the others are one bar."""
    if len(found) <= most:
        return list(found)
    ranked = sorted(found, key=lambda bar: (not bar.right, not bar.reason, -bar.count))
    kept = [bar for bar in found if bar in ranked[: most - 1]]
    rest = [bar for bar in found if bar not in kept]
    first = None if rest[0].first is None else sum(bar.first or 0 for bar in rest)
    return [*kept, Bar("other answers", sum(bar.count for bar in rest), None, first=first)]


def draw(
    now: Room, asked: Asked, question: Question, look: Look | None, *, teaches: bool = False, told: str = ""
) -> None:
    """The class's answers: a histogram, after a discussion of both votes; of rows of attention, their mean.

    teaches: mark what is right before the result, too; told: the reason that the reader has read of her own answer.
    """
    revealed = asked.revealed or teaches
    try:
        given = of_room(now, asked, question, look)
    except RoomError as error:
        say_error(error, st.warning, icon=None)
        return
    st.caption(f"{counted(len(given.given))} of the class")
    if told:
        given = replace(given, bars=[replace(bar, reason="") if bar.reason == told else bar for bar in given.bars])
    if shown := of_class(question, look, given, revealed=revealed):
        st.html(shown)
    for sentence in (*of_both(given, show_right=revealed), moved(given)):
        if sentence:
            st.caption(sentence)


def counted(answers: int) -> str:
    """How many have answered."""
    return f"{answers} {'answer' if answers == 1 else 'answers'}"


def of_class(question: Question, look: Look | None, given: Vote, *, revealed: bool, most: int = BARS + 1) -> str:
    """The class's answers as HTML, for desk, phone and wall alike; "" where there are none to show.

    A drawn row: the class's mean, after the result below the model's row. most: bars at most.
    """
    if given.mean is not None and look is not None and question.kind == "draw":
        first = given.first.mean if given.first is not None else None
        return _mean(look, given.mean, first, question.truth(look).value if revealed else None)
    if question.kind == "conclusion":  # hardly two are the same
        return _listed([bar.label for bar in fewer(given.bars, most)])
    return table(fewer(given.bars, most), show_right=revealed) if given.bars else ""


def on_wall(now: Room, asked: Asked, given: Vote) -> list[Line]:
    """The typed answers that the teacher puts on the wall, in the order of her clicks, each with how many wrote it."""
    marks = {wall_mark(asked.id, member): text for member, text in given.given.items() if isinstance(text, str)}
    chosen = [marks[mark] for mark in now.hidden if mark in marks]
    counts = Counter(map(_as_said, marks.values()))
    right = {bar.label for bar in given.bars if bar.right}
    found = {_as_said(text): text for text in chosen}
    return [Line(text, str(counts[said]), 0, text in right) for said, text in found.items()]


def _as_said(text: str) -> str:
    """A sentence without what makes no other one: capitals, spaces, the mark at its end."""
    return " ".join(text.casefold().split()).rstrip(".!")


def _listed(texts: Sequence[str]) -> str:
    """Sentences of the class below each other; every text is escaped."""
    items = "".join(f"<li>{html.escape(one)}</li>" for one in texts)
    return f"<ul class='enc-texts' aria-label='Answers of the class'>{items}</ul>" if items else ""


def _mean(look: Look, mean: Sequence[float], first: Sequence[float] | None, model: Sequence[float] | None) -> str:
    """The class's mean row, below the model's and that of the first vote, with the tokens that are strongest in any."""
    named = {"Model": model, VOTES[0]: first, "Class" if first is None else VOTES[1]: mean}
    rows = {name: row for name, row in named.items() if row is not None}
    strength = [max(column) for column in zip(*rows.values(), strict=True)]
    largest = max(*strength, 1e-9)
    places = sorted(sorted(range(len(mean)), key=lambda place: -strength[place])[: exhibit.MOST])
    lines = []
    for place in places:
        *before, own = [(exhibit.weight(row[place]), row[place] / largest) for row in rows.values()]
        lines.append(Line(look.names[place], *own, before=tuple(before)))
    caption = "The class's mean row" + (" below the model's row" if model is not None else "")
    return bars_table(lines, caption, tuple(rows) if len(rows) > 1 else ())


def of_both(given: Vote, *, show_right: bool = True) -> list[str]:
    """How many voted each time, and the shares of right answers, in words; empty without a first vote."""
    if given.first is None:
        return []
    return [
        f"{title}: {len(one.given)}" + ("" if one.right is None or not show_right else f", {one.right:.0%} right")
        for title, one in zip(VOTES, (given.first, given), strict=True)
    ]


def moved(given: Vote) -> str:
    """The share of students whose answer moved, as a sentence; "" where nobody voted twice."""
    share = None if given.first is None else votes.moved(given.first.given, given.given)
    return "" if share is None else f"{share:.0%} of those who voted twice changed their answer."


def of_room(now: Room, asked: Asked, question: Question, look: Look | None) -> Vote:
    """The vote of the class as its screens may show it. Raises RoomError."""
    return vote(asked.id, votes.answers(now, asked.id), question, look, votes.first_answers(now, asked))


def vote(
    asked: str,
    answers: Mapping[str, str],
    question: Question,
    look: Look | None,
    first: Mapping[str, str] | None = None,
) -> Vote:
    """One vote, computed once for all sessions of a class. asked: the question's id; first: see `Vote`, as JSON."""
    ordered, before = tuple(sorted(answers.items())), tuple(sorted((first or {}).items()))

    def make() -> Vote:
        given = read(question, look, dict(ordered))
        values = [*given.values()]
        mean = np.mean(values, axis=0).tolist() if values and controls.is_drawn(question, look) else None
        earlier = vote(f"{asked} first", first, question, look) if first else None
        found = bars(question, look, values, None if earlier is None else [*earlier.given.values()])
        return Vote(given, found, mean, votes.share_right(question, look, given), earlier)

    return cache.computed(("vote", asked, ordered, before), make)


def lines(found: Sequence[Bar], *, show_right: bool) -> list[Line]:
    """The bars as lines. show_right: mark what is right, and say why others are wrong."""
    largest = max((count for bar in found for count in (bar.count, bar.first or 0)), default=0) or 1
    return [
        Line(
            bar.label,
            str(bar.count),
            bar.count / largest,
            show_right and bool(bar.right),
            bar.reason if show_right else "",
            () if bar.first is None else ((str(bar.first), bar.first / largest),),
            bar.letter,
        )
        for bar in found
    ]


def table(found: Sequence[Bar], *, show_right: bool) -> str:
    """The bars as an HTML table; every text is escaped."""
    heads = () if found[0].first is None else VOTES
    return bars_table(lines(found, show_right=show_right), HEADING, heads)


def authors(members: Mapping[str, Member], answers: Iterable[str] = ()) -> dict[str, str]:
    """Member -> nickname, or the number in the order of joining. answers: by whom, who may have left."""
    known = [*members, *sorted(set(answers) - members.keys())]
    return {
        one: (members[one].nickname if one in members else "") or str(number) for number, one in enumerate(known, 1)
    }


def rows(
    question: Question,
    look: Look | None,
    answers: Mapping[str, str],
    members: Mapping[str, Member],
    vote: int,
    times: Mapping[str, float],
    *,
    late: bool = False,
    step: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """One row for each answer: who, the answer, whether it is right, which vote it is of, a known reason, late or not.

    look: None also where the view of the question does not open. times: when each came; of an answer that was changed,
    the last time. step: the lesson and the step that the question is of, None if a teacher wrote it.
    who: a nickname, or the number of a member in the order of joining, the same for all questions.
    """
    names = authors(members, answers)
    lesson, number = step or ("", "")
    right_answer = _right_answer(question, look)
    given = {} if look is None and question.kind != "choice" else read(question, look, answers)
    for member, text in answers.items():
        who, bar, answer = names[member], Bar("", 1, None), _writable(text)
        if member in given:  # else the table has what the browser sent: nothing is left out
            answer = _cell(question, look, given[member])
            bar = _bar(question, look, given[member], "")
        yield {
            "question": _writable(question.ask),
            "who": _writable(who),
            "answer": answer,
            "right": "" if bar.right is None else int(bar.right),
            "vote": vote,
            "reason": _writable(bar.reason),
            "late": int(late),
            "lesson": lesson,
            "step": number,
            "right_answer": right_answer,
            "time": _utc(times[member]) if member in times else "",
        }


def _cell(question: Question, look: Look | None, value: Any) -> str | float:
    """An answer in the table: words; a number, which no spreadsheet takes for a formula; a drawing as JSON."""
    if question.kind == "number" and not isinstance(value, str):
        return _number(f"{value:.15g}")
    written = json.dumps(value) if controls.is_drawn(question, look) else controls.answer_text(question, look, value)
    return _writable(written)


def _number(written: str) -> float:
    """A number that is written as programs write it: a whole one without a decimal point."""
    value = float(written)
    return int(value) if value.is_integer() else value


def _utc(seconds: float) -> str:
    """A time in seconds since 1970 as ISO 8601 in UTC, such as 2026-11-30T09:41:47Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _right_answer(question: Question, look: Look | None) -> str | float:
    """What is right, in the digits that the class has seen; "" where nothing is computed."""
    if isinstance(question, ChoiceQuestion):  # the teacher's mark needs no view
        return "" if question.right is None else _writable(question.options[question.right])
    if look is None or question.kind == "test":
        return ""
    try:
        truth = question.truth(look)
    except EncoderError:
        return ""
    if truth.value is None:
        return ""
    if question.kind == "number":
        shown = exact_or_in_words(truth.value).replace("−", "-").replace(",", "")
        return shown if shown.startswith((">", "less")) else _number(shown)
    if question.kind == "draw":
        return json.dumps([round(one, DECIMALS) for one in truth.value])
    if isinstance(question, GestureQuestion):
        return _writable(question.in_table(look))
    return _writable(controls.right_answer(question, look, truth))


def _writable(text: str) -> str:
    """A text that UTF-8 can write: somebody may send half of a character."""
    return text.encode("utf-8", "replace").decode()
