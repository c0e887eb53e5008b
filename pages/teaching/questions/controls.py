"""The widgets that accept an answer, one function for each kind, and answers in words."""

import contextlib
import re
import secrets
import string
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import streamlit as st

from encoder.figures.numbers import exact_or_in_words
from pages.components.button import button
from pages.components.gesture import gesture
from pages.components.row_sketch import row_sketch
from pages.core.words import plain
from pages.core.words.symbols import in_markdown
from pages.teaching.questions import concept_test, gestures, kinds, open_kinds
from pages.teaching.questions.quantities import SHARES, Look, QuestionError
from pages.teaching.questions.question import Choosing, Grade, Question, Truth

Give = Callable[[Any], object]
#: Decimals of a simulated number: further ones differ from draw to draw.
SIMULATED = 2
#: What the button of a conclusion says, and what happens then: in a class, where there is a model answer, without one.
TO_TEACHER = ("Send my answer", "Your teacher reads it. With the result, the class reads it without your name.")
TO_MODEL = ("Compare with a model answer", "You then see a model answer below yours. Yours gets no grade.")
KEPT = ("Keep my answer", "You can change it later. It gets no grade.")


#: Kinds that are answered in a field of text, and the name of its value in the session.
FIELDS = {"conclusion": "text", "number": "number", "sentence": "sentence"}


def ask(question: Question, look: Look, key: str, give: Give, *, in_class: bool = False, draft: str = "") -> None:
    """Draw the question and its control. give: called with an answer, in a callback.

    in_class: a teacher gets the answer, shows the result, and gives the hint; draft: with what its field begins.
    """
    if draft and question.kind in FIELDS:
        st.session_state.setdefault(f"{key}:{FIELDS[question.kind]}", draft)
    st.markdown(f"**{in_markdown(question.ask)}**")
    if question.hint and not in_class:
        with st.expander("Hint", icon=":material/lightbulb:"):
            st.write(plain(question.hint))
    if isinstance(question, open_kinds.DrawQuestion):
        ends = "Answer" if in_class else "Compare with the model"
        row_sketch(look.names, key=key, question=question.ask, on_answer=give, button=ends)
    elif isinstance(question, gestures.GestureQuestion):
        gesture(question.task(look).header, key=key, on_answer=give)
    elif isinstance(question, open_kinds.ConclusionQuestion):
        _conclusion(question, look, key, give, in_class=in_class)
    else:
        CONTROLS[question.kind](question, look, key, give)


# --- one control for each kind ----------------------------------------------------------------------------------------


def _button(value: Any, key: str, give: Give) -> None:
    """The button that gives an answer. value: None while it is not complete."""
    st.button("Answer", key=f"{key}:give", type="primary", disabled=value is None, on_click=give, args=(value,))


@contextlib.contextmanager
def _form(key: str, read: Callable[[], Any], give: Give, label: str = "Answer") -> Iterator[None]:
    """What is typed and the button that sends it, by one tap: a field outside of a form first has to lose the focus.

    read: the answer from the state of the session; raises QuestionError, which is shown below.
    """
    with st.form(f"{key}:form", border=False):
        yield
        st.form_submit_button(label, key=f"{key}:give", type="primary", on_click=_send, args=(key, read, give))
    if said := st.session_state.get(f"{key}:said"):
        st.caption(plain(said))


def _send(key: str, read: Callable[[], Any], give: Give) -> None:
    try:
        answer = read()
    except QuestionError as error:
        st.session_state[f"{key}:said"] = str(error)
        return
    st.session_state.pop(f"{key}:said", None)
    give(answer)


def _choose(question: Choosing, look: Look, key: str, give: Give) -> None:
    choices, named = question.choices(look), letters(question, look)
    # Whole sentences stand below each other.
    control = partial(st.radio, index=None) if question.kind == "concept" else st.pills
    chosen = control(
        "Your answer",
        list(choices),
        format_func=lambda one: f"**{named[one]}** {plain(choices[one])}" if named else plain(choices[one]),
        key=f"{key}:chosen",
        label_visibility="collapsed",
    )
    _button(chosen, key, give)


