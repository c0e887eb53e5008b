"""What can be exported from the page “Queries, keys, values”."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from encoder import figures
from encoder.export import tables
from encoder.export.tables import EXACT_TOKENS
from pages.core.export import export_panel, place, title
from pages.core.view import View

if TYPE_CHECKING:
    pass


def export_vectors(view: View) -> None:
    """Queries, keys, values of the head."""
    layer, head = view.layer, view.head

    def drawn() -> Mapping[str, go.Figure]:
        trace = view.trace
        rows = slice(0, EXACT_TOKENS)
        parts = zip(("Queries", "Keys", "Values"), "qkv", trace.layer_qkv(layer), strict=True)
        return {
            title: figures.vectors_heatmap(part[head, rows].float().cpu(), trace.labels, kind)
            for title, kind, part in parts
        }

    export_panel(
        view,
        title(view, f"q, k, v in L{layer} H{head}"),
        lambda: tables.vectors_frame(view.trace, layer, head),
        figures=drawn,
        lines=f"q, k, v = (part[{head}] for part in trace.layer_qkv({layer}))",
        settings=place(view),
    )
