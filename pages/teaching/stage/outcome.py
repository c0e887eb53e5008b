"""What follows an answer: whether it is right, what is true with the numbers behind it, and why."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from encoder import EncoderError
from encoder.figures.numbers import exact_or_in_words
from pages.components.gesture import gesture
from pages.components.row_sketch import row_sketch
from pages.core.words import plain, say_error
from pages.core.words.symbols import in_markdown
from pages.teaching.questions import Look, Question, Truth, controls, gestures, open_kinds
from pages.teaching.questions.question import Grade
from pages.teaching.stage import exhibit


def _nothing() -> None:
    """Draws nothing."""


def draw(question: Question, look: Look, given: Any, key: str, before_why: Callable[[], None] = _nothing) -> None:
    """Draw it below the question. given: the answer as JSON has it; key: of this place on the page.

    before_why: draws what comes between the numbers and the reason.
    """
    try:
        answer = question.read(given, look)
        grade, truth = question.grade(answer, look), question.truth(look)
    except EncoderError as error:  # the answer names a token that the sentence does not have
        say_error(error, st.warning, icon=":material/help:")
        before_why()
        return
    if truth.value is None:
        st.info(f"You said: {plain(controls.answer_text(question, look, answer))}", icon=":material/chat_bubble:")
        if isinstance(question, open_kinds.ConclusionQuestion):
            compare(question, answer)
        before_why()
        return
    if grade.right:
        st.success(f"Right. {in_markdown(controls.true_value(question, look, truth))}", icon=":material/check_circle:")
    else:
        yours = plain(controls.answer_text(question, look, answer).rstrip("."))
        said = "" if controls.is_drawn(question, look) else f" You said: {yours}."
        true = in_markdown(controls.true_value(question, look, truth))
        reason = in_markdown(question.reason(answer, look).said)
        st.warning(" ".join(filter(None, (f"Not quite.{said}", reason, true))), icon=":material/cancel:")
    if isinstance(question, gestures.GestureQuestion):
        st.caption(f"Points: {gestures.points(grade.score)} of 100")
        gesture(question.task(look).header, key=key, given=answer, truth=truth.value)
        before_why()
        _why(question, truth)
        return
    if isinstance(question, open_kinds.DrawQuestion):
        st.caption(overlap(question, grade))
        row_sketch(look.names, key=key, question=question.ask, drawn=answer, truth=truth.value)
        before_why()
        _why(question, truth)
        return
    if own := controls.own_number(question, grade):
        st.caption("  \n".join(f"{plain(name)}: {exact_or_in_words(value)}" for name, value in own.items()))
    _behind(question, look, truth, before_why)


def overlap(question: open_kinds.DrawQuestion, grade: Grade) -> str:
    """How much of a drawn row is in the model's, in a sentence: 1 minus the total variation distance."""
    enough = round(100 * (1 - question.within))
    return f"Overlap with the model’s row: {int(100 * grade.score + 1e-6)}%. From {enough}% it counts as right."


def truth(
    question: Question,
    look: Look | None,
    before_why: Callable[[], None] = _nothing,
    *,
    note: str = "",
    mean: Any = None,
) -> None:
    """What the model computes, and why, for somebody who has not answered: without a sign that says right or wrong.

    before_why: see `draw`; note: a sentence before it; mean: of what the class has drawn by hand, None if nobody has.
    """
    found = None if look is None else question.truth(look)
    if look is None or found is None or found.value is None:
        if note:
            st.info(note, icon=":material/info:")
        if isinstance(question, open_kinds.ConclusionQuestion) and question.model:
            st.markdown(f"**A model answer:** {in_markdown(question.model)}")
        before_why()
        return
    has_row = question.kind == "draw"  # which says all
    true = "" if has_row else in_markdown(controls.true_value(question, look, found))
    if note or true:
        st.info(f"{note} {true}".strip(), icon=":material/info:")
    if isinstance(question, gestures.GestureQuestion):
        by_hand(question, look, f"truth:{question.ask}", mean)
    _behind(question, look, found, before_why)


def by_hand(question: gestures.GestureQuestion, look: Look, key: str, mean: Any) -> None:
    """What is right, drawn by hand; with the mean of what the class has drawn, None if nobody has."""
    task = question.task(look)
    gesture(task.header, key=key, given=mean, truth=task.truth, whose="the mean of the class")


def _behind(question: Question, look: Look, found: Truth, before_why: Callable[[], None]) -> None:
    """The row or the numbers that a truth rests on, the reason and the formula."""
    if bars := exhibit.html(question, look, found):
        st.html(bars)
    elif numbers := controls.further_numbers(found):
        st.caption("  \n".join(f"{plain(name)}: {exhibit.rounded(value)}" for name, value in numbers.items()))
    before_why()
    _why(question, found)


def _why(question: Question, found: Truth) -> None:
    if question.why:
        st.write(in_markdown(question.why))
    if found.formula:
        st.latex(found.formula)


def compare(question: open_kinds.ConclusionQuestion, answer: str) -> None:
    """A model answer after the reader's own, and how similar their meanings are."""
    if not question.model:
        return
    st.markdown(f"**A model answer:** {in_markdown(question.model)}")
    st.caption(
        f"Similarity of meaning: {question.similarity(answer):.2f} (cosine of the two vectors of all-MiniLM-L6-v2; "
        "1: equal). It is only a hint: a wrong sentence about the same words is similar, too. Compare the claims."
    )
