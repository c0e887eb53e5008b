"""Ablation: edit the forward pass, and see what the edit causes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from encoder.causal import Outcome
from encoder.edits import Edit
from encoder.errors import EncoderError
from encoder.figures.layers import effect_map
from encoder.trace.trace import Trace
from pages.ablation import connections, effects, maps, outcome, predictors, recipe
from pages.core.frame.frame import current_view, heading
from pages.core.inputs import edited
from pages.core.inputs.edited import describe
from pages.core.inputs.input_words import words_of
from pages.core.widgets import export, outcomes
from pages.core.widgets.export import Export
from pages.core.words.glossary import opening
from pages.core.words.markdown import say_error
from pages.state.links import next_page
from pages.state.url_state import state

view = current_view()
steps = state.newest(edited.EditParams.recipe)


def main() -> None:
    heading()
    opening("On which heads does the result depend? Each one is switched off by itself.")
    recipe.draw_recipe(view, steps)
    active = edited.active(steps)
    changed = edited_trace()
    left, right = st.columns([3, 2], gap="large")
    with right:
        chosen = outcomes.choose(view)
    found = None
    try:
        with right:
            outcome.show(view, changed, chosen)
        with left:
            found = effects.draw(view, chosen, steps)
    except EncoderError as error:
        say_error(error, st.info, icon=":material/edit:")
        found = None
    if found is not None:
        connections.draw(view, chosen)  # above the grids, which would move its map when an edit is added
    if changed is not None:
        maps.draw(view, changed, active)
    if found is not None:
        predictors.draw(view, chosen)
    st.caption(
        f"Limits: an effect holds for this {words_of(view.trace).text} and this outcome. Zero is not a typical value "
        "of a head, and later layers can compensate, so a small effect does not show that a head is useless."
    )
    if found is not None:
        exported(chosen, active, found).draw()
    next_page("contribution", "Contribution, what else matters")


def exported(chosen: Outcome, active: tuple[Edit, ...], found: np.ndarray) -> Export:
    """The effect of each head [L, H], and the edited run in Python."""
    layers, heads = np.indices(found.shape)
    lines = (
        "from encoder import causal\n"
        f"outcome = causal.{chosen!r}\n"
        "effects = causal.ablate_each_head(model, trace, outcome)"
    )
    if active:
        lines += (
            f"\n{export.edits_lines(view, active)}\nedited = {export.again(view)}, edits=edits)\n"
            "before, after = causal.outcomes_of(model, trace, [edited], outcome)"
        )
    return Export(
        view,
        export.title(view, "Effects of the heads"),
        lambda: pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), "effect": found.ravel()}),
        figures=lambda: {"Effect of each head": effect_map(found)},
        lines=lines,
        settings={
            "Outcome": outcomes.titles(view)[chosen.code],
            "Edits": "; ".join(describe(edit, view.trace.labels) for edit in active) or "none",
        },
    )


def edited_trace() -> Trace | None:
    """The edited run; None without edits, and where they do not fit this text and model."""
    found = edited.applied(view)
    return found.trace if found.model.edits else None


main()
