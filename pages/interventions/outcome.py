"""The outcome: which number is compared, and its value before and after the edits."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import causal, classify, figures
from encoder.causal import Outcome
from encoder.trace import Trace
from pages.core import prediction
from pages.core.formulas import number
from pages.core.url_state import controlled, state
from pages.core.view import View
from pages.interventions.params import OUTCOMES, Params

UNITS = {
    "sentence": "Cosine to the unedited sentence vector",
    "similarity": "Cosine to the second sentence",
    "token": "Cosine to the unedited output vector",
    "log_odds": "Log-odds of the word",
    "probability": "Probability of the word",
}
SCALES = {"log_odds": "Log-odds", "probability": "Probability"}


def choose(view: View) -> Outcome:
    """The controls of the outcome. Returns the outcome; whether it fits shows when it is measured."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind = state.bound(st.selectbox, Params.outcome, "Outcome", list(OUTCOMES), format_func=OUTCOMES.get, width=280)
        if kind == "similarity":
            text = state.bound(st.text_input, Params.similar_to, "Second sentence")
            return causal.Similarity(text)
        if kind == "token":
            return causal.TokenVector(_token(view))
        if kind == "class":
            return _class(view)
        if kind == "word":
            word = state.bound(st.text_input, Params.word, "Word at the first mask", placeholder="he", width=180)
            minus = state.bound(st.text_input, Params.minus, "Minus (optional)", placeholder="she", width=180)
            scale = state.segmented(
                Params.scale, "Scale", SCALES,
                help="Log-odds: log(p / (1 − p)). With a second word: the difference of both log probabilities.",
            )  # fmt: skip
            return causal.MaskedWord(word.strip(), minus.strip() or None, scale)  # type: ignore[arg-type]
    return causal.SentenceVector()


def _token(view: View) -> int:
    """The widget of a token, and its position."""
    labels = view.trace.labels
    place = state.get(Params.token)
    place = min(1 if place is None else place, view.trace.n_tokens - 1)
    controlled(
        st.selectbox, "Token", range(len(labels)), key="outcome:token", value=place, width=200,
        take=partial(state.put, Params.token), format_func=lambda one: f"{one} · {figures.isolated(labels[one])}",
    )  # fmt: skip
    return place


def _class(view: View) -> Outcome:
    """One class of the checkpoint's head, by default the predicted one; of a token, if the head tags tokens."""
    head = view.loaded.classifier
    if head is None:  # measuring it says what to do
        return causal.ClassProbability("")
    labels, of_token = head.config.labels, head.config.kind == "token"
    place = _token(view) if of_token else None
    if state.newest(Params.label) not in labels:
        best = classify.tags(view.loaded, view.trace)[place].label if of_token else (
            classify.predict(view.loaded, view.trace).best
        )  # fmt: skip
        state.put(Params.label, best)
    label = state.bound(st.selectbox, Params.label, "Class", labels, width=200)
    scale = state.segmented(Params.scale, "Scale", SCALES)
    return causal.ClassProbability(label, place, scale)  # type: ignore[arg-type]


def unit(outcome: Outcome) -> str:
    """The name of the outcome's number."""
    if isinstance(outcome, causal.ClassProbability):
        return f"{SCALES[outcome.scale]} of the class “{outcome.label}”"
    if not isinstance(outcome, causal.MaskedWord):
        return UNITS[outcome.code]
    if outcome.minus is None:
        return UNITS[outcome.scale]
    what = "Log probability" if outcome.scale == "log_odds" else "Probability"
    return f"{what} of “{outcome.word}” minus “{outcome.minus}”"


def show(view: View, edited: Trace | None, outcome: Outcome) -> None:
    """The outcome before and after the edits, with the difference. Raises EncoderError where it does not fit."""
    before, *after = causal.outcomes_of(view.loaded, view.trace, [] if edited is None else [edited], outcome)
    with st.container(horizontal=True, gap="large"):
        st.metric("Before", number(before), width="content")
        if after:
            st.metric("After", number(after[0]), width="content")
            st.metric("Difference", number(after[0] - before), width="content")
    prediction.draw(view, edited)
    st.caption(f"{unit(outcome)}." if after else f"{unit(outcome)}. Add an edit to see what it changes.")
