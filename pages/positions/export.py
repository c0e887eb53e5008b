"""The export of the page “Positions”."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from encoder import figures
from encoder.explain.source import array
from encoder.export import tables
from encoder.export.tables import EXACT_TOKENS
from pages.core.export import export_panel, title
from pages.core.view import View


def export_positions(view: View) -> None:
    """The position vectors of the sentence, or the rotations of the layer."""
    config, layer = view.trace.config, view.layer
    lines = "position = trace.position"
    if config.position == "rotary":
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
    return {"Vectors added to the tokens": figures.position_heatmap(array(added[:EXACT_TOKENS]))}
