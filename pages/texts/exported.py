"""What the page exports: the words of the selected text, the report of all its parts, and Python lines."""

import dataclasses

from encoder.export import why as export
from encoder.run import code
from encoder.run.command import of_texts
from pages.core.stores import input_kinds, model_store
from pages.core.widgets import Export, origin, title
from pages.texts import own_texts
from pages.texts.subject import Subject

#: Texts of a collection that the command line lists; of a larger one, it has the selected text by itself.
LISTED = 20


def draw(subject: Subject) -> None:
    """The export panel of every part."""
    view, why, ranking = subject.view, subject.why, subject.ranking
    if subject.given is not None:
        _of_media(subject)
        return

    def settings() -> dict[str, str]:
        said = export.facts(view.loaded, why)
        return {"Query": subject.query, "Compared with": subject.text} | {
            name: value for name, value in said.items() if name != "Model"
        }

    Export(
        view,
        title(view, "Why this score"),
        why.table,
        sections=lambda: [*([] if ranking is None else [export.ranked(ranking)]), *export.sections(why)],
        lines=export.explained_lines(subject.query, subject.text, why.each_word),
        is_traced=False,
        settings=settings,
        line=command(subject),
        left_out=own_texts.note(),
    ).draw()


def _of_media(subject: Subject) -> None:
    """The same of an image or a sound."""
    view, why = subject.view, subject.why
    source, joint = input_kinds.of(view.loaded), model_store.joint(view.model)
    imported, query = source.code(view.loaded, subject.names[0])
    lines, other, by = [imported] * bool(imported), repr(subject.text), "model"
    if joint is None:
        other = source.code(view.loaded, subject.names[1])[1]
        lines.append("import encoder")
    else:
        whole, by = dataclasses.replace(origin(view.model)[0], tower="", norm="trained"), "pair"
        lines.append(f"import encoder\n{code.model_lines(whole, by)}")
    lines.append(f"why = encoder.explain_score({by}, {query}, {other})\nwhy.score, why.words_a, why.pairs, why.circuit")
    Export(
        view,
        title(view, "Why this score"),
        why.table,
        sections=lambda: export.sections(why),
        lines="\n".join(lines),
        settings={"Query": subject.query, "Compared with": subject.text, "Score": f"{why.kind} {why.score:.4f}"},
        left_out=own_texts.note(),
    ).draw()


def command(subject: Subject) -> str:
    """`encoderscope why ...` for the same score; "" for a model that a command line cannot name."""
    ranking, texts, place = subject.ranking, (subject.text,), None
    if ranking is not None and subject.place is not None and 1 < len(ranking.scores) <= LISTED:
        texts, place = tuple(ranking.collection.texts), subject.place
    return of_texts(
        "why", origin(subject.view.model)[0], texts, query=subject.query, of=place, each_word=subject.params.each_word
    )
