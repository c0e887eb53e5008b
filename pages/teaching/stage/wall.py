"""The wall: the room on a projector. Code and QR code first, then each question with live bars, and what is true.

It is a screen of its own (`wall=1` in the address of the room), so nothing of the teacher's tools is on it. Every
letter has at least a thirtieth of the window's height: sent/wall.css gives all sizes in parts of it.
"""

import html
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from encoder.errors import EncoderError
from pages.components.gesture import gesture
from pages.components.rooms import room_refresh
from pages.core.words.markdown import say_error
from pages.core.words.symbols import in_html
from pages.state import links
from pages.teaching.lessons import lesson, on_stage, progress
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, controls
from pages.teaching.questions.gestures import GestureQuestion
from pages.teaching.questions.kinds import NumberQuestion, OrderQuestion, TokenQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion
from pages.teaching.questions.question import Choosing, Truth
from pages.teaching.rooms import Asked, Room, RoomError, session
from pages.teaching.rooms.room import BARS, spaced
from pages.teaching.stage import exhibit, head_map, invite, outcome, results, votes
from pages.teaching.stage.asked import had_result, prose_of, read, sentences
from pages.teaching.stage.bars import Line, drawn, lettered

#: Characters of question and options above which the type is smaller.
LONG = 330
#: Characters of a step's text for which there is room besides.
PROSE = 250
#: Options that are single words stand next to each other.
SHORT_OPTION = 14
#: Lines of an exhibit below which the answer has a line of its own.
MOST_LINES = 8
#: Lines of the class's answers below the model's, and as few as they get for the reasons of wrong ones.
MOST_BELOW, FEWEST = 6, 3
#: Letters of a reason in a line.
REASON = 45
#: Letters of a typed answer in a line, and lines of typed answers below a short question.
TYPED_LINE, MOST_TYPED = 75, 9
#: Letters of all typed answers up to which their type is larger.
FEW_TYPED = 200
#: Orders of the class: each may be as long as the wall is wide.
MOST_ORDERS = 4
#: Kinds whose answers are shown next to what is right; options have theirs on them.
OF_CLASS = ("number", "head", "token")
#: Room for what is done by hand, which is drawn over it.
HANDS = "<div class='enc-wall-hands'></div>"
#: What a class does where it chooses nothing.
DOES = {
    "number": "Enter your number.",
    "head": "Enter a layer and a head.",
    "order": "Put them in order.",
    "draw": "Draw the row.",
    "gesture": "Do it on your screen.",
    "sentence": "Write it on your screen.",
    "conclusion": "Write one or two sentences.",
    "test": "Answer all questions on your screen.",
}


def draw(now: Room) -> bool:
    """Draw what the class sees now; returns whether the page is drawn below it, as the stage of a step."""
    if now.question is not None:
        _question(now.question.id)
        return False
    if not now.view:
        st.html(f"<section class='enc-wall enc-wall-door'>{invite.picture(now)}</section>")
        return False
    opened = progress.current()
    if opened is not None and not opened.step.view:
        _without_page(now, opened)
        return False
    if opened is None:
        st.html(on_stage.style())
    page = now.view.get("page", "")
    is_step = opened is not None and opened.step.view.get("page", page) == page
    title = opened.step.title if opened and is_step else links.title(page)  # the teacher may open another page
    prose = opened.step.prose if opened and is_step and on_stage.has_text(opened.step) else ""
    told = f"<div class='enc-wall-prose'>{lesson.in_html(prose)}</div>" if prose else ""
    st.html(f"<header class='enc-wall-step'>{in_html(title)}{_code(now)}</header>{told}")
    return True


def _without_page(now: Room, opened: progress.Open) -> None:
    """A step without a page: its text, and after the result what is right of its task."""
    step, question = opened.step, opened.step.question
    is_over = isinstance(question, GestureQuestion) and had_result(now, question)
    st.html(
        f"<section class='enc-wall' aria-label='Step'><h1>{in_html(step.title)}</h1>"
        f"<div class='enc-wall-prose'>{lesson.in_html(step.prose)}</div>{HANDS}"
        f"<footer><b></b>{_code(now)}</footer></section>"
    )
    if is_over:
        with st.container(key="wall-gesture"):
            outcome.by_hand(question, look_of(step.view), f"wall:{step.title}:closed", None)


