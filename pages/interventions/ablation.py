"""Ablation: the effect of each head, and the run with the reader's edits."""

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import Trace, figures
from encoder.causal import Outcome
from encoder.edits import Edit
from encoder.figures.layers import effect_map
from encoder.measure import aggregate
from pages.components import head_grid
from pages.core.inputs import edited
from pages.core.inputs.edited import EditParams, describe
from pages.core.inputs.input_words import words_of
from pages.core.stores import cache
from pages.core.view import View, selection, small_maps
from pages.core.widgets import Export, answer, class_head, export, outcomes
from pages.core.words import about, errors_said
from pages.interventions import effects, knockout, predictors, recipe
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
        draw_maps(view, changed, active)
    if found is not None:
        predictors.draw(view, outcome)
    st.caption(about.text(__file__, "Limits of an ablation", input=words_of(view.trace).text))
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


def draw_maps(view: View, edited: Trace, active: tuple[Edit, ...]) -> None:
    """Two grids side by side. Heads whose attention stays the same are faded in the second."""
    if view.trace.n_tokens > small_maps.LONG_TEXT:
        st.info(f"The grids are limited to {small_maps.LONG_TEXT:,} tokens. Use a shorter text.")
        return
    layers = range(view.loaded.config.n_layers)
    before = np.stack([small_maps.of_layer(view, layer) for layer in layers])
    after = cache.computed(
        ("edited maps", view.model, view.text, view.pair, active),
        lambda: aggregate.to_uint8(edited.thumbnails(small_maps.SIDE)),
    )
    same = (before == after).all(axis=(2, 3))
    for place, (title, maps, dim) in zip(
        st.columns(2, gap="medium"), (("Before", before, None), ("After", after, same)), strict=True
    ):
        with place:
            st.markdown(f"**Attention {title.lower()} the edits**")
            head_grid(
                maps, layers=before.shape[0], heads=before.shape[1], selected=(view.layer, view.head),
                key=f"grid-{title.lower()}", alt=f"Attention maps of all heads {title.lower()} the edits.",
                colorscale=figures.thumbnails_lut(view.colours), dim=dim, on_event=selection.open_from,
            )  # fmt: skip
    changed = int((~same).sum())
    faded = "; the others are faded" if 0 < changed < same.size else ""
    st.caption(
        f"Attention changes in {changed} of {same.size} heads{faded}. "
        "A head that is switched off keeps its own attention: its result is discarded. Later layers can change."
    )
