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
from pages.core.words import about, errors_said, gestures, plain
from pages.interventions import recipe
from pages.interventions.params import CLICK, CLICKS, Params
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
        found = measure(view, outcome)
        with answer.area():
            draw_answer(view, outcome, found, said, active if said else ())
            if found is not None:
                choose_click()
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
            "Outcome": outcomes.titles(view).get(chosen.code, outcomes.unit(view, chosen)),
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


def choose_click() -> None:
    """What a click on the map does."""
    with st.container(key="controls-click", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        gestures.caption(gestures.either(CLICK, "A tap on a head"))
        state.segmented(Params.click, CLICK, CLICKS, label_visibility="collapsed")


def draw_answer(
    view: View, outcome: causal.Outcome, effects: np.ndarray | None, change: str, active: tuple[Edit, ...]
) -> None:
    """What the edits change, the effect of the open head with its rank, and the largest; each number once.

    change: what the edits change, of `active`; "" without edits.
    """
    edits_named = f"{change} Edited: {edited.named(active, view.trace.labels)}" if change else ""
    if effects is None:
        answer.draw(f"{edits_named}." if change else f"{plain(outcomes.unit(view, outcome))}.")
        return
    sizes, open_head = np.abs(effects), (view.layer, view.head)

    def nth(head: tuple[int, int]) -> str:
        return answer.nth_largest(ranking.rank(sizes, head)[0], effects.size)

    largest = largest_cell(sizes)
    most = (
        f"Without **L{largest[0]} H{largest[1]}**{' (selected)' if largest == open_head else ''}, "
        f"{outcomes.lower(outcomes.unit(view, outcome))} {outcomes.changes(float(effects[largest]))}: "
        f"the largest change of {effects.size:,} heads."
    )
    rest = [f"Median: {three_digits(float(np.median(sizes)))}. Ranks 1 to {n_ranked(effects)} are on the map."]
    # The number of an only edit that is a head is in the first sentence.
    off = (active[0].layer, active[0].head) if len(active) == 1 and isinstance(active[0], AblateHead) else None
    if open_head not in (largest, off):
        here = outcomes.changes(float(effects[open_head]))
        rest.insert(0, f"Selected: without L{view.layer} H{view.head} it {here} ({nth(open_head)}).")
    if not change:
        answer.draw(most, " ".join(rest))
        return
    rank = "" if off is None or not _inside(off, effects) else f" ({nth(off)} heads)"
    rest = ["The map is of the unedited model, without one head at a time.", *([most] if largest != off else []), *rest]
    answer.draw(f"{edits_named}{rank}.", " ".join(rest))


def _inside(head: tuple[int, int], effects: np.ndarray) -> bool:
    return head[0] < effects.shape[0] and head[1] < effects.shape[1]


def draw_map(view: View, effects: np.ndarray, recipe: Recipe) -> None:
    """The map [L, H], with a cross on each head that an edit switches off."""
    off = [(step.edit.layer, step.edit.head) for step in recipe if step.on and isinstance(step.edit, AblateHead)]
    inside = [head for head in off if _inside(head, effects)]
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
