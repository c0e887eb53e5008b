"""The map of all heads' effects. It fills while it is computed, and a click opens a head or switches it off."""

import numpy as np

from encoder import causal
from encoder.causal import Outcome
from encoder.edits import AblateHead
from encoder.figures.layers import effect_map
from pages.components import on_click, plot
from pages.core.inputs.edited import Recipe
from pages.core.view import View, selection
from pages.core.widgets import answer, outcomes
from pages.core.widgets.effects import measured
from pages.core.words import number, plain
from pages.interventions.params import CLICKS, Params
from pages.interventions.recipe import toggle_head
from pages.state import state

#: The longest text, in tokens, whose map is computed.
LONGEST = 512


def measure(view: View, outcome: Outcome) -> np.ndarray | None:
    """The effects [L, H], kept for all sessions; for a longer text on request, and None until then.

    Raises EncoderError where the outcome does not fit.
    """
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


def draw_answer(view: View, outcome: Outcome, effects: np.ndarray | None, edited: str) -> None:
    """What the edits change, the effect of the open head with its rank, and the largest. edited: of the edited run."""
    if effects is None:
        answer.draw(edited or f"{plain(outcomes.unit(outcome))}.")
        return
    here, sizes = float(effects[view.layer, view.head]), np.abs(effects)
    rank = 1 + int((sizes > abs(here)).sum())
    layer, head = largest(effects)
    said = (
        f"Without **L{view.layer} H{view.head}**, {outcomes.lower(outcomes.unit(outcome))} {changes(here)} "
        f"({answer.ordinal(rank)} largest of {effects.size:,})."
    )
    rest = (
        f"Largest change: without **L{layer} H{head}** it {changes(float(effects[layer, head]))}. Median: "
        f"{number(float(np.median(sizes)))}."
    )
    answer.draw(edited or said, f"{said} {rest}" if edited else rest)


def changes(effect: float) -> str:
    """ "falls by **0.002**"."""
    return f"{'rises' if effect > 0 else 'falls'} by **{number(abs(effect))}**"


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
    state.segmented(Params.click, "A click on a head", CLICKS)


def largest(effects: np.ndarray) -> tuple[int, int]:
    """(layer, head) of the effect that is largest in size."""
    layer, head = np.unravel_index(int(np.nanargmax(np.abs(effects))), effects.shape)
    return int(layer), int(head)


def _clicked(layer: int, head: int) -> None:
    selection.open_head(layer, head)
    if state.newest(Params.click) == "switch":
        toggle_head(layer, head)
