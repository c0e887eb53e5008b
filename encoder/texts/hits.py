"""Hits of a query in one table, two hits side by side, and the words that pull all texts together.

Shapes: N texts, W words, E width of a vector.
"""

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.scores.components import circuit
from encoder.scores.kinds import Score, score_of
from encoder.scores.parts import sentences, words
from encoder.scores.runs import BothRuns, Runs, computed_once
from encoder.scores.sides import Side, masked_pool, text_side
from encoder.search.collection import Collection
from encoder.texts.ranking import QueryWords, Ranked, Ranking, query_words
from encoder.trace import gradual

#: Hits in the table, and words of each.
HITS, STRONGEST = 10, 3
#: A smaller effect rounds to 0 where three decimals are written.
LEAST_EFFECT = 0.0005
#: A word counts as repeated from so many texts on; texts whose words are left out; parts of such a text.
LEAST_TEXTS, MOST_TEXTS, PARTS = 3, 64, 48


@dataclass(frozen=True)
class HitWords:
    """A hit and the words of it without which its score falls most: (word, effect), the strongest first,
    none of less than LEAST_EFFECT.

    label: of the text, "" without labels; false_friend: whether its label is another than the wanted one.
    """

    ranked: Ranked
    strongest: tuple[tuple[str, float], ...]
    label: str = ""
    false_friend: bool = False


def hit_words(
    model: TextEncoder,
    ranking: Ranking,
    k: int = HITS,
    labels: tuple[str, ...] = (),
    wanted: str = "",
    runs: BothRuns | None = None,
) -> tuple[HitWords, ...]:
    """The first k hits with their strongest words. labels: one for each text; wanted: that of a right hit, by default
    the label of most of the hits. A text without a label, "", is neither right nor wrong. runs: as of `explain_score`.
    """
    if labels and len(labels) != len(ranking.scores):
        raise EncoderError(f"{len(labels):,} labels for {len(ranking.scores):,} texts: specify one for each text.")
    first = ranking.rows[:k]
    if labels and not wanted:
        named = [label for one in first if (label := labels[one.place])]
        wanted = max(named, key=named.count, default="")
    found: list[HitWords] = []
    runs = runs or (Runs(), Runs())
    for one in first:
        score = score_of(model, ranking.query, ranking.collection.texts[one.place], ranking.kind, runs=runs)
        label = labels[one.place] if labels else ""
        found.append(HitWords(one, _strongest(score, one.score), label, bool(label) and label != wanted))
    return tuple(found)


def _strongest(score: Score, value: float) -> tuple[tuple[str, float], ...]:
    side = score.sides[1]
    if not len(side):
        return ()
    effects = value - score.without(1)
    first = np.argsort(-effects, kind="stable")[:STRONGEST]
    return tuple((side.labels[row], float(effects[row])) for row in first if effects[row] >= LEAST_EFFECT)


@dataclass(frozen=True, eq=False)
class TwoHits:
    """Two hits of a query. words: (word of the query, its share in the first, in the second); the shares in a text add
    up to its score. lifts: of each text (word, effect), the strongest first. scores: what explains each hit."""

    first: Ranked
    second: Ranked
    words: tuple[tuple[str, float, float], ...]
    lifts: tuple[tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]
    scores: tuple[Score, Score]

    @computed_once
    def components(self) -> tuple[tuple[str, float, float], ...]:
        """(head, FFN or other component, its share in the first, in the second), the largest difference first; the
        shares in a text add up to its score. Raises EncoderError as `scores.circuit`."""
        one, other = ({part.name: part.share for part in circuit(score, 0).components} for score in self.scores)
        rows = [(name, one.get(name, 0.0), other.get(name, 0.0)) for name in {**one, **other}]
        return tuple(sorted(rows, key=lambda row: -abs(row[1] - row[2])))


