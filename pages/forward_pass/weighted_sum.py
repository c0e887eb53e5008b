"""Step 6: weights times values; the heads side by side; W_O."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import named_bars, stacked_rows, sum_of_rows
from pages.components import plot
from pages.core import formulas, selection, token_rows
from pages.core.view import View

#: Up to so many rows the sum stands in the same picture: each row is then high enough to be seen.
ROWS_WITH_SUM = 48


def show(view: View) -> None:
    """Each weight times its value, the sum z, then all heads through W_O."""
    config = view.loaded.config
    place = selection.selection(view, config.d_head)
    step = explain.weighted_sum(view.trace, place)
    heads = explain.output_projection(view.trace, selection.selection(view, config.d_model))
    i = selection.token(view, place.query)
    st.markdown(
        f"{i} takes a part of every token's :green[value]: as much as its weight says. The parts are added up to "
        "z, which is what this head has found."
    )
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)", component=config.d_head)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _weighted(view, place, step)
    with right:
        formulas.show_step(step.formula)
        selection.check(view, lambda reference: (*step.check(reference), *heads.check(reference)))
        j = selection.token(view, place.key)
        st.button(
            f"How the value of {j} is made",
            icon=":material/arrow_forward:",
            on_click=selection.go,
            args=("qkv",),
            kwargs={"vector": "v", "i": place.query, "j": place.key},
        )
    st.subheader("The heads together", anchor=False)
    _heads(view, heads)


def _weighted(view: View, place: explain.Place, step: explain.WeightedSum) -> None:
    rows = token_rows.part(view.trace.n_tokens, place.key, "mixing")
    count = rows.stop - rows.start
    if count <= ROWS_WITH_SUM:
        _with_sum(view, place, step, rows)
    else:
        _rows_then_sum(view, place, step, rows)
    largest = int(abs(step.terms).argmax())
    most = formulas.number(float(step.terms[largest]))
    st.caption(
        f"Row j: the weight of token j times its value. Their sum is z, the row at the bottom. To component "
        f"{place.component} {selection.token(view, largest)} brings most: {most} of "
        f"{formulas.number(float(step.z[place.component]))}."
        + ("" if count == view.trace.n_tokens else f" Drawn: {count} of {view.trace.n_tokens:,} tokens, summed: all.")
    )


def _with_sum(view: View, place: explain.Place, step: explain.WeightedSum, rows: slice) -> None:
    count = rows.stop - rows.start
    plot(
        sum_of_rows(
            step.weighted[rows], step.z, view.trace.labels[rows], "v", name="sum: z",
            selected=place.key - rows.start, component=place.component,
        ),
        key="weighted-values",
        alt="Weight times value: one row a token, one column a component; the sum of all rows, z, at the bottom.",
        height=token_rows.height(count + 1, most=480),
        on_event=partial(_take_cell, first=rows.start, count=count),
    )  # fmt: skip


def _rows_then_sum(view: View, place: explain.Place, step: explain.WeightedSum, rows: slice) -> None:
    """Many rows, each faint beside their sum: two pictures, each with its own full colour."""
    plot(
        figures.vectors_heatmap(
            step.weighted[rows], view.trace.labels, "v", selected=place.key, component=place.component, first=rows.start
        ),
        key="weighted-rows",
        alt="Weight times value: one row a token, one column a component.",
        height=token_rows.height(rows.stop - rows.start, most=460),
        on_event=partial(selection.take_cell, row="j", column="component"),
    )
    plot(
        stacked_rows({"sum: z": step.z}, component=place.component, kind="v"),
        key="z-row",
        alt="The sum of all rows: z.",
        height=selection.rows_height(1),
        on_event=partial(selection.take_cell, row=None, column="component"),
    )


def _take_cell(event: dict, first: int, count: int) -> None:
    """A click on the map: the token of its row, unless that is the sum, and the component of its column."""
    inside = event.get("event") == "click" and event["axis"] in ("cell", "y") and event["i"] < count
    if inside:
        event = {**event, "i": event["i"] + first}
    selection.take_cell(event, "j" if inside else None, "component")


def _heads(view: View, step: explain.OutputProjection) -> None:
    config, place = view.loaded.config, step.place
    i = selection.token(view, place.query)
    strongest = int(abs(step.shares[:-1]).argmax())
    st.markdown(
        f"Side by side the {config.n_heads} z of {i} are {config.n_heads * config.d_head} numbers. W_O turns them "
        f"into {config.d_model}: what attention adds to the stream. Since W_O is linear, each head has a share of "
        f"its own. Here head {strongest} has the largest, {step.shares[strongest]:.0%}."
    )
    left, right = st.columns([6, 5], gap="medium")
    names = [f"H{head}" for head in range(config.n_heads)] + ["bias"]
    with left:
        st.plotly_chart(
            named_bars(step.shares, names, axis="share of the result", chosen=place.head),
            height=260,
            key="head-shares",
            alt="The share of every head, and of the bias, in what attention adds to the token.",
        )
        st.caption(
            "The part of the result's direction that each head brings; together 100 %. A negative share pulls the"
            " other way."
        )
    with right:
        formulas.show_step(step.formula)
    rows = {f"head {head}": step.contributions[head] for head in range(config.n_heads)}
    plot(
        stacked_rows(rows | {"bias": step.bias, "result": step.result}, component=place.component),
        key="contributions",
        alt="What each head adds to the stream, one row a head, the result last.",
        height=140 + 22 * (len(rows) + 2),
        on_event=partial(selection.take_cell, row=None, column="component"),
    )
