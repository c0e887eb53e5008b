"""Gradients of an outcome: of every recorded value, along a path, and as estimates of patching; direct effects.

    >>> outcome = encoder.causal.Similarity("a dog")
    >>> found = trace.gradients(outcome)                         # or gradients.gradients(model, text, outcome)
    >>> found.attention_x_gradient.shape                         # [L, H, T, T]; found.q: [L, H, T, K]
    torch.Size([6, 12, 8, 8])
    >>> tokens = gradients.integrated_gradients(model, "a cat", outcome).values       # [T], adds up to the change
    >>> grid = gradients.attribution_patching(model, "a cat", "a dog", outcome)       # as `causal.patch`, two passes
    >>> heads = gradients.direct_effect(trace, outcome).heads    # [L, H]: what each head writes in its direction
    >>> whole = gradients.output_parts(trace, 1)                 # of a token's output vector; the shares sum to 1
    >>> tokens = gradients.share_by_token(trace, 1, 5, 11)       # [T]: the share of a head, key by key

`backward` has the gradients, `patching` the estimates next to the exact grid, `direct` and
`output_parts` the split of the output.
Outcomes are those of `encoder.causal`.
"""

from encoder.gradients.backward import Gradients, gradients, integrated_gradients
from encoder.gradients.direct import DirectEffect, direct_effect
from encoder.gradients.output_parts import OutputPart, OutputParts, output_parts, share_by_token
from encoder.gradients.patching import PatchingComparison, attribution_patching, compare_patching
from encoder.similarity.of_class import Integrated

__all__ = [
    "DirectEffect", "Gradients", "Integrated", "OutputPart", "OutputParts", "PatchingComparison",
    "attribution_patching", "compare_patching", "direct_effect", "gradients", "integrated_gradients", "output_parts",
    "share_by_token",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
