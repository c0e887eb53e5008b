"""The output of a model with a decoder: what it writes from the input, token by token with its probability."""

import math

import streamlit as st

from encoder.encoders.generate import Generation
from encoder.figures.numbers import in_words
from encoder.figures.token_bars import signed_token_bars
from pages.components import plot
from pages.core.view import View, output
from pages.core.widgets import Export, title
from pages.core.words import opening, plain
from pages.state import links


def show(view: View) -> None:
    """The output, the probability of each of its tokens, and the way to what it attends to."""
    found = output.written(view)
    opening("What does the decoder write from your input, and how sure is it of each token?")
    st.markdown(f"Output: **{plain(found.text)}**. {least_sure(found)}")
    if found.steps:
        plot(
            signed_token_bars(
                [math.exp(step.log_probability) for step in found.steps],
                [step.label for step in found.steps],
                "probability",
                _least_sure(found),
            ),
            key="written-probabilities",
            mode_bar=False,
            height=360,
            alt=f"The probability of each of {len(found.steps)} tokens of the output, in the order of writing.",
        )
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
    at = _least_sure(found)
    share = math.exp(found.steps[at].log_probability)
    return f"Least sure: “{plain(found.steps[at].label)}” (token {at} of the output), probability {in_words(share)}."


def _least_sure(found: Generation) -> int:
    return min(range(len(found.steps)), key=lambda one: found.steps[one].log_probability)
