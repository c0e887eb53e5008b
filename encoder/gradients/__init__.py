"""Gradients of an outcome: of every recorded value, along a path, and as estimates of patching; direct effects.

    found = trace.gradients(encoder.causal.MaskedWord("cat"))    # or gradients(model, text, outcome)
    found.q, found.attentions, found.attention_x_gradient        # [L, H, T, K], [L, H, T, T] twice
    integrated_gradients(model, text, outcome).values            # [T], adds up to the change from the reference
    attribution_patching(model, clean, corrupted, outcome)       # a whole grid of `causal.patch` from two passes
    direct_effect(trace, outcome).heads                          # [L, H]: what each head writes in its direction

`backward` has the gradients, `patching` the estimates next to the exact grid, `direct` the split of the output.
Outcomes are those of `encoder.causal`.
"""

from encoder.gradients.backward import Gradients, gradients, integrated_gradients
from encoder.gradients.direct import DirectEffect, direct_effect
from encoder.gradients.patching import PatchingComparison, attribution_patching, compare_patching
from encoder.similarity.of_class import Integrated

__all__ = [
    "DirectEffect", "Gradients", "Integrated", "PatchingComparison", "attribution_patching", "compare_patching",
    "direct_effect", "gradients", "integrated_gradients",
]  # fmt: skip
