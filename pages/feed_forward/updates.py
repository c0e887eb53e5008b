"""Attention next to the FFN: the size of both updates, and what is lost without one of them."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import causal
from encoder.explain.arithmetic import Floats
from encoder.explain.neurons import update_sizes
from encoder.figures.feed_forward import SUBLAYERS, left_out_bars
from encoder.figures.layers import update_heatmap
from encoder.figures.numbers import three_digits
from encoder.measure.ranking import largest_cell
from encoder.model.config import Sublayer
from encoder.trace import tokens
from pages.components import on_click, plot
from pages.core.inputs.input_words import words_of
from pages.core.stores import cache
from pages.core.view import View, ViewParams, token_rows
from pages.core.widgets import outcomes
from pages.core.words import number, plain, token_names
from pages.state import state

#: The longest text, in tokens, that layers are left out for: two runs for each layer.
LONGEST = 512
TITLES: dict[Sublayer, str] = {
    "first_ffn": "The first FFN’s update", "attention": "Attention’s update",
    "convolution": "The convolution’s update", "ffn": "The FFN’s update", "adapter": "The adapter’s update",
}  # fmt: skip


def sizes(view: View, token: int) -> dict[str, go.Figure]:
    """The maps of update sizes with the same colours. Returns them by their titles."""
    found: dict[Sublayer, Floats] = view.derived("update sizes", update_sizes)
    rows = token_rows.part(view.trace.n_tokens, token, "updates")
    words = list(tokens.is_content(view.trace))
    largest = max(float(one[:, words].max(initial=0.0)) for one in found.values()) or 1.0
    drawn = {}
    for column, (name, values) in zip(st.columns(len(found), gap="medium"), found.items(), strict=True):
        title = TITLES[name]
        drawn[title] = update_heatmap(
            values[:, rows],
            view.trace.labels,
            largest=largest,
            colours=view.colours,
            selected=(view.layer, view.i),
            first=rows.start,
        )
        with column:
            here, mean = (three_digits(float(one)) for one in (values[view.layer, token], values[view.layer].mean()))
            shown = token_names.quoted(view.trace.labels, token)
            st.markdown(f"**{title}** in L{view.layer} at {shown}: **{here}**; mean over tokens: {mean}")
            plot(
                drawn[title],
                key=f"updates-{name}",
                alt=f"{title} relative to the residual stream: layers downwards, tokens to the right.",
                height=token_rows.height(len(values), pitch=26, frame=150, most=520),
                on_event=on_click(
                    row=partial(state.put, ViewParams.layer),
                    column=partial(state.put, ViewParams.i),
                    clear=partial(state.put, ViewParams.i, None),
                ),
            )
    at = largest_cell(found["ffn"])
    st.caption(
        f"Norm of the update over the norm of the residual stream before it; colours end at the largest of a "
        f"{words_of(view.trace).part}. Largest of the FFN: "
        f"{three_digits(float(found['ffn'][at]))} in L{at[0]} at {token_names.quoted(view.trace.labels, at[1])}. A "
        "large update can still matter little to the result: the part below measures that."
    )
    return drawn


def left_out(view: View) -> go.Figure | None:
    """The bars of what is lost without a sublayer. Raises EncoderError where the outcome does not fit."""
    outcome = outcomes.choose(view)
    if view.trace.n_tokens > LONGEST:
        st.info(f"This input has {view.trace.n_tokens:,} tokens; the test is limited to {LONGEST}. Use a shorter one.")
        return None
    found: np.ndarray = cache.computed(
        ("left out", view.run.of_pass, outcome),
        lambda: causal.leave_out_each_sublayer(view.loaded, view.trace, outcome).numpy(),
    )
    parts = view.trace.config.sublayers
    figure = left_out_bars(found, parts, "change of the outcome")
    plot(
        figure,
        height=300,
        key="left-out",
        alt="The change of the outcome for each layer without each of its sublayers.",
    )
    at = largest_cell(np.abs(found))
    st.markdown(
        f"Largest change: **{number(float(found[at]))}**, in L{at[1]} without its {SUBLAYERS[parts[at[0]]]}. "
        f"Outcome: {plain(outcomes.unit(view, outcome))}."
    )
    return figure
