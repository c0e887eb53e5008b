"""Attention sinks: special or first tokens on which most of a head's attention lies (the term: Xiao et al. 2023).

Xiao et al. describe the first tokens of causal language models. Clark et al. (2019, section 3.2) found that BERT's
heads attend much to [SEP], and suggest a no-op for queries to which the head's function does not apply.

Shapes: T tokens (queries i, keys j).
"""

from dataclasses import dataclass

from torch import Tensor

from encoder.measure import aggregate, tokens
from encoder.measure.heads import uniform_share
from encoder.trace import Trace


@dataclass(frozen=True)
class Sink:
    """The tokens that receive most of a head's attention.

    kind: "opening" (the text's first token) or "separators"; tokens: their positions; share: mean weight on them
    together, over all real queries; uniform: their share under uniform attention.
    """

    kind: str
    tokens: tuple[int, ...]
    share: float
    uniform: float


def sink(trace: Trace, layer: int, head: int, threshold: float = 0.6, mean: Tensor | None = None) -> Sink | None:
    """The special tokens that receive more than `threshold` of the attention (0.6 in Clark et al. 2019's code).

    Candidates are the text's first token, special or not, and all special tokens after it together. None: no sink.
    mean [T]: the mean weight that each key receives, where the caller has it.
    """
    if trace.n_real < 2:
        return None
    mean = aggregate.received(trace, layer, head)[0] if mean is None else mean
    candidates = {
        "opening": (0,),
        "separators": tuple(k for k, one in enumerate(tokens.special_position(trace, "sep")) if one),
    }
    found = [
        Sink(kind, places, float(mean[list(places)].sum()), uniform_share(trace.n_real, trace.config.causal, places))
        for kind, places in candidates.items()
        if places
    ]
    best = max(found, key=lambda one: one.share)
    # Where special tokens are most of the text, much weight on them says nothing.
    return best if best.share > max(threshold, 1.5 * best.uniform) else None
