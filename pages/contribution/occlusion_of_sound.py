"""Occlusion of a sound: windows are silent, one by one; the fall is compared with the attention on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from encoder.causal import occlusion
from encoder.errors import EncoderError
from encoder.figures.deletion import window_bars
from encoder.figures.numbers import three_digits
from encoder.inputs.sound import Sound
from encoder.measure import sounds
from encoder.measure.rollout import LONGEST_WHOLE, rollout
from encoder.trace.trace import Trace
from pages.components import plot
from pages.core.view.view import View
from pages.core.widgets.export import Export, place, title
from pages.core.widgets.occlusion import agreement, controls, draw_curves
from pages.core.words import references
from pages.core.words.markdown import plain, say_error


def show(view: View) -> Export | None:
    """The fall for each window, and the curves of deletion; None where nothing is measured."""
    try:
        return _draw(view)
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
        return None


def _draw(view: View) -> Export | None:
    covered = controls(view)
    falls = covered.alone()
    if falls is None:
        return None
    sound, query = view.given, view.i
    if query is None:
        query = sounds.loudest(sound, sounds.sound_layout(view.trace))
    name = view.trace.labels[query]
    edges = occlusion.windows(sound)

    def weights(trace: Trace) -> np.ndarray:
        row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
        return occlusion.by_part(trace, row, sound)

    of_head = view.derived(("weights by part", view.layer, view.head, query), weights)
    best = int(falls.argmax())
    st.markdown(
        f"Largest fall of the {plain(covered.measured)}: **{three_digits(float(falls[best]))}**, without "
        f"{edges[best]:.2f}-{edges[best + 1]:.2f} s. "
        + agreement(falls, of_head, f"attention of {plain(name)} in L{view.layer} H{view.head}")
    )
    left, right = st.columns(2, gap="medium")
    with left:
        plot(
            window_bars(edges, falls, of_head, "fall", "attention"),
            key="sound-why",
            alt=f"The fall of the {covered.measured} where each of {len(falls)} windows is silent, and the attention "
            f"of {name} on it.",
            height=360,
        )
    orders = {"largest attention first": of_head}
    if view.trace.n_tokens <= LONGEST_WHOLE:
        orders["largest rollout first"] = view.derived(
            ("rollout by part", query), lambda trace: _of_rollout(trace, sound, query)
        )
    with right:
        draw_curves(covered, falls, orders)
    references.caption(
        "Windows of the sound are silent, one by one: samples of 0, before the features are computed. Curves after the "
        "deletion metric of Petsiuk et al. (2018). Limits: one sound; digital silence is unlike the sounds of the "
        "training, and its edges click."
    )
    return Export(
        view, title(view, "Occlusion"),
        lambda: pd.DataFrame({"from_second": edges[:-1], "to_second": edges[1:], "fall": falls}),
        lines=covered.python_lines().lstrip(), settings=place(view),
    )  # fmt: skip


def _of_rollout(trace: Trace, sound: Sound, query: int) -> np.ndarray:
    last = trace.config.n_layers - 1
    row = rollout(trace, last, slice(query, query + 1))[0]
    return occlusion.by_part(trace, row, sound)