@st.fragment
def _question(asked_id: str) -> None:
    """The open question; drawn again when an answer arrives."""
    now = session.room()
    if now is None or now.question is None or now.question.id != asked_id:
        return
    room_refresh(session.activity(now.code), key="wall:refresh")
    asked = now.question
    try:
        question, look = read(asked)
        answers, first = votes.answers(now, asked.id), votes.first_answers(now, asked)
        here = sum(one.is_present(time.time()) for one in session.members(now.code).values())
    except RoomError:
        return  # the line says that the store is away
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")
        return
    vote = results.vote(asked.id, answers, question, look, first)
    options = {"first": first, "hides_bars": BARS in now.hidden, "prose": prose_of(asked)}
    chosen = results.on_wall(now, asked, vote)
    st.html(face(asked, question, look, answers, here, _code(now), chosen=chosen, **options))
    if isinstance(question, GestureQuestion) and look is not None:
        _by_hand(asked, question, look, vote.mean)


def _by_hand(asked: Asked, question: GestureQuestion, look: Look, mean: Any) -> None:
    """What the class does by hand, between question and reason; after the result, what is right, and its mean."""
    with st.container(key="wall-gesture"):
        if asked.revealed:
            outcome.by_hand(question, look, f"wall:{asked.id}:result", mean)
        else:
            gesture(question.task(look).header, key=f"wall:{asked.id}")


def face(
    asked: Asked,
    question: Question,
    look: Look | None,
    answers: Mapping[str, str],
    here: int,
    code: str = "",
    *,
    first: Mapping[str, str] | None = None,
    hides_bars: bool = False,
    prose: str = "",
    chosen: Sequence[Line] = (),
) -> str:
    """A question as the wall shows it. answers: JSON by member; here: members who are present; code: HTML.

    first: the answers of the first vote; hides_bars: show how many have answered, and not what, until the result;
    prose: what the step says before it asks, as Markdown; chosen: typed answers that the teacher puts on the wall.
    """
    typed = _typed(question, chosen) if asked.revealed else ""
    vote = results.vote(asked.id, answers, question, look, first)
    value = ""
    if asked.revealed and isinstance(question, ConclusionQuestion) and question.model:
        shown = "" if look is None else exhibit.picture(question, look, asked.view)
        said = f"<small>A model answer</small><br>{in_html(question.model)}"
        inner = f"<p class='enc-wall-true'>{said}</p>{typed or _exhibit(shown)}"
    elif asked.revealed and look is not None and (truth := question.truth(look)).value is not None:
        inner = _revealed(question, look, truth, vote, typed)
        if isinstance(question, NumberQuestion) and exhibit.row(question, look, truth):
            value = f" <em>{exhibit.answer(question, look, truth)}</em>"  # a row fills the wall
    elif asked.revealed and not isinstance(question, Choosing):
        inner = typed or "<p class='enc-wall-true'>Compare your answers.</p><div class='enc-wall-exhibit'></div>"
    else:
        inner = _open(question, look, None if hides_bars and not asked.revealed else vote)
    inner = _about(asked, question, look) + inner
    return (
        f"<section class='enc-wall{_size(question, look)}' aria-label='Question'>"
        f"{_before(asked, question, look, prose)}<h1>{in_html(question.ask)}{value}</h1>"
        f"{inner if typed else _beside_map(asked, question, look, inner)}{_both_votes(asked, vote)}"
        f"<footer><b>{_count(asked, vote, len(answers), here)}</b>{code}</footer></section>"
    )


def _beside_map(asked: Asked, question: Question, look: Look | None, result: str) -> str:
    """A result next to the map of the head that it is about; where it is about none, the result."""
    shown = ""
    if asked.revealed and look is not None:
        shown = head_map.html(question, look, asked.view, question.truth(look).answers)
    return f"<div class='enc-wall-beside'><div>{result}</div>{shown}</div>" if shown else result


