"""Below the maps: the pairs of tokens that differ most, and every head by how much it differs."""

import math

import numpy as np
import streamlit as st

from encoder.figures import difference
from encoder.figures.numbers import three_digits
from encoder.measure import map_comparison
from pages.compare.compared import Compared, percent, signed, weights
from pages.compare.sides import clear_selection, open_on_click
from pages.components import plot
from pages.core.comparison import EVERY_HEAD


def pairs(compared: Compared) -> None:
    """The pairs that differ most, of the selected query or of all; and the selected pair."""
    query, key = compared.selected
    cells = list(compared.found.largest)
    if query is None:
        st.markdown("**The pairs that differ most.** Click a cell or a token in a map to select it in all maps.")
    else:
        sides = compared.sides
        rows = map_comparison.row_differences(
            sides.first.measured, sides.second.measured, sides.alignment, query, special=compared.special
        )
        cells = rows[:8]
        if key is not None:
            cell = next(cell for cell in rows if cell.key == key)
            change = "" if math.isnan(cell.difference) else f"; difference: **{signed(cell.difference)}**"
            st.markdown(f"{compared.bold(query)} to {compared.bold(key)}: {weights(cell)}{change}.")
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
    if query is not None or key is not None:
        st.button("Clear selection", icon=":material/close:", on_click=clear_selection, key="compare:clear")


def _weight(weight: float) -> str:
    return "–" if math.isnan(weight) else three_digits(weight)


def every_head(compared: Compared, colours: str) -> None:
    """All heads by the share of their attention that differs; a click opens one."""
    sides = compared.sides
    distance = sides.by_head(compared.special)
    if distance is None:
        st.info(
            f"Every head is compared up to {EVERY_HEAD:,} tokens; this text is longer. Choose heads by number.",
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
    st.caption(
        "Click a head to open it. The share is the total variation distance of two rows, averaged over queries: 0 for "
        "equal rows, 1 for rows without a common key."
    )
