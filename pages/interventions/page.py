"""Interventions: edit the forward pass, and see what the edit causes."""

from __future__ import annotations

import streamlit as st

from encoder.errors import EncoderError
from encoder.trace import Trace
from pages.core import cache
from pages.core.frame import current_view, heading
from pages.core.links import next_page
from pages.core.url_state import state
from pages.interventions import effects, maps, outcome, predictors, recipe
from pages.interventions.export import export_effects
from pages.interventions.params import Params

view = current_view()
params = state.read(Params)


def main() -> None:
    heading()
    st.markdown(
        "You see what happens when a part of the model is switched off or changed.  \n"
        "Look for the head with the largest effect; click it, and compare the outcome before and after.  \n"
        "Attention shows where a head attends. An intervention shows whether the result depends on it."
    )
    recipe.draw_recipe(view, params.recipe)
    active = recipe.active(params.recipe)
    edited = edited_trace()
    left, right = st.columns([3, 2], gap="large")
    with right:
        chosen = outcome.choose(view)
    found = None
    try:
        with right:
            outcome.show(view, edited, chosen)
        with left:
            found = effects.draw(view, chosen, params.recipe)
    except EncoderError as error:
        st.info(str(error), icon=":material/edit:")
        found = None
    if edited is not None:
        maps.draw(view, edited, active)
    if found is not None:
        predictors.draw(view, chosen)
    st.caption(
        "Limits: an effect holds for this text and this outcome. Zero is not a typical value of a head, and later "
        "layers can compensate, so a small effect does not show that a head is useless."
    )
    if found is not None:
        export_effects(view, chosen, active, found)
    next_page("beyond_weights", "Beyond attention weights")


def edited_trace() -> Trace | None:
    """The edited run; None without edits, and where they do not fit this text and model."""
    active = recipe.active(params.recipe)
    if not active:
        return None
    try:
        return cache.trace(view.model, view.text, view.pair, active)
    except EncoderError as error:
        st.warning(f"The edits do not fit this text and model, so nothing is edited. {error}")
        return None


main()
