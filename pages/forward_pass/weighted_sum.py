"""Step 6: weights times values, their sum; the heads side by side; W_O."""

from functools import partial

import streamlit as st

from encoder import explain
from encoder.figures.steps import named_bars, sum_of_rows
from pages.components import on_click, plot
from pages.core.view import selection, token_rows
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import formulas
from pages.forward_pass.params import Params
from pages.forward_pass.parts import animated, pair, step_button, token_vectors, vector_rows

#: With more rows, the sum is a picture of its own, so that each row stays visible.
ROWS_WITH_SUM = 48


def show(view: View, params: Params) -> None:
    """Each weight times its value, the sum z, then all heads through W_O."""
    config = view.loaded.config
    place = selection.selected_place(view, config.d_head)
    step = explain.weighted_sum(view.trace, place)
    heads = explain.output_projection(view.trace, selection.selected_place(view, config.d_model))
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    st.markdown(
        f"For {i}, this head multiplies the :green[value] of every token by its weight. The sum is z, the output of "
        "this head."
    )
    if animated(view, "weights", step.check):
        return
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)", component=config.d_head)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _weighted_values(view, place, step)
    with right:
        formulas.show_step(step.formula)
        selection.check_toggle(view, lambda reference: (*step.check(reference), *heads.check(reference)))
        step_button(f"How the value of {j} is computed", "qkv", pair(place) | {Params.vector: "v"}, key="to-v")
    st.header("Output projection W_O", anchor=False)
    _heads(view, heads)


def _weighted_values(view: View, place: explain.Place, step: explain.WeightedSum) -> None:
    n_tokens = view.trace.n_tokens
    rows = token_rows.part(n_tokens, place.key, "mixing")
    count = rows.stop - rows.start
    if count <= ROWS_WITH_SUM:
        _with_sum(view, place, step, rows)
    else:
        token_vectors(
            view, step.weighted[rows], "v", rows, key="weighted-rows", alt="Weight times value.",
            select_row=ViewParams.j, selected=place.key, column=place.component,
        )  # fmt: skip
        vector_rows({"sum: z": step.z}, place, key="z-row", alt="The sum of all rows: z.", kind="v")
    largest = int(abs(step.terms).argmax())
    part = "" if count == n_tokens else f" Drawn: {count} of {n_tokens:,} tokens; the sum covers all."
    st.caption(
        f"Row j: weight of token j times its value. Last row: their sum z. Largest contribution to component "
        f"{place.component}: {formulas.number(float(step.terms[largest]))} of "
        f"{formulas.number(float(step.z[place.component]))}, from {selection.token(view, largest)}.{part}"
    )


def _with_sum(view: View, place: explain.Place, step: explain.WeightedSum, rows: slice) -> None:
    """One map with the sum as its last row."""
    count = rows.stop - rows.start

    def select_token(row: int) -> None:
        if row < count:
            state.put(ViewParams.j, rows.start + row)

    plot(
        sum_of_rows(
            step.weighted[rows], step.z, view.trace.labels[rows], "v", name="sum: z",
            selected=place.key - rows.start, component=place.component,
        ),
        key="weighted-values",
        alt="Weight times value: one row per token, one column per component. The last row is their sum z.",
        height=token_rows.height(count + 1, most=480),
        on_event=on_click(row=select_token, column=partial(state.put, PlaceParams.component)),
    )  # fmt: skip


def _heads(view: View, step: explain.OutputProjection) -> None:
    config, place = view.loaded.config, step.place
    strongest = int(abs(step.shares[:-1]).argmax())
    st.markdown(
        f"The {config.n_heads} vectors z of {selection.token(view, place.query)} together have "
        f"{config.n_heads * config.d_head} numbers. W_O maps them to {config.d_model} numbers, which are added to the "
        f"residual stream. W_O is linear, so the result is a sum over heads. Largest share: "
        f"{step.shares[strongest]:.0%}, head {strongest}."
    )
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            named_bars(
                step.shares, [*(f"H{head}" for head in range(config.n_heads)), "bias"], axis="share of the result",
                chosen=place.head,
            ),
            height=260,
            key="head-shares",
            alt="The share of every head, and of the bias, in the output of attention.",
        )  # fmt: skip
        st.caption(
            "Share: dot product of the contribution and the result, divided by the squared norm of the result. All "
            "shares sum to 100 %. A negative share points against the result."
        )
    with right:
        formulas.show_step(step.formula)
    rows = {f"head {head}": step.contributions[head] for head in range(config.n_heads)}
    vector_rows(
        rows | {"bias": step.bias, "result": step.result}, place, key="contributions",
        alt="The contribution of each head, the bias and the result.", height=140 + 22 * (len(rows) + 2),
    )  # fmt: skip
