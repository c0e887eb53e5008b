"""The effect of padding: it fills rows and columns of every map, and changes real tokens by rounding at most.

Shapes: L layers, H heads, T tokens of the batch (queries i, keys j), n real ones, D d_model.
"""

import math
from dataclasses import dataclass

from encoder.errors import EncoderError
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class PaddingEffect:
    """n_real, n_padding: tokens of either kind.

    leaked: the largest weight that a real token gives to padding; row_sums: the smallest and the largest sum of a row
    of a padding query, which has a softmax like any row; difference: the largest difference of a number of a real
    token's output from the text without padding; largest: the largest of these numbers, by absolute value.
    """

    n_real: int
    n_padding: int
    leaked: float
    row_sums: tuple[float, float]
    difference: float
    largest: float


def padding_effect(padded: Trace, alone: Trace, head: tuple[int, int] | None = None) -> PaddingEffect:
    """Compare a padded trace with the same text without padding; weights are those of all heads, or of `head`.

    head: (layer, head). One pass over the attention, in bounded memory. Raises EncoderError for traces of
    different texts, or where nothing is padded.
    """
    real = padded.n_real
    if real == padded.n_tokens:
        raise EncoderError(
            "Nothing is padded in this trace: trace the text with pad_to, or in a batch with a longer one."
        )
    if alone.ids != padded.ids[:real]:
        raise EncoderError("The padded trace is of another text: trace the same text with and without padding.")
    layers, heads = range(padded.config.n_layers), slice(None)
    if head is not None:
        layers, heads = range(head[0], head[0] + 1), slice(head[1], head[1] + 1)
    low, high = math.inf, -math.inf
    for _, _, _, attention in padded.iter_attention(layers, heads, slice(real, None)):
        sums = attention.sum(-1)
        low, high = min(low, float(sums.min())), max(high, float(sums.max()))
    own, other = padded.output[:real].double(), alone.output.double()  # [n, D] each
    return PaddingEffect(
        n_real=real,
        n_padding=padded.n_tokens - real,
        leaked=leaked(padded, layers, heads),
        row_sums=(low, high),
        difference=float((own - other).abs().max()),
        largest=float(other.abs().max()),
    )


def leaked(trace: Trace, layers: range | None = None, heads: slice | None = None) -> float:
    """The largest weight from a real token to padding, in all layers and heads or in some; 0 without padding."""
    real = trace.n_real
    if real == trace.n_tokens:
        return 0.0
    layers = range(trace.config.n_layers) if layers is None else layers
    walk = trace.iter_attention(layers, heads, slice(0, real))
    return max(float(attention[..., real:].max()) for _, _, _, attention in walk)
