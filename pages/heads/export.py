"""What the page exports: the open map, lines or text, and the small maps of all heads."""

from __future__ import annotations

from encoder.export import HeadView, report
from pages.core.export import export_panel
from pages.core.view import View


def export_head(view: View, drawn: HeadView) -> None:
    """Draw the export panel. drawn: the open head as the page shows it."""
    export_panel(
        view,
        f"{drawn.name} of {view.loaded.name}",
        drawn.frame,
        sections=lambda: report.sections(drawn, view.colours),
        lines=drawn.code(),
        settings=drawn.facts(),
    )
