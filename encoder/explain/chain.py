"""The whole computation from ids to output with the arithmetic of the steps: it shows that no step is missing.

Shapes: H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError
from encoder.explain import arithmetic, source
from encoder.explain.arithmetic import Floats
from encoder.explain.embedding import embedded
from encoder.explain.ffn import hidden_of
from encoder.measure.sized import Sized
from encoder.trace import Trace

#: Scores that are computed at once; the rows of queries are taken in parts, so that [H, T, T] never exists.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class Chain(Sized):
    """values: hook point -> its value by the steps, [T, D], in order; difference: the largest difference to the model's
    value over the real tokens. Rows of padding have no meaning, and rounding grows in them."""

    values: Mapping[str, Floats]
    difference: Mapping[str, float]

    @property
    def output(self) -> Floats:
        """[T, D]"""
        return self.values["output"]

    @property
    def largest(self) -> float:
        """The largest difference of all stages."""
        return max(self.difference.values())


def chain(trace: Trace) -> Chain:
    """Compute every stage of the residual stream from the ids, each from the one before, and compare with the model.

    Reads only ids, segments, mask and weights. Raises EncoderError for an edited forward pass and without a text.
    """
    if trace.edits or not trace.config.takes_text:
        raise EncoderError(
            "The chain needs an unedited forward pass of a text. Undo the edits, or choose a text model."
        )
    x = embedded(trace)
    values = {"embedding": x}
    for layer in range(trace.config.n_layers):
        for part in ("attention", "ffn"):
            x = values[f"layers.{layer}.after_{part}"] = sublayer(trace, layer, part, x)
    values["output"] = source.normalise(trace.encoder.final_norm, x)
    real = slice(0, trace.n_real)
    difference = {name: float(np.abs(x[real] - source.value(trace, name, real)).max()) for name, x in values.items()}
    return Chain(values, difference)


def sublayer(trace: Trace, layer: int, part: str, x: Floats) -> Floats:
    """x [T, D] -> [T, D]: attention or FFN with its residual connection and its norm, in the order of the model."""
    norm = source.sublayer(trace, layer, part)[2]
    if trace.config.norm_placement == "pre":
        return x + sublayer_output(trace, layer, part, source.normalise(norm, x))
    return source.normalise(norm, x + sublayer_output(trace, layer, part, x))


def sublayer_output(trace: Trace, layer: int, part: str, x: Floats) -> Floats:
    """x [T, D], the input of the sublayer -> [T, D], what it adds to the residual stream."""
    if part == "ffn":
        return source.apply(trace.encoder.block(layer).ffn.w_out, hidden_of(trace, layer, x)[2])
    return attention(trace, layer, x)


def attention(trace: Trace, layer: int, x: Floats) -> Floats:
    """x [T, D] -> [T, D], the output of attention: steps 3 to 6."""
    config, module = trace.config, trace.encoder.block(layer).attention
    projected = (source.apply(linear, x) for linear in (module.w_q, module.w_k, module.w_v))
    q, k, v = (arithmetic.split_heads(flat, config.n_heads) for flat in projected)  # [H, T, K]
    if config.position == "rotary":
        angle = arithmetic.rotary_angles(np.arange(len(x)), config.d_head, config.rotary_base_of_layer(layer))
        q, k = arithmetic.rotate(q, angle), arithmetic.rotate(k, angle)
    at_once = max(1, CHUNK_NUMBERS // (len(x) * config.n_heads))
    chunks = [np.arange(start, min(start + at_once, len(x))) for start in range(0, len(x), at_once)]
    z = np.concatenate([_weighted_sum(trace, layer, rows, q, k, v) for rows in chunks], axis=1)
    return source.apply(module.w_o, arithmetic.join_heads(z))


def _weighted_sum(trace: Trace, layer: int, rows: NDArray[np.integer], q: Floats, k: Floats, v: Floats) -> Floats:
    """Scores, softmax and weighted sum for some query rows of all heads: [H, Ti, K]."""
    config, bias = trace.config, None
    if trace.encoder.relative_bias is not None:
        bias = arithmetic.relative_bias(config, source.array(trace.encoder.relative_bias.weight), rows, trace.n_tokens)
    allowed = arithmetic.allowed(source.mask(trace), rows, config.causal, config.window_of_layer(layer))
    scores = arithmetic.scores(q[:, rows], k, float(config.attention_scale or 1.0), bias)
    return arithmetic.softmax(scores, allowed) @ v
