"""Step 5: exponentials, their sum, the row; the temperature."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import token_bars
from pages.components import plot
from pages.core import formulas, selection
from pages.core.view import View, state
from pages.forward_pass.params import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE
from pages.forward_pass.scores import two_vectors, variant_controls, window


def show(view: View) -> None:
    """The map of weights, one row written out, the temperature."""
    place = selection.selection(view)
    variant = variant_controls(view)
    temperature = state.bound(
        st.slider,
        "temperature",
        "Temperature τ",
        LOWEST_TEMPERATURE,
        HIGHEST_TEMPERATURE,
        step=0.1,
        help="The scores are divided by τ. The model runs with 1. Low: the largest takes all. High: all alike.",
    )
    step = explain.softmax(view.trace, place, temperature, variant)
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    st.markdown(
        f"The scores of {i} become weights: each is raised to a power of e, and each power is divided by the sum "
        f"of all. The largest score is taken off first, which changes no weight and keeps the numbers small. {i} "
        f"attends to {j} with **{step.value:.4f}**."
    )
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        rows, columns = window(view, place)
        matrix = explain.score_matrix(view.trace, place, variant, rows, temperature)
        plot(
            figures.attention_heatmap(
                matrix.weights[:, columns],
                view.trace.labels,
                colours=view.colours,
                selected=(place.query, place.key),
                row_offset=rows.start,
                column_offset=columns.start,
            ),
            key="weights-map",
            alt=f"Attention weights of layer {place.layer}, head {place.head}.",
            height=selection.map_height(rows.stop - rows.start),
            on_event=partial(selection.take_cell, row="i", column="j"),
        )
        st.caption("Every row sums to 1. Click a cell to see where its number comes from.")
    with right:
        formulas.show_step(step.formula)
        selection.check(view, step.check)
        two_vectors(view, place)
        st.button(
            f"The score of {i} → {j}",
            icon=":material/arrow_back:",
            on_click=selection.go,
            args=("scores",),
            kwargs={"i": place.query, "j": place.key},
        )
    _row(view, place, step)


def _row(view: View, place: explain.Place, step: explain.Softmax) -> None:
    i = selection.token(view, place.query)
    columns = window(view, place)[1]
    st.markdown(
        f"The row of {i}: the exponentials add up to **{step.total:.4f}**, the weights to "
        f"**{float(step.weights.sum()):.4f}**. Entropy {step.entropy:.3f} nats, {step.uniform:.3f} if all were alike."
    )
    st.plotly_chart(
        token_bars(
            {"exponential": step.exponentials[columns], "weight": step.weights[columns]},
            view.trace.labels,
            roles=("other", "q"),
            chosen=place.key,
            axis="value",
            first=columns.start,
        ),
        height=280,
        key="softmax-bars",
        alt="Exponentials and weights of the selected row, a pair of bars for each key token.",
    )
