"""The map of all heads' effects. It fills while it is computed, and a click opens a head or switches it off."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import causal
from encoder.causal import Outcome
from encoder.edits import AblateHead
from encoder.figures.effects import effect_map
from encoder.trace import Trace
from pages.components import on_click, plot
from pages.core import cache, sidebar
from pages.core.formulas import number
from pages.core.url_state import state
from pages.core.view import View
from pages.interventions.params import CLICKS, Params, Recipe
from pages.interventions.recipe import toggle_head

#: Up to this many tokens in all runs together, the map is computed without being asked.
AT_ONCE = 8_192
#: The longest text, in tokens, whose map is computed.
LONGEST = 512


def draw(view: View, outcome: Outcome, recipe: Recipe) -> np.ndarray | None:
    """The map [L, H], or None where it is not computed. Raises EncoderError where the outcome does not fit."""
    effects = _effects(view, outcome)
    if effects is None:
        return None
    layer, head = largest(effects)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown(
            f"**Effect of each head** when it is off alone  \n"
            f"Largest: **L{layer} H{head}**, {number(float(effects[layer, head]))}. "
            f"Median size: {number(float(np.median(np.abs(effects))))}.",
            width="content",
        )
        state.segmented(Params.click, "A click on a head", CLICKS)
    off = [(step.edit.layer, step.edit.head) for step in recipe if step.on and isinstance(step.edit, AblateHead)]
    inside = [head for head in off if head[0] < effects.shape[0] and head[1] < effects.shape[1]]
    plot(
        effect_map(effects, (view.layer, view.head), inside),
        key="head-effects",
        alt=f"Effect of switching off each of {effects.shape[0]} x {effects.shape[1]} heads, layers downwards.",
        height=max(260, 130 + 34 * effects.shape[0]),
        on_event=on_click(cell=_clicked),
    )
    return effects


def largest(effects: np.ndarray) -> tuple[int, int]:
    """(layer, head) of the effect that is largest in size."""
    layer, head = np.unravel_index(int(np.nanargmax(np.abs(effects))), effects.shape)
    return int(layer), int(head)


def _clicked(layer: int, head: int) -> None:
    sidebar.open_head(layer, head)
    if state.newest(Params.click) == "switch":
        toggle_head(layer, head)


def _effects(view: View, outcome: Outcome) -> np.ndarray | None:
    """The effects, kept for all sessions; for a longer text on request."""
    what = ("head effects", outcome)
    known = cache.known(view.model, view.text, view.pair, what)
    if known is not None:
        return known
    config, n_tokens = view.loaded.config, view.trace.n_tokens
    if n_tokens > LONGEST:
        st.info(f"This text has {n_tokens:,} tokens; the map is limited to {LONGEST}. Use a shorter text.")
        return None
    runs = config.n_layers * config.n_heads
    if runs * n_tokens > AT_ONCE:
        st.info(f"The map needs {runs:,} runs of {n_tokens:,} tokens, which takes a while.")
        if not st.button("Measure all heads", icon=":material/play_arrow:", type="primary", key="effects:run"):
            return None
        st.button("Stop", icon=":material/stop:", key="effects:stop")
    bar, part = st.progress(0.0, "Switching off heads …"), st.empty()

    def make(trace: Trace) -> np.ndarray:
        *_, last = _steps(view, trace, outcome, bar, part)
        return last

    try:
        return view.derived(what, make)
    finally:
        bar.empty()
        part.empty()


def _steps(view: View, trace: Trace, outcome: Outcome, bar, part):
    """The effects so far, each drawn as the map that fills. A press on Stop ends the run at the next drawing."""
    for step in causal.iter_each_head(view.loaded, trace, outcome):
        effects = step.values.numpy()
        if step.done < step.total:
            bar.progress(step.done / step.total, f"Switching off heads: {step.done} of {step.total} …")
            part.plotly_chart(effect_map(effects), height=300, key=f"effects:{step.done}")
        yield effects
