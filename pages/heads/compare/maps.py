"""The maps of A and B and their difference, the line above them, and the pairs of tokens that differ most."""

import math

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures import difference
from encoder.figures.numbers import three_digits
from encoder.measure import map_comparison
from encoder.measure.ranking import Weights
from pages.components import plot
from pages.core.widgets import answer
from pages.heads.compare.compared import Compared, percent, signed
from pages.heads.compare.sides import clear_selection, select_on_click

#: Up to this many steps all three maps fit into one row; more need two rows.
IN_ONE_ROW = 24
HEIGHT, TALL = 400, 460


def figures_of(compared: Compared, colours: str) -> dict[str, go.Figure]:
    """ "A", "B" and "difference" -> figure; A and B have the same colours."""
    found, sides = compared.found, compared.sides
    steps, labels = sides.alignment, compared.step_labels
    drawn = {}
    for side, weights, names, positions, gaps in (
        (sides.first, found.first, labels[0], steps.first, steps.gaps[0]),
        (sides.second, found.second, labels[1], steps.second, steps.gaps[1]),
    ):
        options = {"block": found.block, "colours": colours, "selected": compared.selected, "square": False}
        options["scale"] = compared.end
        figure = figures.attention_heatmap(weights, names, places=(positions, positions), **options)
        figure.update_layout(margin_t=8)  # the colour bar makes the room that it needs
        drawn[side.name] = difference.show_gaps(figure, gaps) if found.block == 1 else figure
    less, more = sides.ends
    by_side = {"A": found.first, "B": found.second}
    figure = difference.attention_difference(
        found.difference if more is sides.second else -found.difference,
        labels[2],
        names=(less.name, more.name),
        block=found.block,
        selected=compared.selected,
        weights=(by_side[less.name], by_side[more.name]),
        disambiguated=compared.names,
        square=False,
    )
    every_gap = sorted({step for side in steps.gaps for step in side})
    drawn["difference"] = difference.show_gaps(figure, every_gap) if found.block == 1 else figure
    return drawn


def draw(compared: Compared, drawn: dict[str, go.Figure]) -> None:
    """Draw the three maps, in two rows where one has no room; a click in any map selects in all."""
    sides = compared.sides
    fits = len(sides.alignment) <= IN_ONE_ROW
    places = st.columns(3, gap="small") if fits else [one for _ in range(2) for one in st.columns(2, gap="small")][:3]
    less, more = sides.ends
    colours = {less.name: difference.LESS, more.name: difference.MORE}
    for place, (name, figure) in zip(places, drawn.items(), strict=True):
        if name == "difference":
            difference.name_side(figure, f"{more.name} − {less.name}")
            alt = f"Difference of both maps, {more.name} minus {less.name}, around 0."
        else:
            side = sides.first if name == "A" else sides.second
            text = side.title if sides.what == "sentences" else compared.described(side)
            difference.name_side(figure, name, text, colours[name])
            alt = f"Attention map of side {name}, {compared.described(side)}: queries downwards, keys to the right."
        with place:
            plot(
                figure,
                key=f"compare-{name}",
                alt=alt,
                height=HEIGHT if fits else TALL,
                together=answer.together(),
                selected=compared.selected if compared.found.block == 1 else None,
                on_event=select_on_click(sides.alignment, compared.found.block),
            )


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
