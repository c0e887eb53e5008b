"""Why is a score what it is? Words, pairs of words, heads and FFNs of a cosine, a MaxSim, a SPLADE or a cross-encoder.

    >>> why = scores.explain_score(model, "Where is my order?", "The parcel was sent on Monday.")
    >>> parts = why.words_a, why.pairs, why.circuit  # the pairs add up to why.score, the circuit too

`parts` divides texts into words, `sides` leaves them out in their places, `runs` keeps their vectors, `kinds` has the
scores behind one interface, `game` the split among pairs, `components` the circuit, `placed` the place among random
pairs.
"""

from encoder.scores.components import Circuit, Component, circuit
from encoder.scores.explained import ScoreExplanation, WordEffect, explain_score
from encoder.scores.kinds import Cosine, Pairs, Score, Sparse, kinds_of, score_of
from encoder.scores.placed import LEAST_TEXTS, Place, place, random_cosines
from encoder.scores.runs import BothRuns, Runs, SideVectors

__all__ = [
    "LEAST_TEXTS", "BothRuns", "Circuit", "Component", "Cosine", "Pairs", "Place", "Runs", "Score", "ScoreExplanation",
    "SideVectors", "Sparse", "WordEffect", "circuit", "explain_score", "kinds_of", "place", "random_cosines",
    "score_of",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
