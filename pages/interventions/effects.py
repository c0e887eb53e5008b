"""The map of all heads' effects. It fills while it is computed, and a click opens a head or switches it off."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import causal
from encoder.causal import Outcome
from encoder.edits import AblateHead
from encoder.errors import EncoderError
from encoder.figures.effects import effect_map
from pages.components import on_click, plot
from pages.core import cache, long_work, sidebar
from pages.core.formulas import number
from pages.core.url_state import state
from pages.core.view import View
from pages.interventions.params import CLICKS, Params, Recipe
from pages.interventions.recipe import toggle_head

#: Up to this many tokens in all runs together, the map is computed without being asked.
AT_ONCE = 8_192
#: The longest text, in tokens, whose map is computed.
LONGEST = 512
#: Where the session keeps the place of the map that fills.
PLACE = "_effects_place"


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
    """The effects, kept for all sessions; for a longer text on request. Raises EncoderError for a text too long."""
    what = ("head effects", view.model, view.text, view.pair, outcome)
    found: np.ndarray | None = cache.known_computed(what)
    if found is not None:
        return found
    config, n_tokens = view.loaded.config, view.trace.n_tokens
    if n_tokens > LONGEST:
        raise EncoderError(f"This text has {n_tokens:,} tokens; the map is limited to {LONGEST}. Use a shorter text.")
    runs = config.n_layers * config.n_heads
    ask = "" if runs * n_tokens <= AT_ONCE else f"The map needs {runs:,} runs of {n_tokens:,} tokens."
    place = st.empty()
    st.session_state[PLACE] = place
    found = long_work.result("effects", what, lambda: _work(view, outcome), label="Measure all heads", ask=ask)
    place.empty()
    if found is not None:
        cache.computed(what, lambda: found)
    return found


def _work(view: View, outcome: Outcome) -> long_work.Work[np.ndarray]:
    """The effects; the map so far is drawn into the place of the run that is under way."""
    step = None
    for step in causal.iter_each_head(view.loaded, view.trace, outcome):
        if step.done < step.total:
            figure = effect_map(step.values.numpy())
            st.session_state[PLACE].plotly_chart(figure, height=300, key=f"effects:{step.done}")
            yield step.done / step.total, f"Switching off heads: {step.done} of {step.total} …"
    assert step is not None
    return step.values.numpy()
