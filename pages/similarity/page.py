"""Sentence similarity: the cosine of two sentences, split among pairs of tokens."""

from encoder import similarity
from encoder.documents.tables import similarity_frame
from encoder.export import similarity as export
from pages.core.frame.frame import heading, show
from pages.core.view import View
from pages.core.widgets import Export, title
from pages.core.words import about, errors_said
from pages.similarity import attributed, controls, late, map
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
        picture(view, params, found)
    late.draw(view, params.other)
    next_page("contribution", "Contribution, what else matters")


def picture(view: View, params: Params, found: similarity.Attribution) -> None:
    """The map and the export panel."""
    map.draw(found, similarity.word_cells(found) if params.words else similarity.token_cells(found), params)
    facts = export.facts(view.loaded, found)
    Export(
        view,
        title(view, "Sentence similarity"),
        lambda: similarity_frame(found),
        sections=lambda: export.sections(found),
        lines=export.attribution_lines(found),
        settings={"Sentence B": found.b.text} | {name: facts[name] for name in facts if name not in ("Model", "Note")},
    ).draw()


show(main)
