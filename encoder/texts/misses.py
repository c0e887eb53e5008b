"""Why was this text not found? Its rank, the words of the query that nothing in it answers, and edits that move it.

Shapes: W words of the query or of the text.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.encoders.text import TextEncoder
from encoder.scores.kinds import Score, score_of
from encoder.scores.parts import words
from encoder.scores.runs import BothRuns, Runs
from encoder.texts.ranking import QueryWords, Ranked, Ranking, query_words

#: Words of a text that are tried, the ones that lower the score most by leave-out first.
MOST_TRIED = 24
#: A word that lowers a cosine by less than this part of the standard deviation of all scores hardly moves its rank. Of
#: another score: the smallest loss that counts.
LEAST_PART, LEAST_LOSS = 0.1, 0.0005
#: English words that name nothing. A text that lacks one was not missed for it.
FUNCTION_WORDS = frozenset(
    """a an the this that these those i me my mine you your yours he him his she her hers it its we us our ours they
    them their theirs who whom whose which what when where why how and or but nor so if than then as at by for from
    in into of off on onto out over to up with about after before between through under until while am is are was
    were be been being do does did done has have had having will would shall should can could may might must there
    here very too also just i'm i've it's don't""".split()
)


@dataclass(frozen=True)
class Edit:
    """An edit of a text, and what it does. what: "out" (a word of the text, or of a long one a phrase: `level`) or "in"
    (a word of the query, at the end of the text); score, rank: those of the edited text, run again on its own."""

    what: str
    word: str
    text: str
    score: float
    rank: int
    level: str = "word"


@dataclass(frozen=True, eq=False)
class Missed:
    """Why a text has its rank."""

    ranked: Ranked
    text: str
    #: The kind of the score.
    kind: str
    #: (word of the query, what the text answers to it), in the query's order. Of a cosine, its share less the mean
    #: share of the collection: they add up to this text's cosine less the mean cosine. Of any other score, what the
    #: score loses without the word: these need not add up to it.
    answers: tuple[tuple[str, float], ...]
    #: The best first.
    edits: tuple[Edit, ...]
    #: An answer below this is a reason for the rank.
    least: float

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The words of the query that the text answers much less than the mean text does, or of another score than a
        cosine, that add nothing to it: without function words, the least answered first."""
        return tuple(word for word in self._low if word.casefold() not in FUNCTION_WORDS)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The function words that `unanswered` leaves out, the least answered first."""
        return tuple(word for word in self._low if word.casefold() in FUNCTION_WORDS)

    @property
    def _low(self) -> list[str]:
        return [word for word, value in sorted(self.answers, key=lambda one: one[1]) if value < self.least]

    @property
    def said(self) -> str:
        """What `unanswered` has, with what it is compared with, before a colon."""
        if self.kind == "cosine":
            return "Words of the query that this text answers much less than the mean text does"
        return f"Words of the query that add nothing to this {self.kind}"


def why_not_found(
    model: TextEncoder,
    ranking: Ranking,
    place: int,
    of_query: QueryWords | None = None,
    runs: BothRuns | None = None,
) -> Missed:
    """Why the text at a place of the collection has its rank. of_query: `query_words` of this ranking, if known; runs:
    as of `explain_score`.

    Raises EncoderError for a place that the collection lacks.
    """
    ranked, text = ranking.of(place), ranking.collection.texts[place]
    runs = runs or (Runs(), Runs())
    score = score_of(model, ranking.query, text, ranking.kind, runs=runs)
    if ranking.kind == "cosine":
        of_query = of_query or query_words(model, ranking, runs)
        asked, answers = of_query.words, of_query.answers[:, place]
        least = -LEAST_PART * float(ranking.scores.std())
    else:
        asked, answers = score.sides[0].labels, ranked.score - score.without(0)
        least = LEAST_LOSS
    pairs = tuple(zip(asked, answers.tolist(), strict=True))
    return Missed(ranked, text, ranking.kind, pairs, _edits(model, ranking, place, score), least)


def _edits(model: TextEncoder, ranking: Ranking, place: int, score: Score) -> tuple[Edit, ...]:
    """Each single edit, computed: the query's words that the text lacks, and the text's words that lower its score."""
    text = ranking.collection.texts[place]
    mine = words(model.tokenize(text, max_tokens=model.max_embed_tokens))
    own = {part.label.casefold() for part in mine}
    asked = words(model.tokenize(ranking.query, max_tokens=model.max_embed_tokens))
    lacking = dict.fromkeys(part.label for part in asked if part.label.casefold() not in own)
    side = score.sides[1]
    gains = score.without(1) - ranking.scores[place] if len(side) else np.zeros(0)
    tried = [side.parts[row] for row in np.argsort(-gains, kind="stable")[:MOST_TRIED]]
    edits = [("in", word, f"{text.rstrip()} {word}", "word") for word in lacking]
    edits += [("out", part.label, _without(text, part.span, len(side.prompt)), side.level) for part in tried]
    edits = [one for one in edits if one[2].strip()]
    scores = _scores(model, ranking, [one[2] for one in edits])
    found = [
        Edit(what, label, edited, value, ranking.rank_of(value, place), level)
        for (what, label, edited, level), value in zip(edits, scores, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: -one.score))


def _scores(model: TextEncoder, ranking: Ranking, texts: list[str]) -> list[float]:
    if not texts:
        return []
    if ranking.kind != "cosine":
        return [score_of(model, ranking.query, text, ranking.kind).value() for text in texts]
    given = (model.searching("query").embed(ranking.query), model.searching("document").embed(texts))
    query, vectors = (torch.nn.functional.normalize(one.double(), dim=-1).cpu().numpy() for one in given)
    found: list[float] = (vectors @ query[0]).tolist()
    return found


def _without(text: str, span: tuple[int, int], shift: int) -> str:
    """A text without a part. span: its characters behind a prompt of `shift` characters."""
    first, last = (at - shift for at in span)
    return " ".join((text[:first] + " " + text[last:]).split())