def compare(
    model: TextEncoder,
    ranking: Ranking,
    first: int,
    second: int,
    of_query: QueryWords | None = None,
    runs: BothRuns | None = None,
) -> TwoHits:
    """Two texts of a ranking by cosine, by their places: what lifts each, word by word of the query. of_query, runs: as
    of `why_not_found`.

    Raises EncoderError for a ranking by another score, and for a place that the collection lacks.
    """
    runs = runs or (Runs(), Runs())
    of_query = of_query or query_words(model, ranking, runs)
    ranked = ranking.of(first), ranking.of(second)
    rows = [
        (word, float(of_query.shares[at, first]), float(of_query.shares[at, second]))
        for at, word in enumerate(of_query.words)
    ]
    rows.sort(key=lambda row: row[2] - row[1])
    one, other = (
        score_of(model, ranking.query, ranking.collection.texts[place], ranking.kind, runs=runs)
        for place in (first, second)
    )
    lifts = _strongest(one, ranked[0].score), _strongest(other, ranked[1].score)
    return TwoHits(*ranked, tuple(rows), lifts, (one, other))


@dataclass(frozen=True)
class Pull:
    """A word, sentence or line that several texts have. effect: the mean, over the texts with it that were measured, of
    how much it raises the mean cosine of the text with all others; texts: how many texts have it."""

    words: str
    effect: float
    texts: int
    kind: str


def pulling_gradually(model: TextEncoder, collection: Collection, k: int = 20) -> Generator[float, None, list[Pull]]:
    """Find the words and sentences that pull everything: yields the share that is done, returns the k strongest.

    A candidate is in LEAST_TEXTS texts or more (a sentence in two). It is left out of each of up to MOST_TEXTS texts,
    evenly spaced, in its place; the effect is the mean cosine of the text with all other texts, minus the same without
    it. Raises EncoderError for fewer than 3 texts.
    """
    if len(collection) < 3:
        raise EncoderError(
            f"Words that pull everything need at least 3 texts, and there are {len(collection)}: add some."
        )
    sums = collection.vectors.sum(axis=0, dtype=np.float64)
    places = np.unique(np.linspace(0, len(collection) - 1, min(MOST_TEXTS, len(collection))).round().astype(int))
    sides = [text_side(model.searching("document"), collection.texts[place], PARTS) for place in places]
    counts = _counts(model, collection)
    effects: dict[tuple[str, str], list[float]] = defaultdict(list)
    for done, (place, side) in enumerate(zip(places, sides, strict=True)):
        groups = {key: rows for key, rows in _candidates(side).items() if counts.get(key, 0) >= _least(key[0])}
        if groups:
            keep = np.ones((len(groups) + 1, len(side)), dtype=bool)
            for row, of_group in enumerate(groups.values()):
                keep[row + 1, list(of_group)] = False
            others = (sums - collection.vectors[place]) / (len(collection) - 1)
            means = _unit(side, keep) @ others
            for key, without in zip(groups, means[1:], strict=True):
                effects[key].append(float(means[0] - without))
        yield (done + 1) / len(places)
    found = [Pull(key[1], float(np.mean(some)), counts[key], key[0]) for key, some in effects.items()]
    return sorted(found, key=lambda one: -one.effect)[:k]


pulling = gradual.at_once(pulling_gradually, "pulling")


def _least(kind: str) -> int:
    return 2 if kind == "sentence" else LEAST_TEXTS


def _candidates(side: Side) -> dict[tuple[str, str], list[int]]:
    """(kind, words) -> the parts of a text that they are; a sentence is made of the words in it."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, part in enumerate(side.parts):
        found["word", part.label.casefold()].append(row)
    assert side.sentence is not None
    for one in sentences(side.sentence, len(side.prompt)):
        inside = set(one.tokens)
        rows = [row for row, part in enumerate(side.parts) if inside.issuperset(part.tokens)]
        if 1 < len(rows) < len(side):
            found["sentence", one.label.casefold()] += rows
    return found


def _counts(model: TextEncoder, collection: Collection) -> dict[tuple[str, str], int]:
    """How many texts have a word, by the words between blanks, or a sentence, by its characters."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for text in collection.texts:
        sentence = model.tokenize(text, max_tokens=model.max_embed_tokens)
        for kind, found in (("word", words(sentence)), ("sentence", sentences(sentence))):
            for label in {one.label.casefold() for one in found}:
                counts[kind, label] += 1
    return counts


def _unit(side: Side, keep: np.ndarray) -> np.ndarray:
    """Unit vectors [n, E]; a text without any part has the mean of no text: 0."""
    found = np.zeros((len(keep), side.model.width_of_vectors))
    for rows, output, kept in side.outputs(keep):
        vectors = masked_pool(side, output, kept).cpu().numpy()
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        found[rows] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return found
