"""The way of one query through a head, key by key: q . k, the scale, the softmax, the weighted sum.

It joins the steps `score`, `softmax` and `weighted_sum` for a picture that has room for some of the keys.

Shapes: T tokens (query i, keys j), N drawn keys, K width of a head.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoder.explain.arithmetic import Bools, Floats
from encoder.explain.place import Place
from encoder.explain.score import score
from encoder.explain.softmax import softmax
from encoder.explain.source import array
from encoder.explain.weighted_sum import weighted_sum
from encoder.trace import Trace


@dataclass(frozen=True, eq=False)
class AttentionRow:
    """One query with the keys that are drawn, all numbers as the model computes them.

    keys [N]: positions, ascending; q [K]; k, values, weighted [N, K]: weighted is weight x value; dots, scores,
    exponentials, weights [N]; allowed [N]; scale: the factor of the dot products; bias [N]: added for the distance, or
    None; top: the largest score of the whole row; total: the sum of all T exponentials; rest_weight, rest [K]: weight
    and weighted sum of the keys that are not drawn; z [K]: the output of the head for this token.
    """

    place: Place
    keys: NDArray[np.integer]
    q: Floats
    k: Floats
    dots: Floats
    scale: float
    bias: Floats | None
    scores: Floats
    allowed: Bools
    top: float
    exponentials: Floats
    total: float
    weights: Floats
    values: Floats
    weighted: Floats
    rest_weight: float
    rest: Floats
    z: Floats

    @property
    def products(self) -> Floats:
        """[N, K]: the terms of each dot product."""
        return self.q * self.k

    @property
    def sums(self) -> Floats:
        """[N, K]: the weighted sum up to each drawn key."""
        sums: Floats = np.cumsum(self.weighted, axis=0)
        return sums


def attention_row(trace: Trace, place: Place, most: int = 12) -> AttentionRow:
    """The row of token i, with at most `most` keys: key j and those with the largest weights."""
    place = place.checked(trace.config, trace.n_tokens, trace.config.d_head)
    scored, weighed, mixed = score(trace, place), softmax(trace, place), weighted_sum(trace, place)
    keys = drawn_keys(weighed.weights, place.key, most)
    left_out = np.setdiff1d(np.arange(trace.n_tokens), keys)
    added = scored.row - scored.dots * np.float32(scored.scale)
    return AttentionRow(
        place=place,
        keys=keys,
        q=scored.q,
        k=array(trace.layer_qkv(place.layer)[1][place.head])[keys],
        dots=scored.dots[keys],
        scale=scored.scale,
        bias=None if trace.encoder.relative_bias is None else added[keys],
        scores=weighed.scores[keys],
        allowed=weighed.allowed[keys],
        top=weighed.top,
        exponentials=weighed.exponentials[keys],
        total=weighed.total,
        weights=weighed.weights[keys],
        values=mixed.values[keys],
        weighted=mixed.weighted[keys],
        rest_weight=float(weighed.weights[left_out].sum()),
        rest=mixed.weighted[left_out].sum(axis=0),
        z=mixed.z,
    )


def drawn_keys(weights: Floats, selected: int, most: int) -> NDArray[np.integer]:
    """weights [T] -> positions [N], ascending: all keys, or the selected one and those with the largest weights."""
    order = np.argsort(-weights, kind="stable")
    first = [selected, *order[order != selected][: most - 1].tolist()]
    return np.sort(np.array(first))
