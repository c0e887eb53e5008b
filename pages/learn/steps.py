"""Steps: every number from the typed word to the output vector, with its formula."""

from __future__ import annotations

import streamlit as st

from encoder.steps import STEPS
from pages.shared import learn
from pages.shared.frame import current_view
from pages.shared.steps import SHOW
from pages.shared.take_learn import take_step
from pages.shared.view import state

view = current_view()
SHORT = {"ids": "Ids", "qkv": "Q, K, V", "ffn": "FFN"}
NUMBERED = {step.key: f"{number} {SHORT.get(step.key, step.title)}" for number, step in enumerate(STEPS, start=1)}


def main() -> None:
    st.header("Step by step", anchor=False)
    chosen = state.bound(
        st.segmented_control,
        "step",
        "Step",
        list(NUMBERED),
        required=True,
        format_func=NUMBERED.get,
        label_visibility="collapsed",
    )
    place = [step.key for step in STEPS].index(chosen)
    st.subheader(STEPS[place].question, anchor=False)
    SHOW[chosen](view)
    neighbours(place)
    take_step(view, chosen)


def neighbours(place: int) -> None:
    """The way to the step before and to the next."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for offset, icon in ((-1, ":material/arrow_back:"), (1, ":material/arrow_forward:")):
            if 0 <= place + offset < len(STEPS):
                step = STEPS[place + offset]
                st.button(NUMBERED[step.key], icon=icon, on_click=learn.go, args=(step.key,), key=f"step{offset:+d}")


main()