def _head(question: kinds.HeadQuestion, look: Look, key: str, give: Give) -> None:
    config = look.loaded.config

    def read() -> list[int]:
        layer = st.session_state[f"{key}:layer"] if question.layer is None else question.layer
        head = st.session_state[f"{key}:head"]
        if layer is None or head is None:
            raise QuestionError("Enter a layer and a head." if question.layer is None else "Enter a head.")
        return [layer, head]

    with _form(key, read, give):
        left, right = st.columns(2)
        with left:
            if question.layer is None:
                last = config.n_layers - 1
                st.number_input(f"Layer, 0 to {last}", 0, last, value=None, key=f"{key}:layer")
            else:
                st.metric("Layer", question.layer)
        with right:
            last = config.n_heads - 1
            st.number_input(f"Head, 0 to {last}", 0, last, value=None, key=f"{key}:head")


def _number(question: kinds.NumberQuestion, look: Look, key: str, give: Give) -> None:
    if question.trial is not None:
        _trials(question, look, key)

    with _form(key, lambda: number_of(question, st.session_state[f"{key}:number"]), give):
        st.text_input("Your number", key=f"{key}:number")


def number_of(question: kinds.NumberQuestion, text: str) -> float:
    """The number that a reader typed. Raises QuestionError, without an example: it could be the answer."""
    value = read_number(text)
    if value is None:
        raise QuestionError("Enter a number in digits.")
    if question.asked.quantity.name in SHARES and not 0 <= value <= 1:
        raise QuestionError("This number is a share: enter 0 to 1, or a percentage with the sign %.")
    return value


def _trials(question: kinds.NumberQuestion, look: Look, key: str) -> None:
    """A simulation of the reader: each press draws new random numbers and adds a line."""
    seeds = st.session_state.setdefault(f"{key}:seeds", [])
    button("Simulate", "casino", f"{key}:simulate", partial(_another_seed, seeds))
    if seeds:
        rows = [question.tried(look, seed) for seed in seeds]
        written = {label: st.column_config.NumberColumn(format=f"%.{SIMULATED}f") for label in rows[0]}
        st.caption(plain(question.simulated))
        st.dataframe(rows, hide_index=True, column_config=written)


def _another_seed(seeds: list[int]) -> None:
    seeds[:] = [*seeds, secrets.randbelow(1_000_000)][-10:]


def read_number(text: str) -> float | None:
    """A number as people write it: 0,25, 1 024, 22,7e6, 4 x 10^8, 90% and 2/3 too; None if it is none."""
    cleaned = re.sub(r"[\s'’]", "", text).replace("−", "-").lower()
    if cleaned.endswith("%"):
        share = read_number(cleaned[:-1])
        return None if share is None else share / 100
    if "/" in cleaned:
        above, below = map(read_number, cleaned.rsplit("/", 1))
        return above / below if above is not None and below else None
    mantissa, scale, exponent = re.sub(r"[x×·*]10\^?", "e", cleaned).partition("e")
    try:
        value = float(_with_point(mantissa, scaled=scale != "") + scale + exponent)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _with_point(digits: str, *, scaled: bool) -> str:
    """Digits without marks of thousands and with a decimal point. scaled: whether an exponent follows."""
    marks = {mark for mark in ",." if mark in digits}
    if len(marks) == 2:
        whole, _, rest = digits.rpartition(max(marks, key=digits.rfind))
        return f"{re.sub('[,.]', '', whole)}.{rest}"
    if any(digits.count(mark) > 1 for mark in marks):
        return re.sub("[,.]", "", digits)
    whole, _, rest = digits.partition(",")
    is_thousands = len(rest) == 3 and not scaled and whole.strip("+-0") != ""
    return digits.replace(",", "" if is_thousands else ".")


def _order(question: kinds.OrderQuestion, look: Look, key: str, give: Give) -> None:
    # All items are in the window, and a thumb moves them.
    gesture({"does": "sort", "labels": question.begins_with(look)}, key=f"{key}:order", on_answer=give)


def _sentence(question: open_kinds.SentenceQuestion, look: Look, key: str, give: Give) -> None:
    def read() -> str:
        typed: str = question.read(st.session_state[f"{key}:sentence"], look)
        question.grade(typed, look)  # raises for a sentence without the token that the question names
        return typed

    with _form(key, read, give):
        st.text_input("Your sentence", key=f"{key}:sentence", max_chars=open_kinds.MOST_LETTERS)


