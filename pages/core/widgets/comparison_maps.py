"""Two maps and their difference, the line above them, and their export. Heads and Pre/post-norm draw them."""

import math
from collections.abc import Callable, Mapping

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.documents import tables
from encoder.documents.document import Section
from encoder.figures import difference
from encoder.figures.placements import PLACEMENT_NAMES, SIGNS
from encoder.measure import map_comparison
from encoder.measure.ranking import Weights
from pages.components import PlotEvent, plot
from pages.core.view import View
from pages.core.widgets import Export, answer, comparison
from pages.core.widgets.compared import Compared, signed
from pages.core.words import gestures

#: Name of a norm placement -> its sign, the same as in the curves of both.
SIGN_OF = {PLACEMENT_NAMES[placement]: sign for placement, sign in SIGNS.items()}
#: Up to this many steps all three maps fit into one row; more need two rows.
IN_ONE_ROW = 24
HEIGHT, TALL = 400, 460


def show(
    view: View,
    compared: Compared,
    name: str,
    settings: Mapping[str, str],
    *,
    on_event: Callable[[PlotEvent], None],
    clear: Callable[[], None],
    together: Mapping[str, str] | None = None,
    linked: bool = True,
) -> Export:
    """Draw the maps and what differs, and return the export of this name.

    on_event: what a click in any map does; clear: undoes the selection; together: as for `plot`; linked:
    whether the page Model shows the first side.
    """
    drawn = figures_of(compared, view.colours)
    with answer.area():
        draw_answer(compared, clear, linked=linked)
        draw(compared, drawn, on_event, together)
    if None not in compared.selected:  # else it is the first line
        st.markdown(compared.differences())
    st.caption(compared.legend())
    return Export(
        view,
        name,
        lambda: tables.comparison_frame(compared.found, *compared.step_labels[:2]),
        sections=lambda: report_sections(compared, drawn),
        lines=comparison.python_lines(compared.sides, compared.special),
        settings=settings,
    )


def report_sections(compared: Compared, drawn: dict[str, go.Figure]) -> list[Section]:
    """The parts of the standalone report."""
    sides = compared.sides
    less, more = sides.ends
    titles = {side.name: f"{side.name}: {compared.described(side)}" for side in (sides.first, sides.second)}
    titles["difference"] = f"The difference, {more.name} − {less.name}"
    differences = compared.differences().replace("**", "").replace("\\", "")
    return [
        Section("What differs", sentences=[differences, compared.legend()]),
        *(Section(titles[name], figure=figure) for name, figure in drawn.items()),
        Section("The pairs that differ most", table=tables.cells_frame(compared.found.largest, compared.names)),
    ]


def figures_of(compared: Compared, colours: str) -> dict[str, go.Figure]:
    """The name of each side and "difference" -> figure; both sides have the same colours."""
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
        drawn[side.name] = difference.show_gaps(figure, gaps) if found.block == 1 else figure
    less, more = sides.ends
    by_side = {sides.first.name: found.first, sides.second.name: found.second}
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


def draw(
    compared: Compared,
    drawn: dict[str, go.Figure],
    on_event: Callable[[PlotEvent], None],
    together: Mapping[str, str] | None = None,
) -> None:
    """Draw the three maps, in two rows where one has no room; arguments as for `show`."""
    sides = compared.sides
    fits = len(sides.alignment) <= IN_ONE_ROW
    places = st.columns(3, gap="small") if fits else [*st.columns(2, gap="small"), st.container()]
    less, more = sides.ends
    colours = {less.name: difference.LESS, more.name: difference.MORE}
    for place, (name, figure) in zip(places, drawn.items(), strict=True):
        if name == "difference":
            difference.name_side(figure, f"{more.name} − {less.name}")
            alt = f"Difference of both maps, {more.name} minus {less.name}, around 0."
        else:
            side = sides.first if name == sides.first.name else sides.second
            text = side.title if sides.what == "sentences" else compared.described(side)
            if sides.moves_norms:  # the name says what differs, and leaves a phone no room for the model's
                text = side.head_name
            difference.name_side(figure, name, text, colours[name], SIGN_OF.get(name, "●"))
            alt = f"Attention map of {name}, {compared.described(side)}: queries downwards, keys to the right."
        with place:
            plot(
                figure,
                key=f"compare-{name}",
                alt=alt,
                height=HEIGHT if fits else TALL,
                together=together,
                selected=compared.selected if compared.found.block == 1 else None,
                on_event=on_event,
            )


def draw_answer(compared: Compared, clear: Callable[[], None], *, linked: bool) -> None:
    """The line above the maps: what differs, or the selected cell on both sides; then the selected row."""
    sides, (query, key) = compared.sides, compared.selected
    first, second = compared.differences(), answer.HINT
    if query is not None:
        rows = map_comparison.query_rows(
            sides.first.measured, sides.second.measured, sides.alignment, query, special=compared.special
        )
        named = list(zip((sides.first.name, sides.second.name), rows, strict=True))
        largest = [f"in {name} {text}" for name, row in named if (text := answer.largest(row, compared.names))]
        second = f"Largest for {compared.bold(query)}: {'; '.join(largest)}."
        if key is not None:
            change = float(rows[1][key]) - float(rows[0][key])
            said = "" if math.isnan(change) else f"; {sides.second.name} − {sides.first.name}: **{signed(change)}**"
            both = ", ".join(_ranked(name, row, key) for name, row in named)
            first = f"{compared.bold(query)} attends to {compared.bold(key)}: {both}{said}."
        else:
            second += gestures.invitation(" Select a cell of its row to read both.")
    elif key is not None:
        how = gestures.invitation("Select a cell of its column to read both weights.")
        second = f"{compared.bold(key)} is selected. {how}"
    in_first = sides.alignment.first
    has_cell = linked and query is not None and key is not None and None not in (in_first[query], in_first[key])
    answer.draw(
        first,
        second,
        cell={} if has_cell and compared.special != "renormalise" else None,
        clear=None if query is None and key is None else clear,
    )


def _ranked(name: str, row: Weights, key: int) -> str:
    """The weight of a side with its rank; a side may lack the pair."""
    return f"no such pair in {name}" if math.isnan(row[key]) else f"{answer.weight(row, key)} in {name}"
