"""What the page explains: a ranking, the selected text, and its explanation, each computed once for a session."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

import numpy as np

from encoder import scores, texts
from encoder.scores import ScoreExplanation
from encoder.search import Collection
from encoder.trace import gradual
from pages.base.work import long_work
from pages.base.work.compute_turns import LONG_FLOPS, TURNS
from pages.core.stores import cache, results
from pages.core.view import View
from pages.texts.params import Params

V = TypeVar("V")
#: Up to so many texts are run with the query without being asked, for a score other than the cosine.
AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class Subject:
    """A query and a text. ranking: of the collection, None without one; place: of the text in it, None for a text that
    was typed. Of images and sounds, query and text are titles; model: what compares them; given: the inputs; names:
    theirs in an address; labels: of the collection's texts, where the file has a column of them."""

    view: View
    query: str
    text: str
    ranking: texts.Ranking | None
    place: int | None
    params: Params
    model: Any = None
    given: tuple[Any, Any] | None = None
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    #: Whether the collection is the same for every visitor.
    is_bundled: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What an explanation depends on."""
        names = self.names or (self.query, self.text)
        return (self.view.model, *names, self.params.each_word, _digest(self.ranking))

    @property
    def why(self) -> ScoreExplanation:
        """The explanation, of which nothing but the score is computed yet."""
        return _at_once("texts-why", self.key, self._explained)

    def _explained(self) -> ScoreExplanation:
        ranking = self.ranking
        kind = "auto" if ranking is None else ranking.kind
        model, inputs = self.model or self.view.loaded, self.given or (self.query, self.text)
        found = scores.explain_score(model, *inputs, kind=kind, each_word=self.params.each_word, runs=self.runs)
        if (
            ranking is not None
            and self.given is None
            and kind == "cosine"
            and len(ranking.scores) >= scores.LEAST_TEXTS
        ):
            found = replace(found, place=scores.place(found.score, ranking.random))  # drawn once for all texts
        return found

    @property
    def runs(self) -> scores.BothRuns:
        """What was run of the queries, in this session, and of the texts: of bundled ones, for all sessions."""
        model = self.view.model
        own = results.known("texts-runs", model)
        if own is None:
            own = results.keep("texts-runs", model, (scores.Runs(), scores.Runs()), most=1)
        if self.is_bundled and self.place is not None:
            return own[0], cache.computed(("texts-runs-bundled", model), scores.Runs)
        return own  # type: ignore[no-any-return]

    def worked(
        self, what: str, make: Callable[[], V], doing: str, *more: object, of_all: bool = False, flops: float = inf
    ) -> V | None:
        """A value that takes seconds, computed in one part; None while it is cancelled. of_all: whether it is the same
        for every text that is selected; flops: of few, it does not wait for the long work of others."""

        def work() -> long_work.Work[V]:
            yield 0.0, doing
            return make()

        key = (self.view.model, self.query, _digest(self.ranking)) if of_all else self.key
        if flops < LONG_FLOPS:
            return _at_once(f"texts-{what}", (*key, *more), make)
        return results.of_work(f"texts-{what}", (*key, *more), work, label=doing, own=True)

    def of_query(self) -> texts.QueryWords | None:
        """The shares of the query's words in all scores."""
        if self.ranking is None or self.ranking.kind != "cosine":
            return None
        model, ranking = self.view.loaded, self.ranking
        return self.worked(
            "query-words", lambda: texts.query_words(model, ranking, self.runs), "Words of the query", of_all=True
        )


def ranking_of(view: View, collection: Collection, query: str) -> texts.Ranking | None:
    """Every text of the collection with its score; None while many runs wait for a click."""
    key, n_texts = (view.model, query, _of_texts(collection)), len(collection)
    kind = scores.kinds_of(view.loaded)[0]

    def work() -> long_work.Work[texts.Ranking]:
        parts = texts.rank_gradually(view.loaded, query, collection, kind)
        return gradual.reported(parts, lambda done: (done / n_texts, f"Texts scored: {done:,} of {n_texts:,}"))

    if kind == "cosine" or n_texts <= AT_ONCE:
        return _at_once("texts-ranking", key, lambda: gradual.result(work()))
    ask = f"{n_texts:,} texts: for {kind}, {view.loaded.name} reads each of them with the query."
    return results.of_work("texts-ranking", key, work, label="Rank the texts", ask=ask, own=True)


def _at_once(kind: str, what: Hashable, make: Callable[[], V]) -> V:
    """A value of few operations, computed once for this session."""
    found: V | None = results.known(kind, what)
    if found is None:
        with TURNS.turn():
            found = results.keep(kind, what, make())
    return found


def _digest(ranking: texts.Ranking | None) -> str:
    return "" if ranking is None else _of_texts(ranking.collection)


def _of_texts(collection: Collection) -> str:
    known = results.known("texts-digest", id(collection))
    if known is not None and known[0] is collection:
        return str(known[1])
    digest = hashlib.sha256("\0".join(collection.texts).encode("utf-8", "replace")).hexdigest()
    results.keep("texts-digest", id(collection), (collection, digest))
    return digest


def largest_first(values: np.ndarray) -> list[int]:
    """Places by value, the largest first."""
    return [int(at) for at in np.argsort(-values, kind="stable")]
