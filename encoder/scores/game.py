"""The Shapley value of a vector: each part of a text gets a vector, and these vectors add up to the text's vector.

The players are the parts N of a text, n of them. v(S) is the text's vector with only the parts S, and v of nothing is
0: a text without words has no vector. The Shapley value phi_i, taken number by number, is the only split that adds up,
treats equal parts equally, gives nothing to a part without effect and is linear (Shapley 1953). It is linear, so the
product of two texts' values splits a dot product among pairs of parts: with psi_j of the other text,

    sum over i, j of phi_i . psi_j = v(A) . v(B), and a row's sum is the Shapley value of part i for S -> v_A(S) . v(B).

Let c be the vector of the empty text. v - c (of nothing: 0) has the values phi_i - c / n, since the part that comes
first is equally often each of them. These are the weighted least-squares fit of v(S) - c by a sum over S, with the
weights (n - 1) / (C(n, s) s (n - s)) of a set of s parts and with the sum kept exact (Lundberg and Lee 2017). Few
parts: all sets. Otherwise all sets of one part and of all but one, and drawn sets, each with its complement (Covert and
Lee 2021). So the sum is exact for any number of sets. Only the split has a sampling error, which a jackknife estimates.

A cross-encoder gives f(S, T), a number for a set of parts of each text, and no vectors. Taken for each text in turn,
the Shapley value splits f among pairs of parts just the same (`crossed`; of a product of vectors it gives phi_i . psi_j
above, but for the empty text). It is the mean, over the orders of both texts' parts, of what the pair adds when each of
the two comes: f(S + i, T + j) - f(S + i, T) - f(S, T + j) + f(S, T). Parts of one text with nothing of the other, and
two empty texts, have a row and a column of their own, so the cells of every single order add up to f(A, B) (Castro et
al. 2009 draw orders; here each is drawn with its reverse).

Assumed: a set of parts that no person would write has a vector, or a score, that tells something about the text.

Shapes: G parts (n above), n sets, E width of a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

#: All sets are used up to this number of parts.
ALL_SETS = 8
#: Groups of the jackknife.
GROUPS = 8
#: Drawn sets: at most so many, and about so many tokens of them.
MOST_SETS, SET_TOKENS = 256, 6_000

#: keep [n, G] -> vectors float64 [n, E].
Vectors = Callable[[np.ndarray], np.ndarray]
#: keep [n, G_a], keep [n, G_b] -> scores float64 [n].
OfBoth = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Values:
    """The Shapley values of a text's parts. values float64 [G, E]: they add up to `whole` [E].

    replicates [GROUPS or 0, G, E]: the values with a group of drawn sets left out, for the jackknife; none where all
    sets were used; n_sets: sets that were run.
    """

    values: np.ndarray
    whole: np.ndarray
    replicates: np.ndarray
    n_sets: int

    @property
    def is_exact(self) -> bool:
        """Whether all sets were used."""
        return not len(self.replicates)


def shapley(vectors: Vectors, n_parts: int, n_tokens: int, has_empty: bool, seed: int = 0) -> Values:
    """The Shapley value of each part.

    vectors: the vectors of sets of parts; n_tokens: of the whole text, which bounds the number of drawn sets;
    has_empty: whether a text with every part left out still has a vector (its special tokens).
    """
    if n_parts <= 1:
        whole = vectors(np.ones((1, n_parts), dtype=bool))[0]
        return Values(np.tile(whole, (n_parts, 1)), whole, np.zeros((0, n_parts, len(whole))), 1)
    keep, weight, group = _sets(n_parts, n_tokens, seed)
    extra = np.stack([np.ones(n_parts, dtype=bool)] + [np.zeros(n_parts, dtype=bool)] * has_empty)
    found = vectors(np.concatenate([extra, keep]))
    whole, rest = found[0], found[len(extra) :]
    empty = found[1] if has_empty else rest[:n_parts].mean(axis=0)
    y, total = rest - empty, whole - empty
    values = _fit(keep, weight, y, total) + empty / n_parts
    replicates = [
        _fit(keep[group != out], _reweighted(weight, group, out), y[group != out], total) + empty / n_parts
        for out in range(GROUPS if (group >= 0).any() else 0)
    ]
    shape = (0, n_parts, len(whole))
    return Values(values, whole, np.stack(replicates) if replicates else np.zeros(shape), len(keep) + len(extra))


def pair_errors(a: Values, b: Values) -> np.ndarray:
    """The standard error [G_a, G_b] of each product of two texts' values, by the jackknife; 0 for all sets."""
    if a.is_exact and b.is_exact:
        return np.zeros((len(a.values), len(b.values)))
    products = np.stack(
        [
            (a.values if a.is_exact else a.replicates[row]) @ (b.values if b.is_exact else b.replicates[row]).T
            for row in range(GROUPS)
        ]
    )
    spread: np.ndarray = np.sqrt((GROUPS - 1) / GROUPS * np.square(products - products.mean(axis=0)).sum(axis=0))
    return spread


