"""Why a query found a text, or did not, as a file: a report that opens without a network, or one table of all numbers.

Shapes: N texts, W_a, W_b words.
"""

import numpy as np
import pandas as pd

from encoder.diagnose.fingerprint import fingerprint
from encoder.documents.document import Section, document
from encoder.encoders.text import TextEncoder
from encoder.export import report
from encoder.figures.pairs import similarity_heatmap
from encoder.run import ModelSpec
from encoder.run.code import model_lines
from encoder.scores import ScoreExplanation
from encoder.texts import Missed, Ranking

#: Rows of the ranking, and edits, in a report.
LISTED, EDITS = 50, 10
FOOTER = "Every number was computed by the model on these texts."


def page(
    model: TextEncoder,
    spec: ModelSpec,
    why: ScoreExplanation,
    texts: tuple[str, str],
    ranking: Ranking | None = None,
    missed: Missed | None = None,
    link: str = "",
) -> str:
    """The report of two texts, and of their place in a ranking. texts: as the user typed them."""
    parts = [*([] if ranking is None else [ranked(ranking)]), *sections(why)]
    parts += [] if missed is None else [edits(missed)]
    lines = code(spec, *texts, why.each_word)
    said, footer = {"Opened": spec.source, **facts(model, why, missed)}, report.footer(FOOTER)
    title = f"Why this score? {model.name}"
    return document(title, parts, text="\n".join(texts), facts=said, code=lines, link=link, footer=footer)


def facts(model: TextEncoder, why: ScoreExplanation, missed: Missed | None = None) -> dict[str, str]:
    """What a report states: model and its fingerprint, prompt, pooling, score, parts, its place, what was cut."""
    a, b = why.source.sides
    sides = (("A", a), ("B", b))
    said = {"Model": report.model_fact(model), "Fingerprint": fingerprint(a.model, a.prompt).id}
    said["Prompt"] = a.prompt or "none"
    if model.has_sides or b.prompt != a.prompt:
        said |= {"Fingerprint of text B": fingerprint(b.model, b.prompt).id, "Prompt of text B": b.prompt or "none"}
    said |= {"Pooling": model.pooling, "Score": f"{why.kind} {why.score:.4f}"}
    said["Parts"] = ", ".join(f"{len(side)} {side.level}{'s' * (len(side) != 1)} of {name}" for name, side in sides)
    if why.place is not None:
        place = why.place
        said["Percentile"] = f"{place.percentile:.1f} among {place.pairs} of the collection"
        said["90% of these pairs"] = f"{place.low:.3f} to {place.high:.3f}"
    if missed is not None:
        said["Rank"] = f"{missed.ranked.rank}"
    for name, side in sides:
        if side.cut_at:
            said[f"Text {name} is cut"] = f"after “{side.cut_at}”"
    return said


def ranked(ranking: Ranking) -> Section:
    """The first texts of a ranking."""
    return Section("The ranking", table=ranking.table().head(LISTED))


def sections(why: ScoreExplanation) -> list[Section]:
    """The words, the pairs and the components of a score."""
    effects = why.table()
    total = {side: effects.loc[effects["side"] == side, "effect"].sum() if len(effects) else 0.0 for side in "ab"}
    parts = [
        Section(
            "What the score loses without each word",
            table=effects,
            sentences=[
                f"The effects add up to {total['a']:.4f} (A) and {total['b']:.4f} (B); the score: {why.score:.4f}."
            ],
        )
    ]
    if why.split is not None and why.split.matrix.size:
        split = why.split
        error = f"Median standard error of a cell: {np.median(split.error):.4f}."
        said = f"The cells add up to {split.matrix.sum():.4f}, the score. {error}"
        parts.append(
            Section(
                "Pairs of words",
                figure=similarity_heatmap(split.matrix, *split.labels, title="part of the score"),
                sentences=[said, f"Method: {split.method}."],
            )
        )
    if why.kind == "cosine":
        parts.append(components(why))
    return parts


def components(why: ScoreExplanation) -> Section:
    """The circuit of a cosine."""
    found = why.whole_circuit
    match = "" if found.correlation is None else f" Correlation of share and measured effect: {found.correlation:.2f}."
    return Section(
        "The circuit of the cosine",
        table=circuit_table(why),
        sentences=[f"The shares add up to {found.sum:.6f}, the cosine.{match}"],
    )


def circuit_table(why: ScoreExplanation) -> pd.DataFrame:
    """A row for each component: name, share, measured (empty: not switched off)."""
    return pd.DataFrame(
        [{"component": one.name, "share": one.share, "measured": one.measured} for one in why.circuit],
    ).astype({"measured": float})


def edits(missed: Missed) -> Section:
    """The edits that move a text most, and the words that nothing in it answers."""
    rows = [
        {"edit": f"{one.level} {one.what}", "word": one.word, "score": one.score, "rank": one.rank}
        for one in missed.edits
    ]
    said = f"{missed.said}: {', '.join(missed.unanswered) or 'none'}."
    return Section("What would move this text", table=pd.DataFrame(rows).head(EDITS), sentences=[said])


def code(spec: ModelSpec, a: str, b: str, each_word: bool = False) -> str:
    """Python lines that make the model and the explanation again."""
    return f"import encoder\n{model_lines(spec)}\n{explained_lines(a, b, each_word)}"


def explained_lines(a: str, b: str, each_word: bool = False) -> str:
    """Python lines that explain the score from a `model`."""
    more = ", each_word=True" if each_word else ""
    return f"why = encoder.explain_score(model, {a!r}, {b!r}{more})\nwhy.score, why.words_a, why.pairs, why.circuit"


def table(why: ScoreExplanation, ranking: Ranking | None = None, missed: Missed | None = None) -> pd.DataFrame:
    """All numbers as one table: what (rank, word, pair, component or edit), name, side, score, value, measured."""
    rows: list[dict[str, object]] = []
    if ranking is not None:
        for one in ranking.rows:
            rows.append(
                {"what": "rank", "name": ranking.collection.texts[one.place], "score": one.score, "rank": one.rank}
            )
    for side, words in (("a", why.words_a), ("b", why.words_b)):
        rows += [{"what": "word", "name": one.word, "side": side, "value": one.effect} for one in words]
    if why.split is not None:
        a, b = why.split.labels
        rows += [
            {"what": "pair", "name": f"{a[i]} × {b[j]}", "value": value}
            for (i, j), value in np.ndenumerate(why.split.matrix)
        ]
    if why.kind == "cosine":
        rows += [
            {"what": "component", "name": one.name, "value": one.share, "measured": one.measured} for one in why.circuit
        ]
    if missed is not None:
        rows += [
            {"what": "edit", "name": f"{one.what}: {one.word}", "score": one.score, "rank": one.rank}
            for one in missed.edits
        ]
    columns = ["what", "name", "side", "score", "value", "measured", "rank"]
    found = pd.DataFrame(rows, columns=columns).astype({"score": float, "value": float, "measured": float})
    return found.astype({"rank": "Int64"})
