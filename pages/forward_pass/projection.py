"""Step 3: x W + b for the selected token and head."""

import streamlit as st

from encoder import explain
from encoder.figures.steps import stacked_rows, term_bars, weight_matrix
from pages.components import plot
from pages.core.view import selection, token_rows
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import formulas
from pages.forward_pass.params import Params
from pages.forward_pass.parts import pair, step_button, token_vectors

TITLES = {"q": "query", "k": "key", "v": "value"}


def show(view: View, params: Params) -> None:
    """The vector x, the matrix with its column, the products and their sum, the resulting vector."""
    config = view.loaded.config
    place = selection.selected_place(view, config.d_head)
    st.markdown(
        f"Each head has three matrices of {config.d_model} × {config.d_head} numbers. They map a token's vector x to "
        "its :blue[query] (W_Q), its :red[key] (W_K) and its :green[value] (W_V). Each component is a sum of "
        f"{config.d_model} products."
    )
    coloured = {"q": ":blue[query]", "k": ":red[key]", "v": ":green[value]"}
    which = state.segmented(Params.vector, "Vector", coloured)
    step = explain.projection(view.trace, place, which)
    label = {"query": "Token i"} if which == "q" else {"key": "Token j"}
    selection.place_bar(view, place, component=config.d_head, **label)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _matrix(step)
    with right:
        formulas.show_step(step.formula)
        if step.rotation is not None:
            st.markdown("Rotary positions rotate each pair of components by an angle proportional to the position:")
            formulas.show_step(step.rotation.formula)
        selection.check_toggle(view, step.check)
        _back(view, place, which)
    _terms(step)
    _all_tokens(view, place, which)


def _matrix(step: explain.Projection) -> None:
    name, column = f"W_{step.which.upper()}", step.place.component
    plot(
        stacked_rows({f"x of {step.label}": step.x}, component_name="d"),
        key="x-row",
        alt=f"The vector x of {step.label}: {len(step.x)} numbers.",
        height=selection.rows_height(1),
    )
    plot(
        weight_matrix(step.weight, column=column, kind=step.which),
        key=f"weight-{step.which}",
        alt=f"{name} of head {step.place.head}: one column per component, column {column} framed.",
        height=430,
        on_event=selection.on_cell(column=PlaceParams.component),
    )
    row = step.place.head * step.weight.shape[1] + column
    st.caption(
        f"Top: x, {_source(step.x_name)}. Bottom: {name} of this head; click a column to select its component. "
        f"torch stores column {column} as row {row} of the whole matrix."
    )


def _source(name: str) -> str:
    if name == "embedding":
        return "the embedding"
    if name.endswith("_norm"):
        return "the residual stream after LayerNorm"
    return "the residual stream after the layer before"


def _terms(step: explain.Projection) -> None:
    bias = 0.0 if step.bias is None else float(step.bias[step.place.component])
    st.markdown(
        f"The {len(step.terms)} products x·W, the largest first. Sum: **{step.terms.sum():.4f}**. "
        f"Bias: {bias:.4f}. Result: **{step.total:.4f}**."
    )
    plot(
        term_bars(step.terms), height=230, key="terms", alt="Products of x with the selected column, the largest first."
    )


def _all_tokens(view: View, place: explain.Place, which: str) -> None:
    selected, param = (place.query, ViewParams.i) if which == "q" else (place.key, ViewParams.j)
    rows = token_rows.part(view.trace.n_tokens, selected, "steps-qkv")
    st.markdown(f"The {TITLES[which]} vectors of all tokens in L{place.layer} H{place.head}:")
    token_vectors(
        view, explain.projected_matrix(view.trace, place, which, rows), which, rows, key=f"all-{which}",
        alt=f"The {TITLES[which]} vectors of all tokens.", select_row=param, selected=selected, column=place.component,
    )  # fmt: skip


def _back(view: View, place: explain.Place, which: str) -> None:
    """A button to the step that uses this vector."""
    arrow = f"{selection.token(view, place.query)} → {selection.token(view, place.key)}"
    values = pair(place) | {PlaceParams.component: place.component}
    if which == "v":
        step_button(f"Back to the weighted value of {arrow}", "mixing", values, back=True, key="back")
    else:
        step_button(f"Back to the score of {arrow}", "scores", values, back=True, key="back")
