"""Questions about a collection of texts: the ranking of a query, a text that was not found, what counts where.

    >>> several = ["We sent it on Monday.", "We open at nine. We close at five. Come in.", "Your order is on its way."]
    >>> collection = search.embed(model, several)
    >>> ranking = texts.rank(model, "Where is my order?", collection)  # every text with its score
    >>> missed = texts.why_not_found(model, ranking, place=1)  # its rank, unanswered words, edits
    >>> words = texts.compare(model, ranking, 2, 0).words  # two hits, word by word of the query
    >>> pulled = texts.pulling(model, collection)  # words that pull everything
    >>> where = texts.position_sensitivity(model, several[1])  # what counts, and where

`ranking` has all scores, `misses` the text that was not found, `hits` tables and comparisons, `positions` long texts.
`encoder.scores` explains the score of two texts.
"""

from encoder.texts.hits import HitWords, Pull, TwoHits, compare, hit_words, pulling, pulling_gradually
from encoder.texts.misses import Edit, Missed, why_not_found
from encoder.texts.positions import PositionSensitivity, position_sensitivity, position_sensitivity_gradually
from encoder.texts.ranking import QueryWords, Ranked, Ranking, query_words, rank, rank_gradually

__all__ = [
    "Edit", "HitWords", "Missed", "PositionSensitivity", "Pull", "QueryWords", "Ranked", "Ranking", "TwoHits",
    "compare", "hit_words", "position_sensitivity", "position_sensitivity_gradually", "pulling", "pulling_gradually",
    "query_words", "rank", "rank_gradually", "why_not_found",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
