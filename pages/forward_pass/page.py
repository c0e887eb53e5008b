"""Steps: every number from the typed word to the output vector, with its formula."""

from __future__ import annotations

import streamlit as st

from encoder.explain import STEPS
from pages.core import selection
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.forward_pass.export import export_step
from pages.forward_pass.steps import SHOW

view = current_view()
SHORT = {"ids": "Ids", "qkv": "Q, K, V", "mixing": "Weighted sum", "ffn": "FFN"}
NUMBERED = {step.key: f"{number} {SHORT.get(step.key, step.title)}" for number, step in enumerate(STEPS, start=1)}


def main() -> None:
    heading()
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
    export_step(view, chosen)


def neighbours(place: int) -> None:
    """The way to the step before and to the next."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for offset, icon in ((-1, ":material/arrow_back:"), (1, ":material/arrow_forward:")):
            if 0 <= place + offset < len(STEPS):
                step = STEPS[place + offset]
                st.button(
                    NUMBERED[step.key], icon=icon, on_click=selection.go, args=(step.key,), key=f"step{offset:+d}"
                )


main()
