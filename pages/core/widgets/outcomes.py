"""The outcome that edited runs are compared by: its widgets, the same values on every page that measures effects."""

from collections.abc import Collection
from functools import partial
from typing import Any

import streamlit as st

from encoder import Trace, causal, classify, figures
from encoder.figures.numbers import three_digits
from pages.core.inputs.input_words import words_of
from pages.core.view import View, norm_change
from pages.core.words import plain
from pages.state import Param, choice, controlled, state, string, whole_number

OUTCOMES = {
    "sentence": "Sentence vector",  # of another input: see `titles`
    "similarity": "Similarity to a second sentence",
    "token": "Output vector of one token",
    "word": "Masked word",
    "class": "Class of a classification head",
} | {name: name for name in causal.registered()}
#: Of the outcomes without values of their own; original: as `norm_change.original` names the unedited run.
UNITS = {
    "sentence": "Similarity to the {original} vector",
    "similarity": "Similarity to the second sentence",
    "token": "Similarity to the {original} output vector",
}
SCALES = {"log_odds": "Log-odds", "probability": "Probability"}


@state.register
class OutcomeParams:
    """outcome: its kind; the other fields: what that kind needs."""

    outcome: Param[str] = choice("sentence", OUTCOMES)
    similar_to: Param[str] = string("The dog was too tired to cross the road.", url="outcome_text")
    token: Param[int | None] = whole_number(None, url="outcome_token")
    word: Param[str] = string(url="outcome_word")
    minus: Param[str] = string(url="outcome_minus")
    label: Param[str] = string(url="outcome_class", public="a class of the model")
    scale: Param[str] = choice("log_odds", ("log_odds", "probability"), url="outcome_scale")


def titles(view: View) -> dict[str, str]:
    """The kinds of outcome that this input can have, with their names. Words need a text."""
    if view.loaded.takes == "text":
        return OUTCOMES
    names = {"sentence": f"{words_of(view.trace).vector.capitalize()}", "token": OUTCOMES["token"]}
    names |= {name: name for name in causal.registered()}
    head = view.loaded.classifier
    return names if head is None or not head.config.reads_output else {"class": OUTCOMES["class"], **names}


def choose(view: View, kinds: Collection[str] = tuple(OUTCOMES)) -> causal.Outcome:
    """Draw the controls, with these kinds on offer. Whether the outcome fits shows when it is measured."""
    own = OutcomeParams
    offered = {kind: title for kind, title in titles(view).items() if kind in kinds}
    with st.container(
        key="controls-outcome", horizontal=True, vertical_alignment="bottom", gap="medium", width="content"
    ):
        kind = state.selectbox(own.outcome, "Outcome", offered, width=300)
        if kind == "similarity":
            return causal.Similarity(state.bound(st.text_input, own.similar_to, "Second sentence", width=360))
        if kind == "token":
            return causal.TokenVector(_token(view))
        if kind == "class":
            return choose_class(view)
        if kind == "word":
            likeliest = view.derived("likeliest word", partial(causal.likeliest_word, view.loaded))
            word = state.bound(
                st.text_input,
                own.word,
                "Word at the first mask",
                placeholder=likeliest,
                width=180,
                help="Empty: the most probable word in the unedited run.",
            )
            minus = state.bound(st.text_input, own.minus, "Minus (optional)", placeholder="she", width=180)
            scale = state.segmented(
                own.scale,
                "Scale",
                SCALES,
                help="Log-odds: log(p / (1 − p)). With a second word: the difference of both log probabilities.",
            )
            return causal.MaskedWord(word.strip() or likeliest, minus.strip() or None, scale)  # type: ignore[arg-type]
    return causal.as_outcome(kind)


def unit(view: View, outcome: causal.Outcome) -> str:
    """The name of the outcome's number."""
    if isinstance(outcome, causal.ClassProbability):
        return f"{SCALES[outcome.scale]} of the class “{outcome.label}”"
    if isinstance(outcome, causal.Named):
        return outcome.name
    if not isinstance(outcome, causal.MaskedWord):
        return UNITS[outcome.code].format(original=norm_change.original(view))
    if outcome.minus is None:
        return f"{SCALES[outcome.scale]} of “{outcome.word}”"
    what = "Log probability" if outcome.scale == "log_odds" else "Probability"
    return f"{what} of “{outcome.word}” minus “{outcome.minus}”"


def with_edits(view: View, edited: Trace | None, outcome: causal.Outcome) -> str:
    """How much the edits change the outcome, in one sentence; "" without edits.

    Raises EncoderError where the outcome does not fit.
    """
    if edited is None:
        return ""
    before, after = causal.outcomes_of(view.loaded, view.trace, [edited], outcome)
    ends = f"from {three_digits(before)} to {three_digits(after)}"
    return f"With your edits, {lower(unit(view, outcome))} {changes(after - before)}, {ends}."


def changes(effect: float) -> str:
    """ "falls by **0.0787**", as on the colour bar."""
    return f"{'rises' if effect > 0 else 'falls'} by **{three_digits(abs(effect))}**"


def lower(name: str) -> str:
    """A name inside a sentence."""
    return f"{name[:1].lower()}{plain(name[1:])}"


def _token(view: View) -> int:
    """The widget of a token, and its position."""
    labels = view.trace.labels
    place = state.get(OutcomeParams.token)
    place = min(1 if place is None else place, view.trace.n_tokens - 1)
    controlled(
        st.selectbox,
        "Token",
        range(len(labels)),
        key="outcome:token",
        value=place,
        width=200,
        take=partial(state.put, OutcomeParams.token),
        format_func=lambda one: f"{one} · {figures.isolated(labels[one])}",
    )
    return place


def choose_class(view: View) -> causal.Outcome:
    """Draw the controls of one class of the checkpoint's head."""
    if view.loaded.classifier is None:  # measuring it says what to do
        return causal.ClassProbability("")
    label, place = choose_label(view, view.loaded)
    scale = state.segmented(OutcomeParams.scale, "Scale", SCALES)
    return causal.ClassProbability(label, place, scale)  # type: ignore[arg-type]


def choose_label(view: View, model: Any) -> tuple[str, int | None]:
    """Draw the choice of a class of the model's head, by default the predicted one, and of a token that it tags.

    model: the view's, perhaps with another head.
    """
    head = model.classifier.config
    place = _token(view) if head.kind == "token" else None
    best = classify.predict(model, view.trace).best if place is None else classify.tags(model, view.trace)[place].label
    offered = {"": f"Predicted: {best}"} | {one: one for one in head.labels}
    return state.selectbox(OutcomeParams.label, "Class", offered, width=200) or best, place
