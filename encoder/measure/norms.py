"""What the norms of an encoder do to a sentence: mean and standard deviation of every token, before and after.

Shapes: N norms in the order in which they act, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.trace import Trace


@dataclass(frozen=True, eq=False)
class NormStatistics:
    """names of the norms; before, after: (mean, population standard deviation), each [N, T] float32."""

    names: tuple[str, ...]
    before: tuple[np.ndarray, np.ndarray]
    after: tuple[np.ndarray, np.ndarray]

    @property
    def nbytes(self) -> int:
        """Bytes of the four arrays."""
        return sum(array.nbytes for pair in (self.before, self.after) for array in pair)

    @property
    def widest(self) -> tuple[int, int]:
        """(norm, token) whose vector has the largest standard deviation before its norm."""
        norm, token = np.unravel_index(self.before[1].argmax(), self.before[1].shape)
        return int(norm), int(token)


def largest_component(trace: Trace, name: str, token: int) -> int:
    """Component of a token's vector that is farthest from the mean, in standard deviations, at the norm `name`."""
    x = trace.norms[name].input[token].float()
    return int((x - x.mean()).abs().argmax())


@torch.no_grad()
def statistics(trace: Trace) -> NormStatistics:
    """Mean and standard deviation over the D numbers of each token, at every norm's input and output."""
    norms = trace.norms
    return NormStatistics(
        names=tuple(norms),
        before=_moments(norm.input for norm in norms.values()),
        after=_moments(norm.output for norm in norms.values()),
    )


def _moments(vectors: Iterable[Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """N x [T, D] -> mean, std, each [N, T]. In float32 whatever the model's type; one norm at a time in memory."""
    mean, std = [], []
    for x in vectors:
        mean.append(x.float().mean(dim=-1).cpu())
        std.append(x.float().std(dim=-1, correction=0).cpu())
    return torch.stack(mean).numpy(), torch.stack(std).numpy()