def _before(asked: Asked, question: Question, look: Look | None, prose: str) -> str:
    """What the step says before it asks, where the wall has room for it."""
    has_room = _characters(question, look) + len(prose) <= LONG + PROSE and question.kind not in ("draw", "gesture")
    if not prose or asked.revealed or asked.before or not has_room:
        return ""
    return f"<div class='enc-wall-prose'>{lesson.in_html(prose)}</div>"


def _count(asked: Asked, vote: results.Vote, answers: int, here: int) -> str:
    """How many have answered; after the result, how many are right, or have moved."""
    if not asked.revealed:
        return f"{answers} of {max(here, answers)} answered"
    right = "" if vote.right is None else f"{round(vote.right * len(vote.given))} of {len(vote.given)} right"
    return results.moved(vote) or right or results.counted(answers)


def _about(asked: Asked, question: Question, look: Look | None) -> str:
    """The sentences, each in a line; what is changed in the second one is marked."""
    lines = [
        " ".join(f"<b>{html.escape(word)}</b>" if is_new else html.escape(word) for word, is_new in words)
        for words in sentences(asked, question, look)
    ]
    return f"<p class='enc-wall-about'>{'<br>'.join(lines)}</p>" if lines else ""


def _both_votes(asked: Asked, vote: results.Vote) -> str:
    """While the class discusses, what about; after the result, both votes."""
    if asked.revealed:
        said = " · ".join(results.of_both(vote))
    else:
        said = f"Discuss with your partner: {votes.WHY}" if asked.before else ""
    return f"<p class='enc-wall-votes'>{html.escape(said)}</p>" if said else ""


def _open(question: Question, look: Look | None, vote: results.Vote | None) -> str:
    """All options with a bar for each, which grows with the answers; without options, what to do and the answers.

    vote: None to hide it.
    """
    lines = options(question, look, None if vote is None else vote.bars)
    if question.kind == "gesture":
        return f"<p class='enc-wall-task'>{DOES['gesture']}</p>{HANDS}"
    if not lines:
        said = f"<p class='enc-wall-does'>{DOES.get(question.kind, '')}</p>"
        said += _listed(_counted(question, vote.bars if vote else ()))
    else:
        short = all(len(line.label) <= SHORT_OPTION for line in lines)
        said = _listed(lines, " enc-wall-short" if short and len(lines) > 4 else "")
    if vote is not None and question.kind in ("order", "draw"):  # their answers differ from the items
        said += (
            _exhibit(shown)
            if (shown := results.of_class(question, look, vote, revealed=False, most=MOST_ORDERS))
            else ""
        )
    return said


def _exhibit(bars: str, below: str = "") -> str:
    """What answers rest on. below: orders are as long as the wall is wide, so they have lines of their own."""
    return f"<div class='enc-wall-exhibit{' enc-wall-stack' if below else ''}'>{bars}{below}</div>"


def _listed(lines: Sequence[Line], names: str = "") -> str:
    items = "".join(f"<li{' data-right' if line.right else ''}>{_bar(line)}</li>" for line in lines)
    heading = f"<p class='enc-wall-heading'>{results.HEADING}</p>" if any(line.said for line in lines) else ""
    return f"{heading}<ol class='enc-wall-options{names}'>{items}</ol>"


def _typed(question: Question, chosen: Sequence[Line]) -> str:
    """The newest of the chosen answers that have room below the question and what is right."""
    model = question.model if isinstance(question, ConclusionQuestion) else question.why
    room = MOST_TYPED - len(question.ask) // TYPED_LINE - len(model) // TYPED_LINE
    shown: list[Line] = []
    for line in reversed(chosen):
        room -= 1 + len(line.label) // TYPED_LINE
        if shown and room < 0:
            break
        shown.insert(0, line)
    names = " enc-wall-typed" + (" enc-wall-few" if sum(len(line.label) for line in shown) <= FEW_TYPED else "")
    return _listed(shown, names) if shown else ""


