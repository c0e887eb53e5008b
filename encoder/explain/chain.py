"""The whole computation, from ids to output, with the steps' own arithmetic: the proof that the steps leave nothing
out.

Shapes: H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from encoder.errors import EncoderError
from encoder.explain import arithmetic, source
from encoder.explain.arithmetic import Floats
from encoder.explain.embedding import position_row
from encoder.trace import Trace

#: Query rows are taken a few at a time, so that no [H, T, T] is ever held.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class Chain:
    """values: hook point -> what the steps make of it, [T, D] each, in order; difference: its largest distance from the
    model's own value, over the real tokens (padding's rows mean nothing, and rounding grows in them)."""

    values: Mapping[str, Floats]
    difference: Mapping[str, float]

    @property
    def output(self) -> Floats:
        """[T, D]"""
        return self.values["output"]

    @property
    def nbytes(self) -> int:
        """Bytes of all stages."""
        return sum(stage.nbytes for stage in self.values.values())

    @property
    def largest(self) -> float:
        """The largest difference anywhere in the chain."""
        return max(self.difference.values())


def chain(trace: Trace) -> Chain:
    """Compute every stage of the residual stream from the ids, each from the one before, and compare with the model's.

    Nothing is taken from the trace but ids, segments and mask. Raises EncoderError for an edited pass and for images.
    """
    if trace.edits or trace.config.patches is not None:
        raise EncoderError(
            "The chain runs the model as it is on a text: an edited pass or an image cannot be followed."
        )
    config, values = trace.config, {}
    x = values["embedding"] = embed(trace)
    for layer in range(config.n_layers):
        for part in ("attention", "ffn"):
            x = values[f"layers.{layer}.after_{part}"] = sublayer(trace, layer, part, x)
    values["output"] = _norm(trace.encoder.final_norm, x)
    real = slice(0, trace.n_real)
    difference = {name: float(np.abs(x[real] - source.value(trace, name, real)).max()) for name, x in values.items()}
    return Chain(values, difference)


def embed(trace: Trace) -> Floats:
    """ids -> [T, D]: step 2 for every token."""
    module, config = trace.encoder.embedding, trace.config
    x = source.array(module.tokens.weight)[list(trace.ids)]  # [T, E]
    if module.segments is not None:
        x = x + source.array(module.segments.weight)[source.segment_ids(trace)]
    if config.position == "sinusoidal":
        x = x + arithmetic.sinusoidal(np.arange(trace.n_tokens), config.embedding_width)
    elif module.positions.table is not None:
        x = x + source.array(module.positions.table.weight)[[position_row(trace, i) for i in range(trace.n_tokens)]]
    x = _norm(module.norm, x)
    if module.projection is not None:
        x = arithmetic.linear(x, source.weight(module.projection), source.bias(module.projection))  # [T, D]
    return x


def sublayer(trace: Trace, layer: int, part: str, x: Floats) -> Floats:
    """x [T, D] -> [T, D]: attention or FFN with its residual and its norm, in the order of the norm placement."""
    _, _, norm = source.sublayer(trace, layer, part)
    compute = attention if part == "attention" else ffn
    if trace.config.norm_placement == "pre":
        return x + compute(trace, layer, _norm(norm, x))
    return _norm(norm, x + compute(trace, layer, x))


def attention(trace: Trace, layer: int, x: Floats) -> Floats:
    """x [T, D] -> what attention adds, [T, D]: steps 3 to 6."""
    config, module = trace.config, trace.encoder.block(layer).attention
    q, k, v = (
        arithmetic.split_heads(arithmetic.linear(x, source.weight(linear), source.bias(linear)), config.n_heads)
        for linear in (module.w_q, module.w_k, module.w_v)
    )  # [H, T, K]
    if config.position == "rotary":
        angle = arithmetic.rotary_angles(np.arange(len(x)), config.d_head, config.rotary_base_of_layer(layer))
        q, k = arithmetic.rotate(q, angle), arithmetic.rotate(k, angle)
    z = np.concatenate([_mix(trace, layer, rows, q, k, v) for rows in _chunks(len(x), config.n_heads)], axis=1)
    return arithmetic.linear(arithmetic.join_heads(z), source.weight(module.w_o), source.bias(module.w_o))


def _chunks(n_tokens: int, n_heads: int) -> list[np.ndarray]:
    rows = max(1, CHUNK_NUMBERS // (n_tokens * n_heads))
    return [np.arange(start, min(start + rows, n_tokens)) for start in range(0, n_tokens, rows)]


def _mix(trace: Trace, layer: int, rows: np.ndarray, q: Floats, k: Floats, v: Floats) -> Floats:
    """Scores, softmax and mixing for some query rows of all heads: [H, Ti, K]."""
    config, bias = trace.config, None
    if trace.encoder.relative_bias is not None:
        bias = arithmetic.relative_bias(config, source.array(trace.encoder.relative_bias.weight), rows, trace.n_tokens)
    allowed = arithmetic.allowed(source.mask(trace), rows, config.causal, config.window_of_layer(layer))
    scores = arithmetic.scores(q[:, rows], k, float(config.attention_scale or 1.0), bias)
    return arithmetic.softmax(scores, allowed) @ v


def ffn(trace: Trace, layer: int, x: Floats) -> Floats:
    """x [T, D] -> what the feed-forward layer adds, [T, D]: step 8."""
    module = trace.encoder.block(layer).ffn
    hidden = arithmetic.activate(
        arithmetic.linear(x, source.weight(module.w_in), source.bias(module.w_in)), trace.config.activation
    )  # [T, F]
    if module.w_gate is not None:
        hidden = hidden * arithmetic.linear(x, source.weight(module.w_gate), source.bias(module.w_gate))
    return arithmetic.linear(hidden, source.weight(module.w_out), source.bias(module.w_out))


def _norm(module: nn.Module | None, x: Floats) -> Floats:
    """Step 7; x itself where there is no norm."""
    return (
        x if module is None else arithmetic.layer_norm(x, source.array(module.weight), source.bias(module), module.eps)
    )
