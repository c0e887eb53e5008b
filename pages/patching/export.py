"""The export of the page Patching: the shares, the map, and Python lines that give the same numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from encoder import causal
from encoder.causal import Where, patch_request
from encoder.figures.patching import patch_map
from pages.core.export import export_panel, given, title
from pages.core.view import View
from pages.patching.map import colour_limit
from pages.patching.pair import Pair, unit
from pages.patching.params import WHERE


def export_patching(view: View, pair: Pair, where: Where, shares: np.ndarray, ends: tuple[float, float]) -> None:
    """ends: the outcome of your input, and of the other."""
    names = "head" if where == "head" else "position"

    def frame() -> pd.DataFrame:
        layers, places = np.indices(shares.shape)
        table = pd.DataFrame({"layer": layers.ravel(), names: places.ravel()})
        if where != "head":
            table["token"] = np.array(pair.plain.labels)[places.ravel()]
            table["other_token"] = np.array(pair.source.labels)[places.ravel()]
        return table.assign(share=shares.ravel())

    of_other = isinstance(pair.outcome, causal.Similarity) and view.loaded.takes != "text"
    outcome = "Similarity(other)" if of_other else repr(pair.outcome)
    lines = (
        "from encoder import causal\n"
        f"yours, other = model.trace({given(view, pair.text)}), model.trace({given(view, pair.other)}"
        f"{_request(where)})\n"
        f"outcome = causal.{outcome}\n"
        "before, after = causal.both_outcomes(model, other, yours, outcome)\n"
        f"effects = causal.patch(model, other, yours, outcome, {where!r})\n"
        "shares = causal.carried_share(effects.numpy(), before, after)"
    )
    export_panel(
        view,
        title(view, "Patching"),
        frame,
        figures=lambda: {
            "Share of the difference that each place carries": patch_map(
                shares, None if where == "head" else pair.labels, limit=colour_limit(pair, where, shares)
            )
        },
        lines=lines,
        settings={
            "Vectors from": pair.other,
            "Replaced": WHERE[where],
            "Outcome": f"{unit(pair.outcome)}: {ends[0]:.4g}, in the other run {ends[1]:.4g}",
        },
    )


def _request(where: Where) -> str:
    asked = patch_request(where)
    return f", request={asked!r}" if asked else ""
