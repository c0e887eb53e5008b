"""The export of the page Interventions: the effects of all heads and the Python lines."""

from __future__ import annotations

import numpy as np
import pandas as pd

from encoder.causal import Outcome
from encoder.edits import Edit
from encoder.figures.effects import effect_map
from pages.core.edit_words import describe
from pages.core.export import again, edits_lines, export_panel, title
from pages.core.outcomes import titles
from pages.core.view import View


def export_effects(view: View, outcome: Outcome, active: tuple[Edit, ...], effects: np.ndarray) -> None:
    """The effect of each head, and the edited run in Python."""
    layers, heads = np.indices(effects.shape)
    lines = (
        "from encoder import causal\n"
        f"outcome = causal.{outcome!r}\n"
        "effects = causal.ablate_each_head(model, trace, outcome)"
    )
    if active:
        lines += (
            f"\n{edits_lines(view, active)}\nedited = {again(view)}, edits=edits)\n"
            "before, after = causal.outcomes_of(model, trace, [edited], outcome)"
        )
    export_panel(
        view,
        title(view, "Effects of the heads"),
        lambda: pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), "effect": effects.ravel()}),
        figures=lambda: {"Effect of each head": effect_map(effects)},
        lines=lines,
        settings={
            "Outcome": titles(view)[outcome.code],
            "Edits": "; ".join(describe(edit, view.trace.labels) for edit in active) or "none",
        },
    )