def _conclusion(question: open_kinds.ConclusionQuestion, look: Look, key: str, give: Give, *, in_class: bool) -> None:
    label, then = TO_TEACHER if in_class else TO_MODEL if question.model else KEPT
    with _form(key, lambda: question.read(st.session_state[f"{key}:text"], look), give, label):
        st.text_area(
            "Your conclusion", key=f"{key}:text", max_chars=open_kinds.MOST_LETTERS, label_visibility="collapsed"
        )
    st.caption(then)


def _test(question: concept_test.ConceptTest, look: Look, key: str, give: Give) -> None:
    asked = concept_test.items(question.form)
    names = [f"{key}:item:{number}" for number in range(len(asked))]
    with st.form(f"{key}:form", border=False):
        for number, ((_, item), name) in enumerate(zip(asked, names, strict=True), 1):
            texts = item.texts(look)
            st.radio(
                f"**{number}.** {plain(item.ask)}",
                range(len(texts)),
                index=None,
                key=name,
                format_func=lambda place, texts=texts: plain(texts[place]),
            )
        st.form_submit_button("Send all answers", type="primary", on_click=_give_test, args=(names, give))
    if any(st.session_state.get(name) is None for name in names):
        st.caption(f"Answer all {len(asked)} questions, then send them. Nobody sees who answered what.")


def _give_test(names: list[str], give: Give) -> None:
    chosen = [st.session_state.get(name) for name in names]
    if None not in chosen:
        give(chosen)


CONTROLS: dict[str, Callable[..., None]] = {
    "token": _choose,
    "head": _head,
    "number": _number,
    "order": _order,
    "true or false": _choose,
    "sentence": _sentence,
    "choice": _choose,
    "concept": _choose,
    "test": _test,
}


# --- answers in words -------------------------------------------------------------------------------------------------


def answer_text(question: Question, look: Look, answer: Any) -> str:
    """An answer as a reader would write it."""
    if isinstance(question, Choosing):
        return question.choices(look)[answer]
    if isinstance(question, gestures.GestureQuestion):
        return question.text(answer, look)
    match question.kind:
        case "head":
            return f"L{answer[0]} H{answer[1]}"
        case "order":
            return " > ".join(answer)
        case "number":
            return exact_or_in_words(answer)
        case "draw":
            return "the row below"
        case _:
            return str(answer)


def letters(question: Question, look: Look | None) -> dict[Any, str]:
    """Option -> the letter by which a teacher calls it; empty where options are words that can be called."""
    if not isinstance(question, Choosing) or question.kind not in ("concept", "choice"):
        return {}
    return dict(zip(question.choices(look), string.ascii_uppercase, strict=False))  # type: ignore[arg-type]


def is_drawn(question: Question, look: Look | None) -> bool:
    """Whether an answer is a drawing, which has no words: a row, a map, a query in the plane."""
    if isinstance(question, gestures.GestureQuestion) and look is not None:
        return question.task(look).words is None
    return question.kind == "draw"


def own_number(question: Question, grade: Grade) -> dict[str, float]:
    """What the model computes for the reader's own sentence."""
    found = grade.numbers.items() if question.kind == "sentence" else ()
    return {f"Your sentence, {name}": value for name, value in found}


def further_numbers(truth: Truth) -> Mapping[str, float]:
    """The numbers of a truth that are not the answer itself."""
    return {} if [*truth.numbers.values()] == [truth.value] else truth.numbers


def right_answer(question: Question, look: Look, truth: Truth) -> str:
    """All right answers in words."""
    return " or ".join(answer_text(question, look, one) for one in truth.answers)


def true_value(question: Question, look: Look, truth: Truth) -> str:
    """The truth in one sentence."""
    if question.kind == "draw":
        return "You see the model's row next to yours."
    if isinstance(question, gestures.GestureQuestion):
        return question.task(look).said
    listed = right_answer(question, look, truth)
    match question.kind:
        case "sentence":
            return f"A sentence that works: “{listed}”"
        case _:
            return f"The answer is: {listed.rstrip('.')}. {tolerance(question)}".rstrip()


def tolerance(question: Question) -> str:
    """Which numbers count as right besides the answer; "" for other questions."""
    return question.tolerance if isinstance(question, kinds.NumberQuestion) else ""
