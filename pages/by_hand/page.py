"""Attention by hand: one small encoder layer with editable numbers, and the mistakes of teaching notes next to it."""

import streamlit as st

from encoder import EncoderError, figures
from encoder.explain.by_hand import Calculation, Inputs, claims, compute
from encoder.export import tables
from pages.by_hand import editable_inputs, mistakes
from pages.by_hand.params import Params
from pages.by_hand.sections import SECTIONS, ExampleSection
from pages.core.frame.frame import heading
from pages.core.widgets import Export, arguments, changes
from pages.core.words import about, say_error
from pages.state import next_page, state

PARTS = {"calculation": "Calculation", "notes": "Spot the mistakes"}
POSITIONS = {"formula": "formula", "notes": "from the notes", "own": "your own"}


def main() -> None:
    heading(about.text(__file__, state.newest(Params.part)))
    st.caption(about.text(__file__, "Where the numbers are from"))
    part = state.segmented(Params.part, "Part of the page", PARTS, label_visibility="collapsed")
    if part == "notes":
        mistakes.show()
        Export(
            None,
            "Spot the mistakes",
            lambda: tables.claims_frame(claims()),
            program="from encoder.export import tables\nfrom encoder.explain.by_hand import claims\n"
            "table = tables.claims_frame(claims())\n",
        ).draw()
    else:
        base = editable_inputs.begin()
        inputs, example = calculation(base, options(base))
        editable_inputs.end(inputs)
        if example is not None:
            exported(inputs, example).draw()
    next_page("model", "Model, the same steps in a real model")


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


def options(base: Inputs) -> Inputs:
    """Positional encoding, norm placement, and the scale of the scores."""
    choice = editable_inputs.choice
    with st.container(horizontal=True, gap="medium"):
        positions = choice("positions", base, "Positional encoding", POSITIONS)
        placement = choice("norm_placement", base, "Norm placement", {"post": "Post-norm", "pre": "Pre-norm"})
        scaled = choice("scaled", base, "Scores", {True: "divided by √d_k", False: "not divided"})
    st.button(
        "Reset all numbers", icon=":material/restart_alt:", key="reset-numbers", on_click=editable_inputs.reset,
        help="Back to the numbers of the example.",
    )  # fmt: skip
    return base.replace(positions=positions, norm_placement=placement, scaled=scaled)


def calculation(base: Inputs, inputs: Inputs) -> tuple[Inputs, Calculation | None]:
    """Draw the tables on the left and the results on the right. The tables come first: each result needs those above.

    Returns the numbers of the tables and the results, None for tables that do not fit.
    """
    problem = st.container()
    places, edited = [], {}
    for section in SECTIONS:
        st.header(section.title, anchor=False)
        st.markdown(section.text)
        left, right = st.columns([1, 1], gap="medium")
        with left:
            edited |= _tables(section, base, inputs)
        places.append((left.container(), right.container()))
    inputs = inputs.replace(**edited)
    try:
        example = compute(inputs)
    except EncoderError as error:
        say_error(error, problem.warning, icon=":material/edit:", after=" Results follow then.")
        return inputs, None
    for section, (left, right) in zip(SECTIONS, places, strict=True):
        with right:
            section.show(example)
        with left:
            section.in_full(example)
    return inputs, example


def _tables(section: ExampleSection, base: Inputs, inputs: Inputs) -> dict[str, object]:
    """The editable tables of a section: name -> numbers."""
    edited: dict[str, object] = {}
    for name, title, rows in section.tables:
        if name != "position_rows" or inputs.positions == "own":
            edited[name] = editable_inputs.matrix(name, base, title, rows)
    if section.has_eps:
        edited["eps"] = editable_inputs.number("eps", base, "ε of both norms", min_value=0.0, step=1e-5, format="%g")
    return edited


main()
