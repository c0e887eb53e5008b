"""What can be exported from the page “Masked-word prediction”."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pages.core.export import export_panel, title
from pages.core.view import View

if TYPE_CHECKING:
    pass


def export_guesses(view: View, k: int) -> None:
    """The k words that the model expects at each blank."""

    def frame() -> pd.DataFrame:
        found = view.loaded.predict_masked(view.trace, k)
        rows = [
            (entry.position, rank, token, share)
            for entry in found
            for rank, (token, share) in enumerate(zip(entry.tokens, entry.probabilities, strict=True), start=1)
        ]
        return pd.DataFrame(rows, columns=["position", "rank", "token", "probability"])

    export_panel(view, title(view, "Words for the blanks"), frame, lines=f"guesses = model.predict_masked(trace, {k})")
