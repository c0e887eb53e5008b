"""For each head type a card with the small maps of its heads."""

import numpy as np
import pandas as pd
import streamlit as st

from encoder import figures
from encoder.documents.document import Section
from encoder.export import report
from encoder.measure import head_types
from pages.components import head_grid
from pages.core.inputs.input_words import words_of
from pages.core.view import View, head_measures, maps, selection
from pages.core.widgets import Export, title
from pages.heads.types.heads import Heads, thresholds_in_python


def draw(view: View, found: Heads) -> Export:
    """The types that heads have, each with its heads; then the names of the types that no head has."""
    wanted = [one for one in found.types.values() if not found.wanted or one.name == found.wanted]
    present = {one: numbers for one in wanted if (numbers := found.with_type(one.name))}
    missing = [one.title.lower() for one in wanted if one not in present]
    for one, numbers in present.items():
        with st.container(border=True, gap="small"):
            _card(view, found, one, numbers)
    if missing:
        st.caption(f"Types that no head has in this {words_of(view.trace).input}: {', '.join(missing)}.")
    return exported(view, found)


def answer(found: Heads) -> str:
    """How many heads have a type, and how many each."""
    n_types = [len(found.findings(number)) for number in range(len(found))]
    some, several = sum(map(bool, n_types)), sum(one > 1 for one in n_types)
    each = [f"{one.title}: {len(found.with_type(one.name))}" for one in found.types_present()]
    each += [f"Several types: {several}"] * (several > 0)
    return f"**{some} of {len(found)} heads** have a clear pattern. {'; '.join(each)}".strip() + "." * bool(each)


def exported(view: View, found: Heads) -> Export:
    """The heads of each type, and in the report all small maps."""
    limits = head_measures.thresholds()  # read now: a download is made without the session

    def frame() -> pd.DataFrame:
        rows = head_types.table(found.measures, limits)
        return rows[rows["head_type"] == found.wanted] if found.wanted else rows

    def sections() -> list[Section]:
        rows = frame()
        shown = [one for one in found.types.values() if (rows["head_type"] == one.name).any()]
        every_head = report.every_head_section(view.trace, None, view.colours)
        return [*(_of_type(one, rows) for one in shown), every_head]

    lines = (
        "from encoder.measure import head_types, heads\n"
        f"found = head_types.table({found.measured()}{thresholds_in_python()}){found.only_wanted('found')}"
    )
    settings = found.settings("roles")
    return Export(view, title(view, "Heads by type"), frame, sections=sections, lines=lines, settings=settings)


def _of_type(one: head_types.HeadType, rows: pd.DataFrame) -> Section:
    heads = rows[rows["head_type"] == one.name].drop(columns="head_type")
    return Section(f"{one.title}: {len(heads)}", sentences=[one.sentence], table=heads)


def _card(view: View, found: Heads, one: head_types.HeadType, numbers: list[int]) -> None:
    heads = [divmod(number, found.n_heads) for number in numbers]
    layers = sorted({layer for layer, _ in heads})
    st.markdown(f"**{one.title}** · {len(heads)}  \n{one.sentence}  \n{_here(view, found, one, numbers)}")
    head_grid(
        np.stack([maps.of_layer(view, layer) for layer in layers]),
        layers=layers,
        heads=found.n_heads,
        order=heads,
        selected=(view.layer, view.head),
        key=f"strip-{one.name}",
        alt=f"{one.title}: " + ", ".join(f"L{layer} H{head}" for layer, head in heads) + ".",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=selection.open_from,
    )


def _here(view: View, found: Heads, one: head_types.HeadType, numbers: list[int]) -> str:
    """The head of a type with the largest number, and the measure that shows it."""

    def finding(number: int) -> head_types.Finding:
        return next(finding for finding in found.findings(number) if finding.head_type.name == one.name)

    best = max(numbers, key=lambda number: finding(number).value)
    layer, head = divmod(best, found.n_heads)
    shown = finding(best)
    measure = head_measures.offered(view.trace)[shown.measure].title
    return (
        f"In this {words_of(view.trace).input}: L{layer} H{head} has the largest number, “{measure}” {shown.value:.2f}."
    )
