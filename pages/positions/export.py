"""What can be exported from the page “Positions”."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from encoder import figures
from encoder.export import tables
from encoder.export.tables import EXACT_TOKENS
from pages.core.export import export_panel, title
from pages.core.view import View

if TYPE_CHECKING:
    pass


def export_positions(view: View) -> None:
    """The encoding of the positions of the sentence."""
    config, layer = view.trace.config, view.layer
    lines = "position = trace.position"
    if view.trace.position is None and config.position == "rotary":
        lines = (
            f"from encoder.measure import positions\ncos, sin = positions.turns(trace.config, {layer}, trace.n_tokens)"
        )
    export_panel(
        view,
        title(view, "Positions"),
        lambda: tables.positions_frame(view.trace, layer),
        figures=lambda: _encoding(view),
        lines=lines,
        settings={"Positions": config.position},
    )


def _encoding(view: View) -> Mapping[str, go.Figure]:
    added = view.trace.position
    if added is None:
        return {}
    return {"What is added to each token": figures.position_heatmap(np.asarray(added[:EXACT_TOKENS].float().cpu()))}
