"""How far two tables of vectors are from each other, and how far mere rounding may bring them.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

import numpy as np
import torch

from encoder.errors import EncoderError

#: The largest difference of the same computation in float32 by two programs, as a share of a vector's largest number.
SAME = 3e-5
#: Decimal places that are tried to find that vectors were written with fewer.
MOST_DECIMALS = 9


def as_numpy(vectors: np.ndarray | torch.Tensor) -> np.ndarray:
    """Vectors as NumPy has them; a tensor of any device and number type, NumPy has no bfloat16, as float32."""
    return vectors.detach().cpu().float().numpy() if isinstance(vectors, torch.Tensor) else np.asarray(vectors)


def relative(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """[N, D'] each -> [N]: the largest difference of each pair of vectors, as a share of the largest number of
    theirs; infinity for other widths."""
    if ours.shape != theirs.shape:
        return np.full(len(theirs), np.inf)
    scale = np.maximum(np.abs(theirs).max(axis=1), 1e-12)
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.abs(ours - theirs).max(axis=1) / scale
    return np.where(np.isfinite(found), found, np.inf)


def settled(rounded: np.ndarray, unrounded: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Rounded vectors [N, D'], with the number of `theirs` where the unrounded one lies in the middle between the two.

    There, the last digits of float32 decide which of two neighbours a program stores, and no two programs share them.
    """
    if rounded.shape != theirs.shape:
        return rounded
    room = SAME * np.maximum(np.abs(theirs).max(axis=1, keepdims=True), 1e-12)
    return np.where(np.abs(unrounded - (rounded + theirs) / 2) <= room, theirs, rounded)


def largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference of two numbers; infinity for other widths."""
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.abs(ours.astype(np.float64) - theirs).max(initial=0.0))


def written_precision(vectors: np.ndarray) -> float:
    """Half of the last decimal place, as a share of the vectors' largest numbers; 0 where they are written whole."""
    some = vectors[: min(len(vectors), 50)].astype(np.float64)
    for places in range(2, MOST_DECIMALS):
        if np.abs(some - some.round(places)).max(initial=0.0) < 10.0 ** -(places + 3) and np.abs(some).max() < 1e3:
            return float(0.51 * 10.0**-places / max(np.abs(some).max(axis=1).min(), 1e-12))
    return 0.0


def correlation(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The cosine of two tables of differences, all numbers together; 0 where one is 0."""
    a, b = ours.astype(np.float64).ravel(), theirs.astype(np.float64).ravel()
    sizes = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / sizes if sizes > 0 else 0.0


def check(vectors: np.ndarray, n_texts: int) -> None:
    """Raise EncoderError unless each text has one vector, whose numbers are finite and not all 0."""
    if vectors.ndim != 2 or not vectors.size:
        raise EncoderError(
            f"The vectors have the shape {vectors.shape}: specify one vector for each input, [N, width]."
        )
    if len(vectors) != n_texts:
        raise EncoderError(
            f"There are {len(vectors):,} vectors and {n_texts:,} inputs: specify one vector for each, in their order."
        )
    if not np.isfinite(vectors).all():
        rows = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        raise EncoderError(
            f"{len(rows):,} of {len(vectors):,} vectors have numbers that are not finite, the first of input "
            f"{rows[0] + 1}: a number is missing (null), or the other program overflows, as float16 does with large "
            "activations. Send all numbers; against overflow, use bfloat16 or float32 there."
        )
    if (zero := np.flatnonzero(~vectors.any(axis=1))).size:
        raise EncoderError(
            f"{len(zero):,} of {len(vectors):,} vectors are 0 throughout, the first of input {zero[0] + 1}: the other "
            "program did not compute them."
        )
