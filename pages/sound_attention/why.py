"""Which part of the sound the class depends on: windows are silenced one by one, beside the attention on them."""

from __future__ import annotations

import numpy as np
import streamlit as st
from pages.sound_attention.heard import Heard

from encoder.causal import occlusion
from encoder.errors import EncoderError
from encoder.figures.deletion import window_bars
from encoder.figures.numbers import three_digits
from encoder.measure.rollout import LONGEST_WHOLE, rollout
from encoder.trace.trace import Trace
from pages.components import plot
from pages.core.view.view import View
from pages.core.widgets.occlusion import agreement, controls, draw_curves
from pages.core.words.markdown import plain, say_error


def draw(view: View, heard: Heard) -> str:
    """The fall for each window, and the curves of deletion. Returns Python lines that give the falls."""
    st.header("Which part does the result depend on?", anchor=False)
    st.markdown(
        "Attention shows where a head attends. Here windows of the sound are silent, one by one.  \n"
        "Look for windows whose silence lowers the result, and compare them with the attention below."
    )
    lines = ""
    try:
        lines = _draw(view, heard)
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
    st.caption(
        "Silence: samples of 0, before the features are computed. Curves after the deletion metric of Petsiuk et al. "
        "(2018). Limits: one sound; digital silence is unlike the sounds of the training, and its edges click."
    )
    return lines


def _draw(view: View, heard: Heard) -> str:
    covered = controls(view)
    falls = covered.alone()
    if falls is None:
        return ""
    edges = occlusion.windows(heard.sound)

    def weights(trace: Trace) -> np.ndarray:
        row = trace.attention(view.layer, view.head, slice(heard.query, heard.query + 1))[0]
        return occlusion.by_part(trace, row, heard.sound)

    of_head = view.derived(("weights by part", view.layer, view.head, heard.query), weights)
    best = int(falls.argmax())
    st.markdown(
        f"Largest fall of the {plain(covered.measured)}: **{three_digits(float(falls[best]))}**, without "
        f"{edges[best]:.2f}-{edges[best + 1]:.2f} s. "
        + agreement(falls, of_head, f"attention of {plain(heard.name)} in L{view.layer} H{view.head}")
    )
    left, right = st.columns(2, gap="medium")
    with left:
        plot(
            window_bars(edges, falls, of_head, "fall", "attention"),
            key="sound-why",
            alt=f"The fall of the {covered.measured} where each of {len(falls)} windows is silent, and the attention "
            f"of {heard.name} on it.",
            height=360,
        )
    orders = {"largest attention first": of_head}
    if view.trace.n_tokens <= LONGEST_WHOLE:
        orders["largest rollout first"] = view.derived(
            ("rollout by part", heard.query), lambda trace: _of_rollout(trace, heard)
        )
    with right:
        draw_curves(covered, falls, orders)
    return covered.python_lines()


def _of_rollout(trace: Trace, heard: Heard) -> np.ndarray:
    last = trace.config.n_layers - 1
    row = rollout(trace, last, slice(heard.query, heard.query + 1))[0]
    return occlusion.by_part(trace, row, heard.sound)
