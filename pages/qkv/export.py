"""The export of the page “Queries, keys, values”."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from encoder import figures
from encoder.export import tables
from encoder.export.tables import EXACT_TOKENS
from pages.core.export import export_panel, place, title
from pages.core.view import View


def export_vectors(view: View) -> None:
    """Queries, keys and values of the selected head."""
    layer, head = view.layer, view.head

    def heatmaps() -> Mapping[str, go.Figure]:
        trace = view.trace
        rows = slice(0, EXACT_TOKENS)
        vectors = zip(("Queries", "Keys", "Values"), "qkv", trace.layer_qkv(layer), strict=True)
        return {
            heading: figures.vectors_heatmap(x[head, rows].float().cpu(), trace.labels, kind)
            for heading, kind, x in vectors
        }

    export_panel(
        view,
        title(view, f"q, k, v in L{layer} H{head}"),
        lambda: tables.vectors_frame(view.trace, layer, head),
        figures=heatmaps,
        lines=f"q, k, v = (part[{head}] for part in trace.layer_qkv({layer}))",
        settings=place(view),
    )
