"""Queries and keys of a head as points of one plane, scaled so that near points have large scores (Yeh et al. 2023).

Yeh et al. (AttentionViz) use two changes that keep every attention weight. The same vector t added to all keys adds
q_i . t to all scores of a query, which its softmax ignores: so the keys get the mean of the queries. And queries times
c with keys divided by c have the same products: c is the one for which distances and dot products have the most
negative correlation, where near pairs count most (here by 1 / distance^2). A principal component analysis of queries
and keys together then gives the plane.

Shapes: T tokens, K width of the head, P pairs of a query and a key.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.trace.trace import Trace

#: c is searched within this factor of the one that gives queries and keys the same mean norm, in so many steps: far
#: from there one kind shrinks to a point, whatever the correlation. (MiniLM's heads have 0.6 to 1.9.)
WITHIN, STEPS = 2.5, 41
#: The most tokens, evenly spaced, whose pairs the correlation is measured on.
MOST_PAIRED = 256


@dataclass(frozen=True, eq=False)
class QKSpace:
    """One head's queries and keys in a plane. Positions n of real tokens only, float64.

    queries, keys [n, 2]; explained [2]: share of the variance along each axis; scale: c; correlation: of distance (in K
    dimensions) and dot product over pairs, near pairs counting most; strongest [n]: the key that each query attends to
    most; weights [n]: how much; hits: as `nearest_is_strongest`, in all K dimensions.
    """

    queries: np.ndarray
    keys: np.ndarray
    explained: np.ndarray
    scale: float
    correlation: float
    strongest: np.ndarray
    weights: np.ndarray
    hits: int

    def nearest_is_strongest(self) -> tuple[int, int]:
        """(queries whose nearest key in the plane is their strongest one, of how many evenly spaced ones)."""
        return _hits(self.queries, self.keys, self.strongest)


def qk_space(trace: Trace, layer: int, head: int) -> QKSpace:
    """Queries and keys of one head in one plane, and each query's strongest key.

    The strongest key comes from the attention itself, so it includes masks and a bias by distance; the plane does
    not. Raises EncoderError for a layer or head that the model does not have.
    """
    strongest, weights = strongest_keys(trace, layer, head)
    n = trace.n_real
    q, k = (vectors[head, :n].cpu().double().numpy() for vectors in trace.layer_qkv(layer)[:2])
    centred = centre_keys(q, k)
    scale, correlation = best_scale(q, centred)
    scaled = q * scale, centred / scale
    queries, keys, explained = joint_plane(*scaled)
    hits, _ = _hits(*scaled, strongest)
    return QKSpace(queries, keys, explained, scale, correlation, strongest, weights, hits)


def strongest_keys(trace: Trace, layer: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """(key [n], weight [n]) that each real query attends to most; the earlier one among equals. Bounded memory."""
    places, weights = [], []
    for _, _, pattern in trace.attention_chunks(layer, slice(head, head + 1), slice(0, trace.n_real)):
        value, place = pattern[0, :, : trace.n_real].max(dim=-1)
        places.append(place.cpu())
        weights.append(value.cpu())
    return torch.cat(places).numpy(), torch.cat(weights).double().numpy()


def centre_keys(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """k [n, K] plus one vector, so that its mean is that of q [n, K]. No attention weight changes."""
    return k + (q.mean(axis=0) - k.mean(axis=0))


def best_scale(q: np.ndarray, k: np.ndarray) -> tuple[float, float]:
    """(c, correlation): the c for which distances of q x c and k / c correlate most negatively with dot products."""
    q, k = _sample(q), _sample(k)
    products = (q @ k.T).ravel()
    lengths = [float(np.linalg.norm(vectors, axis=1).mean()) for vectors in (q, k)]
    equal = np.sqrt(lengths[1] / lengths[0]) if min(lengths) > 0 else 1.0
    candidates = equal * np.geomspace(1 / WITHIN, WITHIN, STEPS)
    found = [_correlation(_distances(q * c, k / c), products) for c in candidates]
    best = int(np.argmin(found))
    return float(candidates[best]), float(found[best])


def joint_plane(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(queries [n, 2], keys [m, 2], share of variance [2]): principal components of both together, by a float64 SVD.

    Each axis has the sign that makes its largest loading positive: the same vectors give the same picture.
    """
    both = np.concatenate((q, k))
    centred = both - both.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2]
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    points = np.zeros((len(both), 2))
    points[:, : len(axes)] = centred @ axes.T
    total = (lengths**2).sum()
    explained = np.zeros(2)
    explained[: len(axes)] = lengths[:2] ** 2 / total if total > 0 else 0.0
    return points[: len(q)], points[len(q) :], explained


def _hits(queries: np.ndarray, keys: np.ndarray, strongest: np.ndarray) -> tuple[int, int]:
    """(queries whose nearest key is their strongest one, of how many evenly spaced ones)."""
    some = np.arange(0, len(queries), -(-len(queries) // MOST_PAIRED))
    nearest = _distances(queries[some], keys).reshape(len(some), -1).argmin(axis=1)
    return int((nearest == strongest[some]).sum()), len(some)


def _sample(vectors: np.ndarray) -> np.ndarray:
    """At most MOST_PAIRED of the rows, evenly spaced."""
    return vectors[:: -(-len(vectors) // MOST_PAIRED)]


def _distances(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Euclidean distances of all pairs, [n x m]."""
    squared = (q**2).sum(1)[:, None] + (k**2).sum(1) - 2 * q @ k.T
    return np.sqrt(squared.clip(min=0)).ravel()


def _correlation(distances: np.ndarray, products: np.ndarray) -> float:
    """Pearson's correlation in which each pair weighs 1 / distance^2; 0 where one of the two never changes."""
    typical = float(distances.mean())
    if typical == 0:
        return 0.0
    # Pairs that (nearly) coincide must not outweigh all others together.
    weight = 1 / np.maximum(distances, 1e-3 * typical) ** 2
    weight = weight / weight.sum()
    one, other = distances - weight @ distances, products - weight @ products
    spread = np.sqrt((weight @ one**2) * (weight @ other**2))
    scale = typical * np.abs(products).max()
    return float(weight @ (one * other) / spread) if spread > 1e-12 * scale else 0.0
