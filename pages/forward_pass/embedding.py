"""Step 2: a row of the table, the segment, the position, their sum, the norm."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import stacked_rows
from pages.components import plot
from pages.core import formulas, selection
from pages.core.view import View


def show(view: View) -> None:
    """Vectors and sum as rows, the formula, the lookup as a product with a one-hot vector."""
    config = view.loaded.config
    place = selection.selection(view, config.embedding_width)
    step = explain.embedding(view.trace, place)
    drawn = "that was learned" if view.model.scratch is None else "that was drawn at random"
    st.markdown(
        f"The id picks one row of a table {drawn}: that row is the token's vector, wherever the token stands. "
        + _added(step)
    )
    selection.place_bar(view, place, query="Token", component=config.embedding_width)
    _rows("embedding-rows", rows_of(step), place.component, f"The vectors that make the embedding of {step.label}.")
    if step.normalised is not None:
        st.caption("The norm brings the sum to mean 0 and deviation 1, and to the gain and bias of each component:")
        normalised = {"normalised": step.normalised}
        _rows("embedding-norm", normalised, place.component, "The same after the norm.")
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        if step.position_formula is not None:
            st.markdown("The position's number comes from a formula:")
            formulas.show_step(step.position_formula)
        selection.check(view, step.check)
    with right:
        _one_hot(view, place)


def _rows(key: str, rows: dict[str, object], component: int, alt: str) -> None:
    plot(
        stacked_rows(rows, component=component),
        key=key,
        alt=f"{alt} One row a vector, one column a component.",
        height=selection.rows_height(len(rows)),
        on_event=partial(selection.take_cell, row=None, column="component"),
    )


def rows_of(step: explain.EmbeddingStep) -> dict[str, object]:
    """Name -> vector, what there is of token, segment, position, and their sum."""
    rows = {
        "token": step.token,
        "segment": step.segment,
        "position": step.position,
        "sum": step.total,
    }
    return {name: row for name, row in rows.items() if row is not None}


def _added(step: explain.EmbeddingStep) -> str:
    parts = [name for name, row in (("segment", step.segment), ("position", step.position)) if row is not None]
    if not parts:
        return (
            f"{selection.quoted(step.label)} is row {step.id:,} of the table. Nothing is added: this model has no "
            "positions here."
        )
    rows = {"segment": step.segment_id, "position": step.position_row}
    here = " and ".join(f"{name} {rows[name]}" for name in parts)
    return (
        f"The vectors of its {' and its '.join(parts)} are added, number by number. "
        f"{selection.quoted(step.label)} is row {step.id:,} of the table, at {here}."
    )


def _one_hot(view: View, place: explain.Place) -> None:
    st.markdown("**Why a table lookup is a matrix product**")
    lookup = explain.lookup(view.trace, place.query)
    vocabulary = view.loaded.config.vocab_size
    st.markdown(
        f"A vector with a 1 at {lookup.id} and {vocabulary - 1:,} zeros, times the whole table, was really "
        f"multiplied: the result is row {lookup.id}, with a largest difference of {lookup.difference:g}."
    )
    formulas.show(rf"[0 \cdots 0\; \underset{{{lookup.id}}}{{1}}\; 0 \cdots 0] \cdot E = E_{{{lookup.id}}}")
    tokens = view.loaded.tokenizer
    last = lookup.first_row + len(lookup.table)
    names = [f"{row} {tokens.token(row)}" for row in range(lookup.first_row, last)]
    plot(
        figures.vectors_heatmap(
            lookup.table, names, "residual", selected=lookup.id - lookup.first_row, component=place.component
        ),
        key="table",
        alt=f"Seven rows of the token table, row {lookup.id} framed.",
        height=290,
        on_event=partial(selection.take_cell, row=None, column="component"),
    )
