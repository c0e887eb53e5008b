"""Commands about texts: `embed`, `search`, `why`, `classify`, `generate`, `similarity`."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from encoder import classify
from encoder.cli import inputs
from encoder.cli.command import CommandError, Result
from encoder.cli.progress import Shown, shares, track
from encoder.documents.tables import similarity_frame
from encoder.drawing import still
from encoder.drawing.still import Still
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder, of_text
from encoder.export import report
from encoder.export import similarity as export
from encoder.export import why as export_why
from encoder.probe.features import vectors as vectors_of
from encoder.scores import explain_score
from encoder.search import embed_gradually, is_cut, nearest
from encoder.similarity import Attribution, attribute, leave_words_out
from encoder.texts import rank, why_not_found

#: Inputs that are embedded between two lines of progress.
TOGETHER = 256
#: Cells that are printed without --out; labels, and words at a mask, that are printed and written.
PRINTED, LIKELIEST = 10, 10
#: Inputs in a picture, and texts of which all pairs are compared.
DRAWN, MOST_COMPARED = 100, 2_000


def embed(options: argparse.Namespace) -> Iterator[Result]:
    """One vector for each input, as the checkpoint makes it."""
    models, names = inputs.towers(options), inputs.texts(options)
    model: Any = models[0]
    given: Sequence[Any] = names
    if options.file:
        if names:
            raise CommandError("Texts and files have vectors of their own: embed them one after the other.")
        model, names = models[-1], [str(file) for file in options.file]
    if isinstance(model, SignalEncoder):
        given = [model.open(name) for name in names]
    if options.layer is not None or options.pool is not None:
        text_model, layer = of_text(model, "leave --layer and --pool out."), options.layer
        vectors = vectors_of(text_model, names, -1 if layer is None else layer, options.pool or "mean")
    else:
        prompt = {"prompt": options.prompt, "side": options.side} if isinstance(model, TextEncoder) else {}
        parts = [given[first : first + TOGETHER] for first in range(0, len(given), TOGETHER)]
        vectors = np.concatenate(
            [model.embed(part, **prompt).float().cpu().numpy() for part in track(parts, len(parts), "parts")]
        )

    n_cut = sum(is_cut(model, name) for name in names) if isinstance(model, TextEncoder) else 0

    def table() -> pd.DataFrame:
        columns = pd.DataFrame(vectors, columns=[f"v{at}" for at in range(vectors.shape[1])])
        return pd.concat([pd.DataFrame({"text": range(len(names)), "sentence": names}), columns], axis=1)

    yield Result(
        lambda: [table()],
        lambda: {"vectors": vectors, "sentences": np.array(names)},
        lambda: _pairs(vectors, names),
        name=f"{len(names):,} vectors of {vectors.shape[1]} numbers, by {model.name}",
        facts={"Model": model.name, **_cut_fact(n_cut, len(names))},
        shown=lambda: table().iloc[:PRINTED, :6],
    )


def _cut_fact(n_cut: int, count: int) -> dict[str, str]:
    """What a file says of texts of which the model accepts the beginning only; standard error says it, too."""
    said = inputs.say_n_cut(n_cut, count)
    return {"Cut": said} if said else {}


def cosines_of(vectors: np.ndarray) -> np.ndarray:
    """[N, N]: the cosine of each pair of vectors [N, E]."""
    directions = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: np.ndarray = directions @ directions.T
    return found


def _pairs(vectors: np.ndarray, names: Sequence[str]) -> Still:
    """The cosines of the first inputs."""
    title = "cosine" if len(names) <= DRAWN else f"cosine of the first {DRAWN}"
    return still.matrix(title, cosines_of(vectors[:DRAWN]), *[names[:DRAWN]] * 2, signed=True)


def search(options: argparse.Namespace) -> Iterator[Result]:
    """The texts nearest to each query."""
    model, texts = inputs.text_model(options), inputs.texts(options)
    collection = shares(embed_gradually(model, texts), len(texts))
    rows = [
        (query, rank, cosine, place, texts[place])
        for query in options.query
        for rank, (place, cosine) in enumerate(nearest(collection, model, query, options.k), 1)
    ]
    table = pd.DataFrame(rows, columns=["query", "rank", "cosine", "text", "sentence"])
    cosines = np.array(table["cosine"]).reshape(len(options.query), -1)
    ranks = [str(rank) for rank in range(1, cosines.shape[1] + 1)]
    yield Result(
        lambda: [table],
        lambda: {"cosines": cosines, "texts": np.array(table["text"]).reshape(cosines.shape)},
        lambda: still.matrix("cosine by rank", cosines, options.query, ranks, signed=True),
        name=f"{len(table)} hits among {len(texts):,} texts",
        facts={"Model": model.name, "Texts": len(texts), **_cut_fact(collection.n_cut, len(texts))},
        shown=lambda: table[["cosine", "sentence"] if len(options.query) == 1 else ["query", "cosine", "sentence"]],
    )


def why(options: argparse.Namespace) -> Iterator[Result]:
    """The ranking of a query, and why one text has its score and rank."""
    model, texts = inputs.text_model(options), inputs.texts(options)
    collection = shares(embed_gradually(model, texts), len(texts))
    ranking = rank(model, options.query, collection)
    place = ranking.rows[0].place if options.of is None else options.of
    missed = why_not_found(model, ranking, place)
    pair = (options.query, texts[place])
    found = explain_score(model, *pair, collection, each_word=options.each_word)
    placed = "" if found.place is None else f", higher than {found.place.share} of your texts"
    for name, side in zip(("query", "text"), found.source.sides, strict=True):
        if side.cut_at:
            inputs.say_cut(f"the {name}", side.cut_at)
    inputs.say_n_cut(collection.n_cut, len(texts))
    table = export_why.table(found, ranking, missed)
    empty = np.zeros((0, 0))
    matrix, labels = (found.split.matrix, found.split.labels) if found.split is not None else (empty, ((), ()))
    yield Result(
        lambda: [table],
        lambda: {"pairs": matrix, "words_a": np.array(labels[0], str), "words_b": np.array(labels[1], str)},
        lambda: still.matrix(f"{found.kind} {found.score:.4f}", matrix, *labels, signed=True),
        lambda: export_why.page(model, inputs.spec(options), found, pair, ranking, missed),
        f"{found.kind} {found.score:.4f} of {model.name}",
        export_why.facts(model, found, missed),
        lambda: table[table["what"] == "word"].sort_values("value", ascending=False, kind="stable").head(PRINTED),
        f"{found.kind}: {found.score:.4f}, rank {missed.ranked.rank} of {len(texts):,}{placed}\n"
        f"{missed.said}: {', '.join(missed.unanswered) or 'none'}",
    )


def classified(item: inputs.Input) -> Result:
    """The classes of an input, the labels of its tokens, or the words at its masks."""
    model, trace = item.model, item.trace
    if isinstance(model, TextEncoder) and model.entity_head is not None:
        return _spans(item, classify.span_scores(model, trace))
    if model.classifier is None and isinstance(model, TextEncoder) and model.mlm_head is not None:
        most = min(LIKELIEST, model.config.vocab_size)
        table = pd.DataFrame(
            [
                {"position": mask.position, "word": word, "probability": probability}
                for mask in model.predict_masked(trace, k=most)
                for word, probability in zip(mask.tokens, mask.probabilities, strict=True)
            ]
        )
    elif classify.classifier_of(model).config.kind == "token":
        table = pd.DataFrame(
            [
                {
                    "position": tag.position,
                    "token": trace.labels[tag.position],
                    "label": tag.label,
                    "probability": tag.probability,
                }
                for tag in classify.tags(model, trace)
            ]
        )
    else:
        table = classify.predict(model, trace).table()
    names = table[next(name for name in ("word", "token", "label") if name in table)].astype(str).tolist()
    order = table if "position" in table else table.sort_values("probability", ascending=False, kind="stable")
    values = table["probability"].to_numpy()
    return Result(
        lambda: [table],
        lambda: {"probabilities": values, "labels": np.array(table.get("label", names), dtype=str)},
        lambda: still.matrix("probability", values[None], [""], names),
        name=f"{len(table)} rows of {model.name}",
        facts=item.facts(),
        shown=lambda: order.head(2 * LIKELIEST),
    )


def _spans(item: inputs.Input, found: classify.SpanScores) -> Result:
    """A row for each span of words: the scores of the labels, and whether it is an entity."""
    table = found.table(item.options.threshold)
    rows = table.index[:PRINTED]
    names = [f"score of {label}" for label in found.labels]
    return Result(
        lambda: [table],
        lambda: {"scores": found.scores.numpy(), "spans": np.array(found.spans), "labels": np.array(found.labels)},
        lambda: still.matrix("score", table[names].to_numpy()[rows], table["span"][rows].tolist(), list(found.labels)),
        name=f"{len(table)} spans of {item.model.name}",
        facts=item.facts(labels=", ".join(found.labels)),
        shown=lambda: table.sort_values("entity", ascending=False, kind="stable").head(2 * LIKELIEST),
    )


def generated(item: inputs.Input) -> Result:
    """A row for each token of the output: its probability, and the most probable one in its place."""
    options = item.options
    found = item.model.generate(
        item.trace, options.max_tokens, beams=options.beams, target=options.target, begin=options.begin
    )

    table = found.table()

    def arrays() -> dict[str, np.ndarray]:
        whole = {name: table[name].to_numpy() for name in ("id", "log_probability")}
        if item.model.decoder.reads:
            whole["cross_attention"] = found.trace.decoder.cross_attentions.cpu().numpy()  # [L, H, T, S]
        return whole

    log_p = table[["log_probability", "likeliest_log_probability"]].to_numpy().T
    names = ("written", "likeliest")
    return Result(
        lambda: [table],
        arrays,
        lambda: still.matrix("log probability", log_p, names, [step.label for step in found.steps], signed=True),
        name=f"{len(found.steps)} tokens of {item.model.name}",
        shown=lambda: table,
        facts=item.facts(output=found.text, log_probability=round(found.log_probability, 6)),
        said=f"{found.text}\nlog probability {found.log_probability:.4f}"
        + "".join(f"\n{one.score:.4f}  {one.text}" for one in found.hypotheses[1:]),
    )


def similarity(options: argparse.Namespace) -> Iterator[Result]:
    """Two texts: their cosine, split among pairs of tokens. More: the cosine of each pair."""
    model, texts = inputs.text_model(options), inputs.texts(options)
    if len(texts) < 2:
        raise CommandError("similarity compares texts: specify two or more.")
    cut = _cut_fact(sum(is_cut(model, text) for text in texts), len(texts))
    if len(texts) > 2:
        if len(texts) > MOST_COMPARED:
            raise CommandError(f"similarity compares up to {MOST_COMPARED:,} texts, not {len(texts):,}: use search.")
        vectors = model.embed(texts).float().cpu().numpy()
        cosines = cosines_of(vectors)
        pairs = [(a, b, cosines[a, b], texts[a], texts[b]) for a, b in combinations(range(len(texts)), 2)]
        table = pd.DataFrame(pairs, columns=["a", "b", "cosine", "sentence_a", "sentence_b"])
        yield Result(
            lambda: [table],
            lambda: {"cosines": cosines, "sentences": np.array(texts)},
            lambda: _pairs(vectors, texts),
            name=f"{len(table):,} pairs, by {model.name}",
            facts={"Model": report.model_fact(model), **cut},
            shown=lambda: table.sort_values("cosine", ascending=False, kind="stable").head(PRINTED),
        )
        return
    layer = model.config.n_layers if options.layer == "output" else options.layer
    found = attribute(model, texts[0], texts[1], layer, options.steps, options.reference, Shown())

    table = similarity_frame(found)

    def page() -> str:
        return export.page(model, inputs.spec(options), found, leave_words_out(model, *texts))

    yield Result(
        lambda: [table],
        lambda: {"cells": found.matrix, "tokens_a": np.array(found.labels[0]), "tokens_b": np.array(found.labels[1])},
        lambda: still.matrix(f"cosine {found.cosine:.4f}", found.matrix, *found.labels, signed=True),
        page,
        f"cosine {found.cosine:.4f} of {model.name}",
        export.facts(model, found) | {"Text": export.texts(found)} | cut,
        lambda: table.sort_values("value", ascending=False, kind="stable").head(PRINTED),
        _said(found),
    )


def _said(found: Attribution) -> str:
    """The cosine, the sum of all cells and its error."""
    terms = ""
    if not found.is_exact:
        terms = ", reference terms: " + ", ".join(f"{term:.4f}" for term in found.references)
    sums = f"sum of the cells: {found.matrix.sum():.4f}, error: {found.error:.2g}, steps: {found.steps}"
    return f"cosine: {found.cosine:.4f}{terms}\n{sums}"
