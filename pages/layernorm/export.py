"""What can be exported from the page “LayerNorm”."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from encoder import figures
from encoder.export import tables
from encoder.export.document import Section
from pages.core.export import export_panel, title
from pages.core.view import View

if TYPE_CHECKING:
    from encoder.explain import Normalised


def export_norms(view: View, name: str, token: int, step: Normalised, shown: Mapping[str, go.Figure]) -> None:
    """Mean and standard deviation of every token at every norm; in the report one token at one norm, too.

    step: the token's way through the norm `name`; shown: the page's pictures.
    """
    label = figures.norm_label(name)

    def sections() -> list[Section]:
        parts = [Section(heading, figure=figure) for heading, figure in shown.items()]
        components = figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean)
        parts.append(Section(f"Token {token} at {label}, component by component", table=components))
        return [*parts, Section("Every token at every norm", table=tables.norms_frame(view.trace))]

    export_panel(
        view,
        title(view, "LayerNorm"),
        lambda: tables.norms_frame(view.trace),
        sections=sections,
        settings={"Norm": label, "Token": f"{token}, {view.trace.labels[token]}"},
        lines="means = {name: norm.mean for name, norm in trace.norms.items()}\n"
        "stds = {name: norm.std for name, norm in trace.norms.items()}",
    )
