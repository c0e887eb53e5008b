"""What can be exported from the page “Sentence similarity”."""

from __future__ import annotations

import plotly.graph_objects as go

from encoder.export import similarity as export
from encoder.export.document import Section
from encoder.export.tables import similarity_frame
from encoder.similarity import Attribution, MethodComparison
from pages.core.export import export_panel, title
from pages.core.view import View
from pages.similarity import measures


def export_similarity(
    view: View, found: Attribution, measured: MethodComparison | None, agreement: go.Figure | None
) -> None:
    """The cells, the report and the Python lines. agreement: the page's figure of rank correlations."""

    def sections() -> list[Section]:
        parts = export.sections(found, None if measured is None else measured.deletion)
        if measured is not None and agreement is not None:
            said = measures.result(measured).replace("**", "")
            parts.append(Section("Agreement with leaving words out", figure=agreement, sentences=[said], height=320))
            parts.append(Section("Every measure", table=measures.words(measured)))
        return parts

    facts = export.facts(view.loaded, found)
    export_panel(
        view,
        title(view, "Sentence similarity"),
        lambda: similarity_frame(found),
        sections=sections,
        lines=export.attribution_lines(found),
        settings={"Sentence B": found.b.text} | {name: facts[name] for name in facts if name not in ("Model", "Note")},
    )
