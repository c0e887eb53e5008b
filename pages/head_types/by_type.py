"""For each head type a card with the small maps of its heads."""

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure.head_types import Finding, HeadType
from pages.components import head_grid
from pages.core import head_measures, sidebar, small_maps
from pages.core.input_words import words_of
from pages.core.view import View
from pages.head_types.heads import Heads


def draw(view: View, found: Heads) -> None:
    """The types that heads have, each with its heads; then the names of the types that no head has."""
    wanted = [one for one in found.types.values() if not found.wanted or one.name == found.wanted]
    present = {one: numbers for one in wanted if (numbers := found.with_type(one.name))}
    missing = [one.title.lower() for one in wanted if one not in present]
    columns = st.columns(2 if len(present) > 1 else 1)
    for at, (one, numbers) in enumerate(present.items()):
        with columns[at % len(columns)], st.container(border=True, gap="small"):
            _card(view, found, one, numbers)
    if missing:
        st.caption(f"Types that no head has in this {words_of(view.trace).input}: {', '.join(missing)}.")


def _card(view: View, found: Heads, one: HeadType, numbers: list[int]) -> None:
    heads = [divmod(number, found.n_heads) for number in numbers]
    layers = sorted({layer for layer, _ in heads})
    st.markdown(f"**{one.title}** · {len(heads)}  \n{one.sentence}  \n{_here(view, found, one, numbers)}")
    head_grid(
        np.stack([small_maps.of_layer(view, layer) for layer in layers]),
        layers=layers,
        heads=found.n_heads,
        order=heads,
        selected=(view.layer, view.head),
        key=f"strip-{one.name}",
        alt=f"{one.title}: " + ", ".join(f"L{layer} H{head}" for layer, head in heads) + ".",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=lambda event: event["event"] == "open" and sidebar.open_head(event["layer"], event["head"]),
    )


def _here(view: View, found: Heads, one: HeadType, numbers: list[int]) -> str:
    """The head of a type with the largest number, and the measure that shows it."""

    def finding(number: int) -> Finding:
        return next(finding for finding in found.findings(number) if finding.head_type.name == one.name)

    best = max(numbers, key=lambda number: finding(number).value)
    layer, head = divmod(best, found.n_heads)
    shown = finding(best)
    measure = head_measures.offered(view.trace)[shown.measure].title
    return (
        f"In this {words_of(view.trace).input}: L{layer} H{head} has the largest number, “{measure}” {shown.value:.2f}."
    )
