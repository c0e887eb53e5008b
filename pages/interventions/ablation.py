"""Ablation: the map of all heads’ effects, which fills while it is computed, and the run with the reader’s edits."""

import numpy as np
import streamlit as st

from encoder import Trace, causal
from encoder.documents.tables import cells_of
from encoder.edits import AblateHead, Edit
from encoder.figures.layers import effect_map, n_ranked
from encoder.figures.numbers import three_digits
from encoder.measure import ranking
from encoder.measure.ranking import largest_cell
from pages.components import on_click, plot
from pages.core.inputs import edited
from pages.core.inputs.edited import EditParams, Recipe, describe
from pages.core.inputs.input_words import words_of
from pages.core.view import View, selection
from pages.core.widgets import Export, answer, class_head, export, outcomes
from pages.core.widgets.effects import measured
from pages.core.words import about, errors_said, plain
from pages.interventions import recipe
from pages.interventions.params import CLICKS, Params
from pages.interventions.recipe import toggle_head
from pages.state import links, state

#: The longest text, in tokens, whose map is computed.
LONGEST = 512


def show(view: View, outcome: causal.Outcome) -> None:
    """The map of effects, the recipe with the form of an edit, and what the edits change."""
    steps = state.newest(EditParams.recipe)
    active, changed = edited.active(steps), edited_trace(view)
    found = None
    with errors_said(st.info, icon=":material/edit:"):
        said = outcomes.with_edits(view, changed, outcome)
        said += f" Edited: {edited.named(active, view.trace.labels)}." if said else ""
        found = measure(view, outcome)
        with answer.area():
            draw_answer(view, outcome, found, said)
            if found is not None:
                with st.container(key="controls-click"):
                    state.segmented(Params.click, "A click on a head", CLICKS)
                draw_map(view, found, steps)
    with st.container(key="controls-recipe", horizontal=True, vertical_alignment="center", gap="small"):
        recipe.draw_form(view)
        recipe.draw_recipe(view, steps)
    class_head.draw(view, changed)
    if changed is not None:
        links.button("heads", "Attention of the edited run, in Heads", "grid_view", "edited:heads", type="tertiary")
    st.caption(about.text(__file__, "Limits of an ablation", input=words_of(view.trace).text))
    if found is not None:
        exported(view, outcome, active, found).draw()


def exported(view: View, chosen: causal.Outcome, active: tuple[Edit, ...], found: np.ndarray) -> Export:
    """The effect of each head [L, H], and the edited run in Python."""
    layer, head = largest_cell(np.abs(found))
    lines = (
        "from encoder import causal\n"
        f"outcome = causal.{chosen!r}\n"
        "effects = causal.ablate_each_head(model, trace, outcome)\n"
        f"largest, selected = effects[{layer}, {head}], effects[{view.layer}, {view.head}]"
    )
    if active:
        lines += (
            f"\n{export.edits_lines(view, active)}\nedited = {export.again(view)}, edits=edits)\n"
            "before, after = causal.outcomes_of(model, trace, [edited], outcome)"
        )
    return Export(
        view,
        export.title(view, "Effects of the heads"),
        lambda: cells_of("layer", "head", numbers={"effect": found}),
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
    return found.trace if found.run.edits else None


def measure(view: View, outcome: causal.Outcome) -> np.ndarray | None:
    """The effects [L, H], kept for all sessions; for a longer text on request, and None until then.

    Raises EncoderError where the outcome does not fit.
    """
    config = view.loaded.config
    return measured(
        "effects",
        ("head effects", view.run.of_pass, outcome),
        lambda: causal.iter_each_head(view.loaded, view.trace, outcome),
        effect_map,
        runs=config.n_layers * config.n_heads,
        n_tokens=view.trace.n_tokens,
        longest=LONGEST,
        label="Measure all heads",
        doing="Switching off heads",
    )


def draw_answer(view: View, outcome: causal.Outcome, effects: np.ndarray | None, edited: str) -> None:
    """What the edits change, the effect of the open head with its rank, and the largest. edited: of the edited run."""
    if effects is None:
        answer.draw(edited or f"{plain(outcomes.unit(outcome))}.")
        return
    here, sizes = float(effects[view.layer, view.head]), np.abs(effects)
    layer, head = largest_cell(sizes)
    most = (
        f"Without **L{layer} H{head}**, {outcomes.lower(outcomes.unit(outcome))} "
        f"{changes(float(effects[layer, head]))}: the largest change of {effects.size:,} heads."
    )
    rank, _ = ranking.rank(sizes, (view.layer, view.head))
    rest = (
        f"Selected: without L{view.layer} H{view.head} it {changes(here)} ({answer.nth_largest(rank, effects.size)}). "
        f"Median: {three_digits(float(np.median(sizes)))}. Ranks 1 to {n_ranked(effects)} are on the map."
    )
    answer.draw(edited or most, f"{most} {rest}" if edited else rest)


def changes(effect: float) -> str:
    """ "falls by **0.0787**", as on the colour bar."""
    return f"{'rises' if effect > 0 else 'falls'} by **{three_digits(abs(effect))}**"


def draw_map(view: View, effects: np.ndarray, recipe: Recipe) -> None:
    """The map [L, H], with a cross on each head that an edit switches off."""
    off = [(step.edit.layer, step.edit.head) for step in recipe if step.on and isinstance(step.edit, AblateHead)]
    inside = [head for head in off if head[0] < effects.shape[0] and head[1] < effects.shape[1]]
    plot(
        effect_map(effects, (view.layer, view.head), inside),
        key="head-effects",
        alt=f"Effect of switching off each of {effects.shape[0]} x {effects.shape[1]} heads, layers downwards.",
        on_event=on_click(cell=_clicked),
    )


def _clicked(layer: int, head: int) -> None:
    selection.open_head(layer, head)
    if state.newest(Params.click) == "switch":
        toggle_head(layer, head)
