"""Step 2: a row of the table, the segment, the position, their sum, the norm."""

import streamlit as st

from encoder import explain, figures
from pages.components import plot
from pages.core.view import selection
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View
from pages.core.words import formulas
from pages.core.words.markdown import plain
from pages.forward_pass.params import Params
from pages.forward_pass.parts import vector_rows


def show(view: View, params: Params) -> None:
    """Vectors and sum as rows, the formula, the lookup as a product with a one-hot vector."""
    config = view.loaded.config
    place = selection.selected_place(view, config.embedding_width)
    step = explain.embedding(view.trace, place)
    origin = "learned" if view.model.scratch is None else "random"
    st.markdown(
        f"The id selects one row of a {origin} table. This row is the token's vector at every position. {_added(step)}"
    )
    selection.place_bar(view, place, query="Token", component=config.embedding_width)
    vector_rows(rows_of(step), place, key="embedding-rows", alt=f"The vectors in the embedding of {step.label}.")
    if step.normalised is not None:
        st.caption(
            "LayerNorm sets the mean to 0 and the standard deviation to 1, then applies a gain and a bias per "
            "component:"
        )
        vector_rows({"normalised": step.normalised}, place, key="embedding-norm", alt="The sum after LayerNorm.")
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        if step.position_formula is not None:
            st.markdown("The position's number:")
            formulas.show_step(step.position_formula)
        selection.check_toggle(view, step.check)
    with right:
        _one_hot(view, place)


def rows_of(step: explain.EmbeddingStep) -> dict[str, object]:
    """Name -> vector: token, segment and position, where the model adds them, and their sum."""
    rows = {"token": step.token, "segment": step.segment, "position": step.position, "sum": step.total}
    return {name: row for name, row in rows.items() if row is not None}


def _added(step: explain.EmbeddingStep) -> str:
    token = f"“{plain(step.label)}” is row {step.id:,}"
    parts = []
    if step.segment is not None:
        parts.append(f"segment {step.segment_id}")
    if step.position is not None:
        parts.append(f"position {step.position_row}")
    if not parts:
        return f"{token}. This model adds no position vector here."
    return f"{token}. The vectors of {' and '.join(parts)} are added component by component."


def _one_hot(view: View, place: explain.Place) -> None:
    lookup = explain.lookup(view.trace, place.query)
    vocabulary = view.loaded.config.vocab_size
    tokens = view.loaded.tokenizer
    last = lookup.first_row + len(lookup.table)
    st.markdown("**A lookup is a matrix product**")
    plot(
        figures.vectors_heatmap(
            lookup.table,
            [f"{row} {tokens.token(row)}" for row in range(lookup.first_row, last)],
            "residual",
            selected=lookup.id - lookup.first_row,
            component=place.component,
        ),
        key="table",
        alt=f"Seven rows of the token table, row {lookup.id} framed.",
        height=290,
        on_event=selection.on_cell(column=PlaceParams.component),
    )
    st.markdown(
        f"A one-hot vector has a 1 at {lookup.id} and {vocabulary - 1:,} zeros. Its product with the table is row "
        f"{lookup.id}. Largest difference between product and row: {lookup.difference:g}."
    )
    formulas.show(rf"[0 \cdots 0\; \underset{{{lookup.id}}}{{1}}\; 0 \cdots 0] \cdot E = E_{{{lookup.id}}}")
