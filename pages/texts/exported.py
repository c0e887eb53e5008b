"""What the page exports: the words of the selected text, the report of all its parts, and Python lines."""

from encoder.export import why as export
from pages.core.widgets import Export, title
from pages.texts.subject import Subject


def draw(subject: Subject) -> None:
    """The export panel of every part."""
    view, why, ranking = subject.view, subject.why, subject.ranking
    said = export.facts(view.loaded, why)
    Export(
        view,
        title(view, "Why this score"),
        why.table,
        sections=lambda: [*([] if ranking is None else [export.ranked(ranking)]), *export.sections(why)],
        lines=export.explained_lines(subject.query, subject.text),
        settings={"Query": subject.query, "Compared with": subject.text}
        | {name: value for name, value in said.items() if name != "Model"},
    ).draw()
