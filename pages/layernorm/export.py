"""The export of the page “LayerNorm”."""

from __future__ import annotations

from encoder import figures
from encoder.export import tables
from encoder.export.document import Section
from pages.core.export import export_panel, title
from pages.layernorm.selected import Figures, Selected


def export_norms(selected: Selected, shown: Figures) -> None:
    """Mean and standard deviation of every token at every LayerNorm; in the report also one token at one.

    shown: the figures of the open part.
    """
    view, token = selected.view, selected.token

    def sections() -> list[Section]:
        step = selected.step
        parts = [Section(heading, figure=figure) for heading, figure in shown.items()]
        components = figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean)
        parts.append(Section(f"Token {token} at {selected.label}, component by component", table=components))
        return [*parts, Section("Every token at every LayerNorm", table=tables.norms_frame(view.trace))]

    export_panel(
        view,
        title(view, "LayerNorm"),
        lambda: tables.norms_frame(view.trace),
        sections=sections,
        settings={"LayerNorm": selected.label, "Token": f"{token}, {view.trace.labels[token]}"},
        lines="means = {name: norm.mean for name, norm in trace.norms.items()}\n"
        "stds = {name: norm.std for name, norm in trace.norms.items()}",
    )
