"""Around the maps: the line above them, and the pairs of tokens that differ most."""

import math

import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.measure import map_comparison
from encoder.measure.ranking import Weights
from pages.core.widgets import answer
from pages.heads.compare.compared import Compared, percent, signed
from pages.heads.compare.sides import clear_selection


def draw_answer(compared: Compared) -> None:
    """The line above the maps: the selected cell or row on both sides."""
    sides, (query, key) = compared.sides, compared.selected
    first, second = answer.HINT, ""
    if query is not None:
        rows = map_comparison.query_rows(
            sides.first.measured, sides.second.measured, sides.alignment, query, special=compared.special
        )
        named = list(zip("AB", rows, strict=True))
        largest = [f"in {name} {text}" for name, row in named if (text := answer.largest(row, compared.names))]
        second = f"Largest in this row: {'; '.join(largest)}."
        if key is not None:
            change = float(rows[1][key]) - float(rows[0][key])
            said = "" if math.isnan(change) else f"; B − A: **{signed(change)}**"
            both = ", ".join(_ranked(name, row, key) for name, row in named)
            first = f"{compared.bold(query)} attends to {compared.bold(key)}: {both}{said}."
        else:
            first = f"{compared.bold(query)} is selected. Select a cell of its row to read both weights."
    elif key is not None:
        first = f"{compared.bold(key)} is selected. Select a cell of its column to read both weights."
    in_first = sides.alignment.first
    has_cell = query is not None and key is not None and None not in (in_first[query], in_first[key])
    answer.draw(
        first,
        second,
        cell={} if has_cell and compared.special != "renormalise" else None,
        clear=None if query is None and key is None else clear_selection,
    )


def _ranked(name: str, row: Weights, key: int) -> str:
    """The weight of a side with its rank; a side may lack the pair."""
    return f"no such pair in {name}" if math.isnan(row[key]) else f"{answer.weight(row, key)} in {name}"


def pairs(compared: Compared) -> None:
    """The pairs that differ most, of the selected query or of all; and the selected pair."""
    query, _ = compared.selected
    cells = list(compared.found.largest)
    if query is None:
        st.markdown("**The pairs that differ most.**")
    else:
        sides = compared.sides
        cells = map_comparison.row_differences(
            sides.first.measured, sides.second.measured, sides.alignment, query, special=compared.special
        )[:8]
        distance = float(compared.found.distance[query])
        share = "" if math.isnan(distance) else f" Share of its attention that differs: {percent(distance)}."
        st.markdown(f"The keys of {compared.bold(query)} that differ most:{share}")
    st.dataframe(
        {
            "from": [compared.names[cell.query] for cell in cells],
            "to": [compared.names[cell.key] for cell in cells],
            "A": [_weight(cell.first) for cell in cells],
            "B": [_weight(cell.second) for cell in cells],
            "difference": [signed(cell.difference) for cell in cells],
        },
        hide_index=True,
        width="stretch",
        column_config={"from": "Query", "to": "Key", "difference": "B − A"},
    )


def _weight(weight: float) -> str:
    return "–" if math.isnan(weight) else three_digits(weight)
