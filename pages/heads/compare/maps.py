"""The maps of A and B and their difference, over the same steps."""

import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures import difference
from pages.components import plot
from pages.core.widgets import answer
from pages.heads.compare.compared import Compared
from pages.heads.compare.sides import select_on_click

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
