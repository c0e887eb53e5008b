"""Head similarity: the Jensen-Shannon divergence of two heads' attention.

Shapes: N = L x H heads, layer by layer; T tokens (keys j), R query rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.trace.trace import Trace

#: The most numbers to compute, (pairs of heads + a few for each head) x rows x keys, in a few seconds; with more, only
#: some of the rows are compared.
MOST_NUMBERS = 1_000_000_000
#: Numbers of a mixture in memory at a time: few enough for the processor's cache.
CHUNK_NUMBERS = 250_000


@dataclass(frozen=True, eq=False)
class HeadSimilarity:
    """divergence [N, N] float64: mean over rows of the Jensen-Shannon divergence of two heads, in nats, 0 to ln 2.

    n_heads: H; head (l, h) has the number l H + h; n_rows: the compared query rows, of `n_tokens`.
    """

    divergence: np.ndarray
    n_heads: int
    n_rows: int
    n_tokens: int

    def between(self, one: tuple[int, int], other: tuple[int, int]) -> float:
        """The divergence of two heads, each (layer, head)."""
        return float(self.divergence[self._number(one), self._number(other)])

    def nearest(self, layer: int, head: int, k: int = 3) -> list[tuple[int, int, float]]:
        """The k heads with the smallest divergence from this one: (layer, head, divergence), the smallest first."""
        own = self._number((layer, head))
        order = [int(other) for other in np.argsort(self.divergence[own], kind="stable") if other != own]
        return [(*divmod(other, self.n_heads), float(self.divergence[own, other])) for other in order[:k]]

    def _number(self, head: tuple[int, int]) -> int:
        return head[0] * self.n_heads + head[1]


def head_similarity(
    trace: Trace, *, most_numbers: int = MOST_NUMBERS, progress: Callable[[float], None] | None = None
) -> HeadSimilarity:
    """Jensen-Shannon divergence of every two heads, averaged over real tokens' rows (Clark et al. 2019, section 6).

    JS(a, b) = H((a + b) / 2) - (H(a) + H(b)) / 2 for two rows of weights a and b, H their entropy; Clark et al. add up
    the rows, here they are averaged, so that texts compare. Bounded memory: a few rows of all heads at a time. Of a
    long text only every so many-th row is taken, so that it stays below `most_numbers`; `n_rows` says how many.
    progress: called with the share that is done.
    """
    n_layers, n_heads, n_real = trace.config.n_layers, trace.config.n_heads, trace.n_real
    n = n_layers * n_heads
    work = n * (n - 1) // 2 + 4 * n  # the attention of a head costs about as much as four comparisons
    step = max(1, math.ceil(work * n_real * n_real / most_numbers))
    rows = range(0, n_real, step)
    at_once = max(1, CHUNK_NUMBERS // n_real // 8)
    total = np.zeros((n, n))
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        chosen = slice(some.start, some[-1] + 1, step)
        attention = torch.cat([trace.layer_attention(layer, chosen)[..., :n_real] for layer in range(n_layers)])
        total += divergence_sums(attention.flatten(1)).cpu().double().numpy()  # [N, R x T] -> [N, N]
        if progress is not None:
            progress((start + len(some)) / len(rows))
    divergence = (total / len(rows)).clip(0.0, math.log(2))
    return HeadSimilarity(divergence, n_heads, len(rows), n_real)


def divergence_sums(attention: Tensor) -> Tensor:
    """attention [N, M], M the numbers of some rows -> [N, N]: sums of the rows' divergences."""
    own = _entropies(attention)  # [N]
    out = attention.new_zeros(len(attention), len(attention))
    width = max(1, CHUNK_NUMBERS // attention.shape[1])
    for first in range(len(attention) - 1):
        for start in range(first + 1, len(attention), width):
            others = slice(start, min(start + width, len(attention)))
            mixture = (attention[others] + attention[first]).mul_(0.5)
            out[first, others] = _entropies(mixture) - (own[others] + own[first]) / 2
    return out + out.T


def _entropies(weights: Tensor) -> Tensor:
    """[n, M] -> [n]: -sum a ln a, with 0 ln 0 = 0."""
    logarithm = weights.clamp(min=torch.finfo(weights.dtype).tiny).log_()
    return -logarithm.mul_(weights).sum(-1)
