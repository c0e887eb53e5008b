"""Step 3: x W + b for the selected token and head."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import stacked_rows, term_bars, weight_matrix
from pages.components import plot
from pages.core import formulas, selection, token_rows
from pages.core.view import View, state

TITLES = {"q": "query", "k": "key", "v": "value"}
COLOURS = {"q": "blue", "k": "red", "v": "green"}


def show(view: View) -> None:
    """The row of x, the matrix with its column, the products and their sum, the vector."""
    config = view.loaded.config
    place = selection.selection(view, config.d_head)
    st.markdown(
        f"Each head has three matrices of {config.d_model} × {config.d_head} numbers. A token's vector x times W_Q"
        " is its :blue[query], times W_K its :red[key], times W_V its :green[value]. Each number of them is a sum"
        f" of {config.d_model} products: x with one column of the matrix."
    )
    which = state.bound(
        st.segmented_control,
        "vector",
        "Which of the three",
        list("qkv"),
        required=True,
        format_func={"q": ":blue[query]", "k": ":red[key]", "v": ":green[value]"}.get,
    )
    step = explain.projection(view.trace, place, which)
    names = {"query": "Token i"} if which == "q" else {"key": "Token j"}
    selection.place_bar(view, place, component=config.d_head, **names)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _matrix(step)
    with right:
        formulas.show_step(step.formula)
        if step.rotation is not None:
            st.markdown("Rotary positions then turn each pair of numbers by an angle that grows with the position:")
            formulas.show_step(step.rotation.formula)
        selection.check(view, step.check)
        _onwards(view, place, which)
    _terms(step)
    _all_tokens(view, place, which)


def _matrix(step: explain.Projection) -> None:
    name, c = f"W_{step.which.upper()}", step.place.component
    plot(
        stacked_rows({f"x of {step.label}": step.x}, component_name="d"),
        key="x-row",
        alt=f"The vector x of {step.label} that this layer reads, {len(step.x)} numbers.",
        height=selection.rows_height(1),
    )
    plot(
        weight_matrix(step.weight, column=c, kind=step.which),
        key=f"weight-{step.which}",
        alt=f"{name} of head {step.place.head}: a column a component, column {c} framed.",
        height=430,
        on_event=partial(selection.take_cell, row=None, column="component"),
    )
    row = step.place.head * step.weight.shape[1] + c
    st.caption(
        f"x is {_source(step.x_name)}. Below it {name} of this head; click a column to compute that component. "
        f"Column {c} is row {row} of the whole matrix as torch stores it."
    )


def _source(name: str) -> str:
    if name == "embedding":
        return "the embedding"
    if name.endswith("_norm"):
        return "the normalised residual stream"
    return "the residual stream as the layer before hands it on"


def _terms(step: explain.Projection) -> None:
    bias = 0.0 if step.bias is None else float(step.bias[step.place.component])
    st.markdown(
        f"The {len(step.terms)} products x·W, the largest first. They add up to **{step.terms.sum():.4f}**; with "
        f"the bias {bias:.4f} the result is **{step.total:.4f}**."
    )
    st.plotly_chart(
        term_bars(step.terms), height=230, key="terms", alt="The products of x with the chosen column, largest first."
    )


def _all_tokens(view: View, place: explain.Place, which: str) -> None:
    rows = token_rows.part(view.trace.n_tokens, place.query if which == "q" else place.key, "steps-qkv")
    matrix = explain.projected_matrix(view.trace, place, which, rows)
    st.markdown(f"The {TITLES[which]} vectors of all tokens in L{place.layer} H{place.head}, from the same matrix:")
    chosen = place.query if which == "q" else place.key
    plot(
        figures.vectors_heatmap(
            matrix, view.trace.labels, which, selected=chosen, component=place.component, first=rows.start
        ),
        key=f"all-{which}",
        alt=f"The {TITLES[which]} vectors of all tokens: one row a token, one column a component.",
        height=token_rows.height(rows.stop - rows.start, most=460),
        on_event=partial(selection.take_cell, row="i" if which == "q" else "j", column="component"),
    )


def _onwards(view: View, place: explain.Place, which: str) -> None:
    """The way back to the number that this vector was needed for."""
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    target, words = ("mixing", "its part in the mixture") if which == "v" else ("scores", "the score")
    st.button(
        f"Back to {words} of {i} → {j}",
        icon=":material/arrow_back:",
        on_click=selection.go,
        args=(target,),
        kwargs={"i": place.query, "j": place.key, "component": place.component},
    )
