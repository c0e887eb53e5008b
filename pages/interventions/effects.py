"""The map of all heads' effects. It fills while it is computed, and a click opens a head or switches it off."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import causal
from encoder.causal import Outcome
from encoder.edits import AblateHead
from encoder.figures.effects import effect_map
from pages.components import on_click, plot
from pages.core import sidebar
from pages.core.edited import Recipe
from pages.core.effects import measured
from pages.core.formulas import number
from pages.core.url_state import state
from pages.core.view import View
from pages.interventions.params import CLICKS, Params
from pages.interventions.recipe import toggle_head

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
    """The effects [L, H], kept for all sessions; for a longer text on request."""
    config = view.loaded.config
    return measured(
        "effects",
        ("head effects", view.model, view.text, view.pair, outcome),
        lambda: causal.iter_each_head(view.loaded, view.trace, outcome),
        effect_map,
        runs=config.n_layers * config.n_heads,
        n_tokens=view.trace.n_tokens,
        longest=LONGEST,
        label="Measure all heads",
        doing="Switching off heads",
    )
