"""Sentence similarity: the cosine of two sentences, split among pairs of tokens."""

import plotly.graph_objects as go
import streamlit as st

from encoder import similarity
from encoder.export import similarity as export
from encoder.export.document import Section
from encoder.export.tables import similarity_frame
from pages.core.frame.frame import current_view, heading
from pages.core.view import View
from pages.core.widgets import Export, title
from pages.core.words import about, errors_said
from pages.similarity import attributed, controls, late, map, measures
from pages.similarity.params import Params
from pages.state import next_page


def main(view: View) -> None:
    with heading(about.text(__file__, "What the map shows")):
        controls.of_map(view)
    params = controls.draw(view)
    attributed.sentences(view, params)
    found = None
    with errors_said():
        found = attributed.attribution(view, params)
    if found is not None:
        show(view, params, found)
    late.draw(view, params.other)
    next_page("contribution", "Contribution, what else matters")


def show(view: View, params: Params, found: similarity.Attribution) -> None:
    """The map, the measures next to it, and the export panel."""
    cells = similarity.word_cells(found) if params.words else similarity.token_cells(found)
    map.draw(found, cells, params)
    st.header("What people use instead", anchor=False)
    agreement = None
    measured = None
    with errors_said(st.info, icon=":material/info:"):
        measured = attributed.methods(view, attributed.asked(view, params), found)
        if measured is not None:
            agreement = measures.draw(measured)
    exported(view, found, measured, agreement).draw()


def exported(
    view: View, found: similarity.Attribution, measured: similarity.MethodComparison | None, agreement: go.Figure | None
) -> Export:
    """The cells, and a report with the measures. agreement: the page's figure of rank correlations."""

    def sections() -> list[Section]:
        parts = export.sections(found, None if measured is None else measured.deletion)
        if measured is not None and agreement is not None:
            said = measures.result(measured).replace("**", "")
            parts.append(Section("Agreement with leaving words out", figure=agreement, sentences=[said], height=320))
            parts.append(Section("Every measure", table=measures.words(measured)))
        return parts

    facts = export.facts(view.loaded, found)
    return Export(
        view,
        title(view, "Sentence similarity"),
        lambda: similarity_frame(found),
        sections=sections,
        lines=export.attribution_lines(found),
        settings={"Sentence B": found.b.text} | {name: facts[name] for name in facts if name not in ("Model", "Note")},
    )


main(current_view())
