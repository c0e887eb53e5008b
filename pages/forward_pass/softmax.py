"""Step 5: exponentials, their sum, the row of weights; the temperature."""

import streamlit as st

from encoder import explain
from encoder.figures.steps import token_bars
from pages.components import plot
from pages.core.view import selection
from pages.core.view.view import View, state
from pages.core.words import formulas, gestures
from pages.forward_pass.params import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE, Params
from pages.forward_pass.parts import animated, attention_map, pair, step_button
from pages.forward_pass.scores import drawn_pair, variant_controls, vector_buttons


def show(view: View, params: Params) -> None:
    """The map of weights, the selected row with its numbers, the temperature."""
    place = selection.selected_place(view)
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    st.markdown(
        f"The softmax turns the scores of {i} into weights: e to the power of each score, divided by the sum of all. "
        "The largest score is subtracted first. This keeps the exponentials at 1 or below and changes no weight."
    )
    if animated(view, "scores", explain.softmax(view.trace, place).check):
        return
    variant = variant_controls(view)
    temperature = state.bound(
        st.slider,
        Params.temperature,
        "Temperature τ",
        LOWEST_TEMPERATURE,
        HIGHEST_TEMPERATURE,
        step=0.1,
        help="Divides the scores. The model uses 1. A low τ favours the largest score; a high τ evens them out.",
    )
    step = explain.softmax(view.trace, place, temperature, variant)
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        rows, columns = drawn_pair(view, place)
        matrix = explain.score_matrix(view.trace, place, variant, rows, temperature)
        attention_map(view, place, matrix.weights, rows, columns, key="weights-map")
        gestures.caption(f"Each row sums to 1. {gestures.CLICK} a cell to select its pair.")
    with right:
        formulas.show_step(step.formula)
        selection.check_toggle(view, step.check)
        vector_buttons(view, place)
        step_button(f"The score of {i} → {j}", "scores", pair(place), back=True, key="to-scores")
    st.markdown(
        f"The row of {i}. Sum of the exponentials: **{step.total:.4f}**. Sum of the weights: "
        f"**{float(step.weights.sum()):.4f}**. Entropy: {step.entropy:.3f} nats; uniform attention: {step.uniform:.3f}."
    )
    plot(
        token_bars(
            {"exponential": step.exponentials[columns], "weight": step.weights[columns]}, view.trace.labels,
            roles=("other", "q"), chosen=place.key, axis="value", first=columns.start,
        ),
        height=280,
        key="softmax-bars",
        alt="Exponentials and weights of the selected row, two bars per key.",
    )  # fmt: skip
