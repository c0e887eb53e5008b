"""Attribution patching: the whole grid of activation patching, estimated from two passes.

Patching a value changes the outcome by about (clean - corrupted) . gradient at the corrupted run (Nanda 2023,
"Attribution Patching"; Syed et al. 2023). It is a linear estimate: it misses what a large change does to a softmax or a
norm, so `compare_patching` gives the exact grid, too, and the correlation of both.

Shapes: L layers, H heads, T tokens.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.causal.effects import Text, patch, plain_trace
from encoder.causal.outcomes import Outcome
from encoder.causal.patching import Where, check_aligned, patch_edit, patch_request
from encoder.encoders.named import NamedEncoder
from encoder.gradients.backward import gradients


@dataclass(frozen=True, eq=False)
class PatchingComparison:
    """estimate, exact: the grids of `attribution_patching` and `causal.patch`, in the same shape."""

    estimate: Tensor
    exact: Tensor

    @property
    def correlation(self) -> float:
        """Pearson's correlation of the two grids; NaN where one is constant."""
        with np.errstate(invalid="ignore", divide="ignore"):
            one, other = (grid.flatten().double().numpy() for grid in (self.estimate, self.exact))
            return float(np.atleast_2d(np.corrcoef(one, other))[0, 1])


def attribution_patching(
    model: NamedEncoder, clean: Text, corrupted: Text, outcome: Outcome | str, where: Where = "residual"
) -> Tensor:
    """[L, T], or [L, H] for "head": about the effects that `causal.patch` computes, with the same arguments."""
    source = plain_trace(model, clean, patch_request(where))
    plain = plain_trace(model, corrupted)
    check_aligned(source, plain)
    found = gradients(model, plain, outcome)
    rows = []
    for layer in range(model.config.n_layers):
        patch_edit(where, source, layer, 0)  # raises for an unknown `where`
        if where == "residual":
            name = "embedding" if layer == 0 else f"layers.{layer - 1}.{model.config.after_layer}"
            change = source.values[name] - plain.values[name]
        else:
            name = f"layers.{layer}.{'z' if where == 'head' else where}"
            change = source.values[name] - found.recorded[name]
        products = change * found.of[name]
        rows.append(products.sum(dim=(-2, -1)) if where == "head" else products.sum(dim=-1))
    return torch.stack(rows).cpu()


def compare_patching(
    model: NamedEncoder, clean: Text, corrupted: Text, outcome: Outcome | str, where: Where = "residual"
) -> PatchingComparison:
    """The estimate from two passes and the exact grid, which needs a run for each place."""
    estimate = attribution_patching(model, clean, corrupted, outcome, where)
    return PatchingComparison(estimate, patch(model, clean, corrupted, outcome, where))
