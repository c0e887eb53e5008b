"""The export of the page “Masked-word prediction”."""

from __future__ import annotations

import pandas as pd

from pages.core.export import export_panel, title
from pages.core.view import View


def export_predictions(view: View, k: int) -> None:
    """The k most probable words at each mask."""

    def frame() -> pd.DataFrame:
        rows = [
            (entry.position, rank, token, probability)
            for entry in view.loaded.predict_masked(view.trace, k)
            for rank, (token, probability) in enumerate(zip(entry.tokens, entry.probabilities, strict=True), start=1)
        ]
        return pd.DataFrame(rows, columns=["position", "rank", "token", "probability"])

    heading = title(view, "Masked-word predictions")
    export_panel(view, heading, frame, lines=f"guesses = model.predict_masked(trace, {k})")
