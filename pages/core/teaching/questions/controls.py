"""The widgets that take an answer, one function for each kind, and the result that follows."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.numbers import exact_or_three_digits, three_digits
from pages.components.row_sketch import row_sketch
from pages.core.teaching.questions import concept_test, kinds, open_kinds
from pages.core.teaching.questions.quantities import Look, QuestionError
from pages.core.teaching.questions.question import Question, Truth
from pages.core.words import token_names
from pages.core.words.markdown import plain, say_error

Give = Callable[[Any], None]


def ask(question: Question, look: Look, key: str, give: Give) -> None:
    """Draw the question and its control. give: called with an answer, in a callback."""
    st.markdown(f"**{plain(question.ask)}**")
    if question.hint:
        with st.expander("Hint", icon=":material/lightbulb:"):
            st.write(plain(question.hint))
    CONTROLS[question.kind](question, look, key, give)


def result(question: Question, look: Look, given: Any, key: str) -> None:
    """Say whether an answer is right, what is true, and why."""
    try:
        answer = question.read(given, look)
        grade, truth = question.grade(answer, look), question.truth(look)
    except EncoderError as error:  # the answer names a token that the sentence does not have
        say_error(error, st.warning, icon=":material/help:")
        return
    if truth.value is None:
        st.info("Your answer is kept.", icon=":material/check:")
        return
    if grade.right:
        st.success(f"Right. {plain(true_value(question, look, truth))}", icon=":material/check_circle:")
    else:
        yours = plain(answer_text(question, look, answer))
        true = plain(true_value(question, look, truth))
        reason, _ = question.reason(answer, look)
        because = f" Perhaps you thought: “{plain(reason)}”" if reason else ""
        st.warning(f"Not quite. You said: {yours}.{because} {true}", icon=":material/cancel:")
    if isinstance(question, open_kinds.DrawQuestion):
        apart = grade.numbers["total variation distance"]
        st.caption(f"Total variation distance: {three_digits(apart)}. Right up to {question.within:g}; 0 is equal.")
        row_sketch(names(look), key=key, question=question.ask, drawn=answer, truth=truth.value)
    elif truth.numbers:
        st.caption(
            "  \n".join(f"{plain(name)}: {exact_or_three_digits(value)}" for name, value in truth.numbers.items())
        )
    if question.why:
        st.write(plain(question.why))
    if truth.formula:
        st.latex(truth.formula)


def names(look: Look) -> list[str]:
    """Names of all tokens, with their position where a text occurs more than once."""
    labels = list(look.trace.labels)
    return [label + token_names.which(labels, position) for position, label in enumerate(labels)]


# --- one control for each kind ----------------------------------------------------------------------------------------


def _choose(options: list[Any], titles: Callable[[Any], str], key: str, give: Give) -> None:
    chosen = st.pills("Your answer", options, format_func=titles, key=f"{key}:chosen", label_visibility="collapsed")
    st.button("Answer", key=f"{key}:give", type="primary", disabled=chosen is None, on_click=give, args=(chosen,))


def _token(question: kinds.TokenQuestion, look: Look, key: str, give: Give) -> None:
    labels = names(look)
    _choose(question.choices(look), lambda position: plain(labels[position]), key, give)


def _head(question: kinds.HeadQuestion, look: Look, key: str, give: Give) -> None:
    config = look.loaded.config
    left, right = st.columns(2)
    with left:
        if question.layer is None:
            layer = st.number_input("Layer", 0, config.n_layers - 1, value=None, key=f"{key}:layer")
        else:
            layer = question.layer
            st.metric("Layer", layer)
    with right:
        head = st.number_input("Head", 0, config.n_heads - 1, value=None, key=f"{key}:head")
    is_empty = layer is None or head is None
    st.button("Answer", key=f"{key}:give", type="primary", disabled=is_empty, on_click=give, args=([layer, head],))


def _number(question: kinds.NumberQuestion, look: Look, key: str, give: Give) -> None:
    if question.trial is not None:
        _trials(question, look, key)
    typed = st.text_input("Your number", key=f"{key}:number", placeholder="0.25")
    value = _read_number(typed)
    if typed.strip() and value is None:
        st.caption("Enter a number, such as 0.25, 1024 or 4e8.")
    st.button("Answer", key=f"{key}:give", type="primary", disabled=value is None, on_click=give, args=(value,))


def _trials(question: kinds.NumberQuestion, look: Look, key: str) -> None:
    """A simulation of the reader: each press draws new random numbers and adds a line."""
    seeds = st.session_state.setdefault(f"{key}:seeds", [])
    st.button("Simulate", key=f"{key}:simulate", icon=":material/casino:", on_click=_another_seed, args=(seeds,))
    if seeds:
        st.dataframe([question.tried(look, seed) for seed in seeds], hide_index=True)


def _another_seed(seeds: list[int]) -> None:
    seeds[:] = [*seeds, secrets.randbelow(1_000_000)][-10:]


def _read_number(text: str) -> float | None:
    """A number as people write it: 0,25 and 1 024 too; None if it is none."""
    cleaned = text.strip().replace(" ", "").replace("\u202f", "")
    if cleaned.count(",") == 1 and "." not in cleaned and len(cleaned.rsplit(",", 1)[1]) != 3:
        cleaned = cleaned.replace(",", ".")
    try:
        value = float(cleaned.replace(",", ""))
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _order(question: kinds.OrderQuestion, look: Look, key: str, give: Give) -> None:
    labels = sorted(map(str, question.items))  # a fixed order that says nothing of the answer
    chosen = st.multiselect("Select all, largest first", labels, key=f"{key}:order", format_func=str)
    is_part = len(chosen) < len(labels)
    st.button("Answer", key=f"{key}:give", type="primary", disabled=is_part, on_click=give, args=(chosen,))


def _true_or_false(question: kinds.TrueOrFalse, look: Look, key: str, give: Give) -> None:
    _choose([True, False], lambda value: "True" if value else "False", key, give)


def _draw(question: open_kinds.DrawQuestion, look: Look, key: str, give: Give) -> None:
    row_sketch(names(look), key=key, question=question.ask, on_answer=give)


def _sentence(question: open_kinds.SentenceQuestion, look: Look, key: str, give: Give) -> None:
    typed = st.text_input("Your sentence", key=f"{key}:sentence", max_chars=open_kinds.MOST_LETTERS)
    problem = ""
    if typed.strip():
        try:
            question.grade(typed.strip(), look)
        except QuestionError as error:
            problem = str(error)
            st.caption(plain(problem))
    is_wrong = not typed.strip() or bool(problem)
    st.button("Answer", key=f"{key}:give", type="primary", disabled=is_wrong, on_click=give, args=(typed.strip(),))


def _choice(question: open_kinds.ChoiceQuestion, look: Look, key: str, give: Give) -> None:
    _choose(list(range(len(question.options))), lambda number: plain(question.options[number]), key, give)


def _concept(question: open_kinds.ConceptQuestion, look: Look, key: str, give: Give) -> None:
    texts = question.texts(look)
    chosen = st.radio(
        "Your answer", range(len(texts)), index=None, key=f"{key}:chosen", label_visibility="collapsed",
        format_func=lambda number: plain(texts[number]),
    )  # fmt: skip
    st.button("Answer", key=f"{key}:give", type="primary", disabled=chosen is None, on_click=give, args=(chosen,))


def _conclusion(question: open_kinds.ConclusionQuestion, look: Look, key: str, give: Give) -> None:
    typed = st.text_area(
        "Your conclusion", key=f"{key}:text", max_chars=open_kinds.MOST_LETTERS, label_visibility="collapsed"
    ).strip()
    st.button("Keep it", key=f"{key}:give", type="primary", disabled=not typed, on_click=give, args=(typed,))


def _test(question: concept_test.ConceptTest, look: Look, key: str, give: Give) -> None:
    asked = concept_test.items(question.form)
    names = [f"{key}:item:{number}" for number in range(len(asked))]
    with st.form(f"{key}:form", border=False):
        for number, ((_, item), name) in enumerate(zip(asked, names, strict=True), 1):
            texts = item.texts(look)
            st.radio(
                f"**{number}.** {plain(item.ask)}", range(len(texts)), index=None, key=name,
                format_func=lambda place, texts=texts: plain(texts[place]),
            )  # fmt: skip
        st.form_submit_button("Send all answers", type="primary", on_click=_give_test, args=(names, give))
    if any(st.session_state.get(name) is None for name in names):
        st.caption(f"Answer all {len(asked)} questions, then send them. Nobody sees who answered what.")


def _give_test(names: list[str], give: Give) -> None:
    chosen = [st.session_state.get(name) for name in names]
    if None not in chosen:
        give(chosen)


CONTROLS: dict[str, Callable[..., None]] = {
    "token": _token,
    "head": _head,
    "number": _number,
    "order": _order,
    "true or false": _true_or_false,
    "draw": _draw,
    "sentence": _sentence,
    "choice": _choice,
    "concept": _concept,
    "conclusion": _conclusion,
    "test": _test,
}


# --- answers in words -------------------------------------------------------------------------------------------------


def answer_text(question: Question, look: Look, answer: Any) -> str:
    """An answer as a reader would write it."""
    match question.kind:
        case "token":
            return names(look)[answer]
        case "head":
            return f"L{answer[0]} H{answer[1]}"
        case "order":
            return ", ".join(answer)
        case "true or false":
            return "true" if answer else "false"
        case "number":
            return exact_or_three_digits(answer)
        case "draw":
            return "the row below"
        case "choice":
            return str(question.options[answer])
        case "concept":
            return question.texts(look)[answer]
        case _:
            return str(answer)


def true_value(question: Question, look: Look, truth: Truth) -> str:
    """The truth in one sentence."""
    if question.kind in ("token", "head"):
        listed = " or ".join(answer_text(question, look, one) for one in truth.value)
        return f"The model says: {listed}."
    if question.kind == "concept":
        return f"True is: {answer_text(question, look, truth.value)}"
    if question.kind == "sentence":
        return f"A sentence that works: “{truth.value}”."
    if question.kind == "draw":
        return "You see the model's row next to yours."
    return f"The model says: {answer_text(question, look, truth.value)}."
