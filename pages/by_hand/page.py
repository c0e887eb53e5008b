"""By hand: one small encoder layer with editable numbers, and the mistakes of teaching notes next to it."""

from functools import partial

import streamlit as st

from encoder import EncoderError, figures
from encoder.documents import tables
from encoder.explain.by_hand import Calculation, Inputs, claims, compute
from pages.by_hand import mistakes, numbers_in_link
from pages.by_hand.params import Params
from pages.components.by_hand import by_hand
from pages.core.frame.frame import heading, show
from pages.core.widgets import Export, arguments, changes, learn_parts
from pages.core.words import about, opening, say_error
from pages.state import next_page, state

PARTS = {"calculation": "Calculation", "notes": "Spot the mistakes"}


def main() -> None:
    with heading(about.text(__file__, state.newest(Params.part))):
        learn_parts.choose("by_hand")
    part = state.segmented(Params.part, "Part of the page", PARTS, label_visibility="collapsed")
    if part == "notes":
        opening("Which numbers of these teaching notes are wrong?")
        mistakes.show()
        Export(
            None,
            "Spot the mistakes",
            lambda: tables.claims_frame(claims()),
            program="from encoder.export import tables\nfrom encoder.explain.by_hand import claims\n"
            "table = tables.claims_frame(claims())\n",
        ).draw()
    else:
        inputs = numbers_in_link.current()
        example = computed(inputs)
        by_hand(inputs, key="by-hand", problem=example is None, on_change=partial(state.put, Params.inputs))
        if example is not None:
            exported(inputs, example).draw()
    st.caption(about.text(__file__, "Where the numbers are from"))
    next_page("model", "Where are these steps in a real model?")


def computed(inputs: Inputs) -> Calculation | None:
    """The results, or None for numbers that do not fit, with a sentence that says why."""
    try:
        return compute(inputs)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/edit:", after=" Results follow then.")
        return None


def exported(inputs: Inputs, example: Calculation) -> Export:
    """Every number of the calculation, and the changed inputs."""
    heading = "Attention: one row per query, one column per key"
    return Export(
        None,
        "By hand: The cat sat",
        lambda: tables.step_frame(example),
        figures=lambda: {heading: figures.attention_heatmap(example.attention, inputs.words)},
        program="from encoder.export import tables\nfrom encoder.explain.by_hand import Inputs, compute\n"
        f"example = compute(Inputs({arguments(inputs)}))\ntable = tables.step_frame(example)\n",
        settings={
            "Changed": ", ".join(changes(inputs)) or "nothing",
            "Norm placement": inputs.norm_placement,
            "Positions": inputs.positions,
        },
    )


show(main)
