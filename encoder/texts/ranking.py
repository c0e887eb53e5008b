"""The ranking of all texts of a collection for a query, and what each word of the query adds to each score.

The Shapley values phi_i of the query's words (`scores.game`) add up to its vector. So phi_i . d of a text's vector d is
the share of word i in this text's cosine, for all texts by one product.

Shapes: N texts, W words of the query, E width of a vector.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.shown import Shown
from encoder.scores.kinds import kinds_of, of_text_side, score_of
from encoder.scores.placed import LEAST_FOR_RANGE, Place, place, random_cosines
from encoder.scores.runs import BothRuns, Runs
from encoder.search.collection import Collection
from encoder.trace import gradual


@dataclass(frozen=True)
class Ranked:
    """A text of a ranking. place: in the collection, from 0; rank: 1 for the highest score, ties share one rank."""

    place: int
    rank: int
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Shown):
    """All texts of a collection with their scores for a query. scores float64 [N], in the collection's order.

    query: a text; an image or a sound where captions, images or sounds are ranked.
    """

    query: Any
    collection: Collection
    scores: np.ndarray
    kind: str

    def __repr__(self) -> str:
        return f"<Ranking of {len(self.scores):,} texts by {self.kind}, the highest {self.scores.max():.4f}>"

    @cached_property
    def order(self) -> np.ndarray:
        """[N]: places, the highest score first; equal scores keep the order of the texts."""
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def rows(self) -> tuple[Ranked, ...]:
        """Every text, the highest score first."""
        return tuple(self.of(int(place)) for place in self.order)

    def of(self, place: int) -> Ranked:
        """The text at a place of the collection. Raises EncoderError for a place that it lacks."""
        if not 0 <= place < len(self.scores):
            raise EncoderError(f"No text {place} in this collection: choose 0 to {len(self.scores) - 1}.")
        return Ranked(place, self.rank_of(float(self.scores[place]), place), float(self.scores[place]))

    def rank_of(self, score: float, place: int | None = None) -> int:
        """The rank that a score has among the others. place: the text whose score it is, or would become."""
        others = self.scores if place is None else np.delete(self.scores, place)
        return int((others > score).sum()) + 1

    @cached_property
    def random(self) -> np.ndarray:
        """Sorted cosines of random pairs of the collection's texts (`scores.random_cosines`)."""
        return random_cosines(self.collection)

    @cached_property
    def usual(self) -> Place | None:
        """Where the best score is among random pairs, if it is not above 90% of them and the 5% below: then no text
        stands out. None where one does, for another score than a cosine, and for too few pairs."""
        if self.kind != "cosine" or len(self.scores) < 2 or len(self.random) < LEAST_FOR_RANGE:
            return None
        best = float(self.scores.max())
        found = place(best, self.random)
        return found if best <= found.high else None

    def lowest_match(self, matches: tuple[int, ...]) -> float | None:
        """The lowest score of the places that the user marked as matches; None without any."""
        return min((float(self.scores[place]) for place in matches), default=None)

    def table(self) -> pd.DataFrame:
        """A row for each text: rank, score, place, text."""
        rows = [{"rank": one.rank, "score": one.score, "place": one.place} for one in self.rows]
        return pd.DataFrame(rows).assign(text=[self.collection.texts[one.place] for one in self.rows])


def rank_gradually(model: Any, query: Any, collection: Collection, kind: str = "auto") -> Generator[int, None, Ranking]:
    """The score of every text: yields how many are scored, returns the ranking. kind: as of `explain_score`; a cosine
    uses the collection's vectors, any other score runs each text with the query.

    For an image or a sound as the query, the collection has captions (of a JointEncoder's `text`), or inputs of the
    same kind (`search.embed_signals`). Raises EncoderError for a collection of another model, and for a query without a
    direction.
    """
    if kind == "auto":
        kind = kinds_of(model)[0] if isinstance(model, TextEncoder) else "cosine"
    if kind == "cosine":
        if collection.model != (model.text if isinstance(model, JointEncoder) else model).name:
            raise EncoderError(f"{collection.model} made these vectors: open it, or embed the texts again.")
        vector = collection.direction(_vector(model, query))
        scores = collection.vectors.astype(np.float64) @ vector.astype(np.float64)
    else:
        scores = np.empty(len(collection))
        for place, text in enumerate(collection.texts):
            scores[place] = score_of(model, query, text, kind).value()
            yield place + 1
    return Ranking(query, collection, scores, kind)


rank = gradual.at_once(rank_gradually, "rank")


def _vector(model: Any, query: Any) -> np.ndarray:
    """The vector [E] of a query."""
    found = model.searching("query").embed(query) if isinstance(model, TextEncoder) else model.embed([query])
    vector: np.ndarray = found[0].cpu().float().numpy()
    return vector


@dataclass(frozen=True, eq=False)
class QueryWords:
    """What each word of a query adds to each text's cosine. words [W]; shares float64 [W, N], columns add up to the
    scores; answers [W, N]: the share less its mean over the collection."""

    words: tuple[str, ...]
    shares: np.ndarray

    @cached_property
    def answers(self) -> np.ndarray:
        found: np.ndarray = self.shares - self.shares.mean(axis=1, keepdims=True)
        return found


def query_words(model: TextEncoder, ranking: Ranking, runs: BothRuns | None = None) -> QueryWords:
    """The shares of the query's words in all cosines. runs: as of `explain_score`. Raises EncoderError for a ranking by
    another score."""
    if ranking.kind != "cosine":
        raise EncoderError(f"Shares of a query's words need a cosine, not {ranking.kind}: rank with kind='cosine'.")
    query = of_text_side(model, ranking.query, "query", Runs() if runs is None else runs[0])
    values = query.values.values  # [W, E]
    return QueryWords(query.side.labels, values @ ranking.collection.vectors.T.astype(np.float64))
