"""Ablation: the effect of each head, and the run with the reader's edits."""

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import Trace
from encoder.causal import Outcome
from encoder.edits import Edit
from encoder.figures.layers import effect_map
from pages.core.inputs import edited
from pages.core.inputs.edited import EditParams, describe
from pages.core.inputs.input_words import words_of
from pages.core.view import View
from pages.core.widgets import Export, answer, class_head, export, outcomes
from pages.core.words import errors_said
from pages.interventions import effects, knockout, maps, predictors, recipe
from pages.state import state


def show(view: View, outcome: Outcome, controls: DeltaGenerator) -> None:
    """The recipe among the controls, the map of effects, and what the edits change."""
    steps = state.newest(EditParams.recipe)
    recipe.draw_recipe(view, steps, controls)
    active, changed = edited.active(steps), edited_trace(view)
    found = None
    with errors_said(st.info, icon=":material/edit:"):
        said = outcomes.with_edits(view, changed, outcome)
        found = effects.measure(view, outcome)
        with answer.area():
            effects.draw_answer(view, outcome, found, said)
            if found is not None:
                effects.draw_map(view, found, steps)
    class_head.draw(view, changed)
    if found is not None:
        knockout.draw(view, outcome)  # above the grids, which would move its map when an edit is added
    if changed is not None:
        maps.draw(view, changed, active)
    if found is not None:
        predictors.draw(view, outcome)
    st.caption(
        f"Limits: an effect holds for this {words_of(view.trace).text} and this outcome. Zero is not a typical value "
        "of a head, and later layers can compensate, so a small effect does not show that a head is useless."
    )
    if found is not None:
        exported(view, outcome, active, found).draw()


def exported(view: View, chosen: Outcome, active: tuple[Edit, ...], found: np.ndarray) -> Export:
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
            "Outcome": outcomes.titles(view).get(chosen.code, outcomes.unit(chosen)),
            "Edits": "; ".join(describe(edit, view.trace.labels) for edit in active) or "none",
        },
    )


def edited_trace(view: View) -> Trace | None:
    """The edited run; None without edits, and where they do not fit this text and model."""
    found = edited.applied(view)
    return found.trace if found.model.edits else None
