"""Below the maps: the pairs of tokens that differ most, and every head by how much it differs."""

import math

import numpy as np
import streamlit as st

from encoder.figures import difference
from encoder.figures.numbers import three_digits
from encoder.measure import map_comparison
from encoder.measure.ranking import Weights
from pages.compare.compared import Compared, percent, signed
from pages.compare.sides import clear_selection, open_on_click
from pages.components import plot
from pages.core.widgets import answer
from pages.core.widgets.comparison import EVERY_HEAD
from pages.core.words import gestures


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


def every_head(compared: Compared, colours: str) -> None:
    """All heads by the share of their attention that differs; a click opens one."""
    sides = compared.sides
    distance = sides.by_head(compared.special)
    if distance is None:
        st.info(
            f"Every head is compared up to {EVERY_HEAD:,} tokens; this {compared.words.text} is longer. Choose heads "
            "by number.",
            icon=":material/info:",
        )
        return
    layer, head = np.unravel_index(int(distance.argmax()), distance.shape)
    most = f"Largest: L{layer} H{head}, {percent(float(distance[layer, head]))}."
    if sides.what == "heads":
        st.markdown(f"**Every head against A** ({sides.first.head_name}): share of attention that differs. {most}")
        chosen, limit = sides.second, 1.0
    else:
        st.markdown(f"**Every head, A against B**: share of attention that differs. {most}")
        chosen, limit = sides.first, None
    plot(
        difference.heads_heatmap(
            distance, title="share that differs", hover="L%{y} H%{x}: %{z:.1%} differs",
            selected=(chosen.layer, chosen.head), limit=limit, colours=colours,
        ),
        key="compare-heads",
        alt=f"Share of attention that differs, for {distance.size} heads: layers downwards, heads to the right.",
        height=290,
        on_event=open_on_click(sides.what),
    )  # fmt: skip
    gestures.caption(
        f"{gestures.CLICK} a head to open it. The share is the total variation distance of two rows, averaged over "
        "queries: 0 for equal rows, 1 for rows without a common key."
    )
