"""The ballot: the question on a student's screen. It fills the window, and no page behind it tells the answer.

Who looks around by herself has the same question above her page, which is not drawn where it would tell the answer.
"""

from functools import partial

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.words.markdown import plain, say_error
from pages.core.words.symbols import in_markdown, of_markdown
from pages.teaching.questions import Look, Question, controls, read_answer
from pages.teaching.questions.question import Choosing
from pages.teaching.rooms import Asked, Room, session
from pages.teaching.rooms.room import seen_by_class
from pages.teaching.rooms.session import Seat
from pages.teaching.stage import outcome, results, votes
from pages.teaching.stage.asked import prose_of, read, sentences

#: The question whose picture this student has opened.
_PICTURE = "_room_picture"
#: The heading of a part of the picture states the number that the question is about.
_WITHOUT_HEADING = "<style>.stMain .enc-model-opened header h2 { display: none !important; }</style>"
#: Pages that tell the answer to no question.
WITHOUT_NUMBERS = ("classroom", "glossary", "lessons")
#: Characters of question and options above which the type is smaller, and the rows are lower.
LONG = 300


def draw(own: Seat, now: Room, page: str) -> bool:
    """Draw the room's question; returns whether the page is drawn below it. page: the open one."""
    asked = now.question
    if asked is None:
        return True
    if not own.follows:
        with st.container(border=True, key="room-question"):
            _question(own, now, asked)
            is_closed = asked.withholds and page not in WITHOUT_NUMBERS
            if is_closed:
                st.caption("This page opens again after the result.")
        return not is_closed
    if st.session_state.get(_PICTURE) == asked.id and _may_look(asked):
        button("Back to the question", "arrow_back", f"room:{asked.id}:back", partial(_look, ""))
        if not asked.revealed:
            st.html(_WITHOUT_HEADING)
        return True
    with st.container(key=f"ballot-{'long' if _is_long(asked) else 'short'}"):
        _question(own, now, asked)
        if _may_look(asked):
            button("Open the picture", "open_in_full", f"room:{asked.id}:look", partial(_look, asked.id))
    return False


def _may_look(asked: Asked) -> bool:
    """Whether the picture may be seen: a question that is read off it, and any question after its result."""
    return bool(asked.view) and not asked.withholds


def _look(question: str) -> None:
    st.session_state[_PICTURE] = question


def _is_long(asked: Asked) -> bool:
    try:
        question, look = read(asked)
        texts = question.choices(look).values() if isinstance(question, Choosing) else ()  # type: ignore[arg-type]
    except EncoderError:
        return False
    return len(question.ask) + sum(map(len, texts)) > LONG


def _question(own: Seat, now: Room, asked: Asked) -> None:
    try:
        question, look = read(asked)
        given = _given(own, now, asked)
        if asked.revealed:
            _revealed(own, now, asked, question, look, given)
        elif given is None:
            _ask(own, now, asked, question, look)
        else:
            _may_change(asked, question, look, given)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")


def _given(own: Seat, now: Room, asked: Asked) -> str | None:
    kept = session.given()
    # After a reload the answer is in the room; after the result, also one of another tab, or that she would change.
    if asked.id not in kept or (asked.revealed and kept[asked.id] is None):
        kept[asked.id] = session.answers(now.code, asked.id).get(own.member)
    return kept[asked.id]


def _ask(own: Seat, now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    if asked.before:
        votes.invite(now, asked, own.member)
        if (first := session.given().get(asked.before)) is not None:
            st.markdown(_said(question, look, first))
    _about(asked, question, look)
    if prose := prose_of(asked):
        with st.expander("Read first", icon=":material/article:"):
            st.markdown(of_markdown(prose))
    give = partial(session.answer, asked.id)
    controls.ask(question, look, f"room:{asked.id}", give, in_class=True, draft=session.draft(asked))


def _about(asked: Asked, question: Question, look: Look | None) -> None:
    for words in sentences(asked, question, look):
        st.caption(" ".join(f"**{plain(word)}**" if is_new else plain(word) for word, is_new in words))


def _revealed(own: Seat, now: Room, asked: Asked, question: Question, look: Look | None, given: str | None) -> None:
    """What is right, the part of the picture that the question is about, the class's answers, then the reason."""
    st.markdown(f"**{in_markdown(question.ask)}**")
    _about(asked, question, look)
    if draft := session.draft(asked):
        st.markdown(f"You wrote this, but did not send it: **{plain(draft)}**")
    of_class = partial(results.draw, now, asked, question, look, told=_told(question, look, given))
    if given is not None and seen_by_class(now, asked.id, {own.member: given}):
        outcome.draw(question, look, read_answer(question, given, look), f"room:{asked.id}:result", of_class)
    else:
        note = "You sent no answer." if given is None else ""  # the teacher hides one
        outcome.truth(question, look, of_class, note=note)


def _told(question: Question, look: Look | None, given: str | None) -> str:
    """Why the student's answer is wrong, which stands with it."""
    if given is None or look is None:
        return ""
    try:
        answer = read_answer(question, given, look)
        return question.reason(answer, look).said if question.is_right(answer, look) is False else ""
    except EncoderError:
        return ""


def _may_change(asked: Asked, question: Question, look: Look | None, given: str) -> None:
    st.markdown(f"**{in_markdown(question.ask)}**")
    _about(asked, question, look)
    if asked.id in session.waiting():
        st.markdown("Your answer waits on this page. It is sent as soon as the room store answers.")
    else:
        then = "Nobody sees who answered what." if question.kind == "test" else "The teacher shows the result."
        st.markdown(f"Your answer is sent. {_said(question, look, given)}{then}")
    forget = session.given().update
    button("Change my answer", "edit", f"room:{asked.id}:again", partial(forget, {asked.id: None}))


def _said(question: Question, look: Look | None, given: str) -> str:
    """What a student answered, in words; a drawing, a test, and what the question does not accept have none."""
    if question.kind == "test" or controls.is_drawn(question, look):
        return ""
    try:
        answer = read_answer(question, given, look)
    except EncoderError:
        return ""
    return f"You said: **{plain(controls.answer_text(question, look, answer).rstrip('.'))}**. "