def _revealed(question: Question, look: Look, truth: Truth, vote: results.Vote, typed: str = "") -> str:
    """The right number or option in the middle, with the row or the numbers that it rests on, and why.

    Options stay with the answers of the class: what many chose is what the class talks about. typed: in place of what
    the answer rests on.
    """
    answer, bars = exhibit.answer(question, look, truth), exhibit.html(question, look, truth)
    is_marked = bars.count("<tr") > MOST_LINES or question.kind == "draw"  # then question and row have the right number
    below = ""
    most = {"head": MOST_BELOW, "order": MOST_ORDERS}.get(question.kind, MOST_LINES)
    most = max(FEWEST, most - _lines_of_reasons(vote))
    if question.kind in OF_CLASS and vote.bars:  # next to what is right
        bars += results.of_class(question, look, vote, revealed=True, most=most)
    elif question.kind == "order":
        below = results.of_class(question, look, vote, revealed=True, most=most)
    elif vote.mean is not None:  # it has the model's row, too
        bars = results.of_class(question, look, vote, revealed=True)
    named = f"<small>{in_html(question.title)}</small> " if isinstance(question, NumberQuestion) else ""
    large = f"<p class='enc-wall-answer'>{named}{html.escape(answer)}</p>" if answer and len(answer) <= 40 else ""
    said = large or f"<p class='enc-wall-true'>{in_html(controls.true_value(question, look, truth))}</p>"
    if isinstance(question, Choosing) and not isinstance(question, TokenQuestion):
        right = [question.choices(look)[one] for one in truth.answers]
        lines = options(question, look, vote.bars)
        reasons = {bar.label: bar.reason for bar in vote.bars}
        said = _listed([replace(line, right=line.label in right, reason=reasons.get(line.label, "")) for line in lines])
    said = "" if is_marked else said
    reason = f"{controls.tolerance(question)} {question.why}".strip()
    why = f"<p class='enc-wall-why'>{in_html(reason)}</p>" if reason else ""
    if question.kind != "gesture":
        return f"{said}{typed or _exhibit(bars, below)}{why}"
    of_class = results.of_class(question, look, vote, revealed=True, most=MOST_ORDERS) if vote.mean is None else ""
    return f"{said}{HANDS}{_exhibit('', of_class) if of_class else ''}{why}"


def _lines_of_reasons(vote: results.Vote) -> int:
    """How many lines of the class's answers their reasons need."""
    return sum(-(-len(bar.reason) // REASON) for bar in vote.bars)


def options(question: Question, look: Look | None, bars: Sequence[results.Bar] | None) -> list[Line]:
    """Each option with its count, None: without; empty for a question without options."""
    if isinstance(question, OrderQuestion) and look is not None:
        return [Line(label, "", 0) for label in question.begins_with(look)]
    if not isinstance(question, Choosing):
        return []
    texts, named = question.choices(look), controls.letters(question, look)  # type: ignore[arg-type] # a poll: no look
    if bars is None:
        return [Line(text, "", 0, letter=named.get(one, "")) for one, text in texts.items()]
    known = {bar.label: bar for bar in bars}
    nobody = results.Bar("", 0, None, first=0 if bars and bars[0].first is not None else None)
    found = [replace(known.get(text, nobody), label=text, letter=named.get(one, "")) for one, text in texts.items()]
    return results.lines(found, show_right=False)


def _counted(question: Question, bars: Sequence[results.Bar]) -> list[Line]:
    """Numbers and heads that were answered; words of students come with the result, where the teacher chooses them."""
    if question.kind not in ("number", "head"):
        return []
    return results.lines(results.fewer(bars, MOST_LINES), show_right=False)


def _bar(line: Line) -> str:
    said = f"{line.before[0][0]} → {line.said}" if line.before else line.said
    number = f"<b>{html.escape(said)}</b>" if said else ""
    label = lettered(line) + (" ✓" if line.right else "")
    reason = f"<p class='enc-wall-reason'>{in_html(line.reason)}</p>" if line.reason else ""
    return f"<span>{label}</span>{number}{reason}{drawn(line)}"


def _size(question: Question, look: Look | None) -> str:
    is_long = _characters(question, look) > LONG and not isinstance(question, ConclusionQuestion)
    return " enc-wall-long" if is_long else ""


def _characters(question: Question, look: Look | None) -> int:
    texts = [] if not isinstance(question, Choosing) else question.choices(look).values()  # type: ignore[arg-type]
    return len(question.ask) + sum(map(len, texts))


def _code(now: Room) -> str:
    return f"<small class='enc-wall-code'>{html.escape(invite.address())} · <b>{spaced(now.code)}</b></small>"
