"""The output of a model with a decoder: what it writes from the input, token by token with its probability."""

import math

import streamlit as st

from encoder.encoders.generate import Generation
from pages.core.view import View, output
from pages.core.widgets import Export, title
from pages.core.words import opening, plain
from pages.state import links


def show(view: View) -> None:
    """The output, the probability of each of its tokens, and the way to what it attends to."""
    found = output.written(view)
    opening("What does the decoder write from your input, and how sure is it of each token?")
    st.markdown(f"Output: **{plain(found.text)}**. {least_sure(found)}")
    table = found.table()
    st.dataframe(table, hide_index=True)
    links.button("heads", "What each token of it attends to", "grid_view", "to-cross", {"stack": "cross"})
    Export(
        view,
        title(view, "Output"),
        found.table,
        lines="found = model.generate(trace)\ntable = found.table()",
        settings={"Output": found.text},
    ).draw()


def least_sure(found: Generation) -> str:
    """The token that the model was least sure of; "" for an empty output."""
    if not found.steps:
        return ""
    at = min(range(len(found.steps)), key=lambda one: found.steps[one].log_probability)
    share = math.exp(found.steps[at].log_probability)
    return f"Least sure: “{plain(found.steps[at].label)}” (token {at} of the output), probability {share:.3f}."