def crossed(scores: OfBoth, n_a: int, n_b: int, n_orders: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The split of f(A, B) among pairs of parts, and the standard error of each cell: [G_a + 1, G_b + 1] each.

    The last row and column: parts of one text with nothing of the other. n_orders: even, 4 or more.
    """
    draw = np.random.default_rng(seed)
    means = np.zeros((n_orders // 2, n_a + 1, n_b + 1))
    for mean in means:
        order_a, order_b = draw.permutation(n_a), draw.permutation(n_b)
        for one, other in ((order_a, order_b), (order_a[::-1], order_b[::-1])):
            comes_a, comes_b = (np.tri(len(order) + 1, len(order), -1, dtype=bool) for order in (one, other))
            keep_a, keep_b = np.empty_like(comes_a), np.empty_like(comes_b)
            keep_a[:, one], keep_b[:, other] = comes_a, comes_b
            found = scores(np.repeat(keep_a, n_b + 1, axis=0), np.tile(keep_b, (n_a + 1, 1)))
            added = np.diff(np.diff(found.reshape(n_a + 1, n_b + 1), axis=0, prepend=0.0), axis=1, prepend=0.0)
            mean[np.ix_([n_a, *one], [n_b, *other])] += added / 2
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))


def _sets(n_parts: int, n_tokens: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets of parts: keep [n, G], weight [n], group [n] (-1: in every replicate). The sets of one part come first, then
    those of all but one, each in the order of the part."""
    mass = {size: (n_parts - 1) / (size * (n_parts - size)) for size in range(1, n_parts)}
    one = np.eye(n_parts, dtype=bool)
    fixed = one if n_parts == 2 else np.concatenate([one, ~one])
    weights = [mass[1] / n_parts] * n_parts + [mass[n_parts - 1] / n_parts] * (len(fixed) - n_parts)
    middle = range(2, n_parts - 1)
    if n_parts <= ALL_SETS:
        every = ((np.arange(2**n_parts)[:, None] >> np.arange(n_parts)) & 1).astype(bool)
        every = every[np.isin(every.sum(axis=1), list(middle))]
        weights += [mass[int(size)] / comb(n_parts, int(size)) for size in every.sum(axis=1)]
        return np.concatenate([fixed, every]), np.array(weights), np.full(len(fixed) + len(every), -1)
    n_pairs = max(n_parts, min(MOST_SETS, SET_TOKENS // n_tokens)) // 2
    n_pairs = -(-n_pairs // GROUPS) * GROUPS
    draw = np.random.default_rng(seed)
    share = np.array([mass[size] for size in middle])
    # Evenly spaced quantiles of the sizes, so that each size comes as often as its weight says.
    points = (np.arange(n_pairs) + draw.random(n_pairs)) / n_pairs
    sizes = 2 + np.searchsorted(np.cumsum(share / share.sum()), draw.permutation(points)).clip(0, len(share) - 1)
    half = np.zeros((n_pairs, n_parts), dtype=bool)
    for row, size in enumerate(sizes):
        half[row, draw.permutation(n_parts)[:size]] = True
    drawn = np.stack([half, ~half], axis=1).reshape(-1, n_parts)
    weights += [share.sum() / len(drawn)] * len(drawn)
    group = np.concatenate([np.full(len(fixed), -1), np.repeat(np.arange(n_pairs) % GROUPS, 2)])
    return np.concatenate([fixed, drawn]), np.array(weights), group


def _reweighted(weight: np.ndarray, group: np.ndarray, out: int) -> np.ndarray:
    """The weights of the sets that stay when a group is left out: drawn sets keep their weight in all."""
    stays = group != out
    left = weight[stays].copy()
    drawn = group[stays] >= 0
    left[drawn] *= weight[group >= 0].sum() / left[drawn].sum()
    return left


def _fit(keep: np.ndarray, weight: np.ndarray, y: np.ndarray, total: np.ndarray) -> np.ndarray:
    """argmin of sum of weight (y - keep phi)^2 over phi [G, E] whose rows add up to `total`."""
    z = keep.astype(np.float64)
    gram, right = z.T @ (weight[:, None] * z), z.T @ (weight[:, None] * y)
    solved = np.linalg.solve(gram, np.column_stack([right, np.ones(len(gram))]))
    free, ones = solved[:, :-1], solved[:, -1]
    phi: np.ndarray = free - np.outer(ones, free.sum(axis=0) - total) / ones.sum()
    return phi + (total - phi.sum(axis=0)) / len(phi)  # of rounding
