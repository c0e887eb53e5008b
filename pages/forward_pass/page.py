"""Forward pass, step by step: every number from the text to the output vector, with its formula."""

import streamlit as st

from encoder.explain import STEPS
from pages.core.frame.frame import current_view, heading
from pages.core.view import selection
from pages.core.view.view import state
from pages.core.widgets import answer
from pages.core.words.glossary import opening
from pages.forward_pass import selected
from pages.forward_pass.export import export_step
from pages.forward_pass.params import Params
from pages.forward_pass.steps import SHOW
from pages.state.links import next_page

SHORT = {"ids": "Ids", "qkv": "Q, K, V", "mixing": "Weighted sum", "ffn": "FFN"}
NUMBERED = {step.key: f"{number} {SHORT.get(step.key, step.title)}" for number, step in enumerate(STEPS, start=1)}


def main() -> None:
    heading()
    opening(
        "You see every number of the forward pass for your sentence, in nine steps.  \n"
        "Look for the selected number: the formula computes the number that the picture frames.  \n"
        "Each result is the input of the next step, so you can follow one number from the text to the output."
    )
    view = current_view()
    chosen = state.segmented(Params.step, "Step", NUMBERED, label_visibility="collapsed")
    place = [step.key for step in STEPS].index(chosen)
    st.header(STEPS[place].question, anchor=False)
    params = state.read(Params)
    with answer.area():
        if said := selected.sentence(view, params):
            answer.draw(said)
        SHOW[chosen](view, params)
    neighbours(place)
    export_step(view, state.read(Params))
    next_page("by_hand", "By hand: “The cat sat”, the same steps with numbers that you can change")


def neighbours(place: int) -> None:
    """Buttons for the step before and the step after."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for offset, icon in ((-1, ":material/arrow_back:"), (1, ":material/arrow_forward:")):
            if 0 <= place + offset < len(STEPS):
                key = STEPS[place + offset].key
                st.button(
                    NUMBERED[key], icon=icon, key=f"step{offset:+d}", on_click=selection.select,
                    args=({Params.step: key},),
                )  # fmt: skip


main()
