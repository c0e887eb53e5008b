"""What a step reads from a trace and from the weights, as read-only float32 arrays.

Shapes: T tokens, D d_model, H heads, K width of a head.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Bools, Floats
from encoder.trace import Trace


class Affine(Protocol):
    """A module with a weight and perhaps a bias: a linear map or a norm."""

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor | None: ...


class Norm(Affine, Protocol):
    """A LayerNorm of the model."""

    eps: float


def array(tensor: Tensor) -> Floats:
    """A tensor of any device and type as a read-only float32 array. On the CPU they share memory."""
    out: Floats = tensor.detach().float().cpu().numpy().view()
    out.flags.writeable = False
    return out


def weight(linear: Affine) -> Floats:
    """The weights of a linear map as the formulas write them, [in, out]; torch stores [out, in]."""
    return array(linear.weight).T


def bias(module: Affine) -> Floats | None:
    """The bias [out] of a linear map or a norm, or None."""
    return None if module.bias is None else array(module.bias)


def apply(linear: Affine, x: Floats) -> Floats:
    """x [..., in] -> [..., out]: x W + b."""
    return arithmetic.linear(x, weight(linear), bias(linear))


def normalise(norm: Norm | None, x: Floats) -> Floats:
    """LayerNorm of x [..., D]; x itself where there is no norm."""
    return x if norm is None else arithmetic.layer_norm(x, array(norm.weight), bias(norm), norm.eps)


def value(trace: Trace, name: str, rows: slice | int | None = None) -> Floats:
    """The recorded value of the hook point `name`, or some of its rows."""
    tensor = trace.values[name]
    return array(tensor if rows is None else tensor[rows])


def mask(trace: Trace) -> Bools:
    """[T]: True for a real token."""
    real: Bools = trace.mask.cpu().numpy()
    return real


def segment_ids(trace: Trace) -> NDArray[np.integer]:
    """[T]: row of the segment table for each token; 0 for padding, and where the table has only one row."""
    table = trace.encoder.embedding.segments
    known = trace.source.segments if trace.source is not None and table is not None and len(table.weight) > 1 else ()
    return np.array([*known] + [0] * (trace.n_tokens - len(known)))


def sublayer(trace: Trace, layer: int, part: str) -> tuple[str, str, Norm | None]:
    """part "attention" or "ffn" -> hook points of the residual stream before and after it, and its norm or None."""
    block = trace.encoder.block(layer)
    if part == "ffn":
        return f"layers.{layer}.after_attention", f"layers.{layer}.after_ffn", block.ffn_norm
    before = "embedding" if layer == 0 else f"layers.{layer - 1}.after_ffn"
    return before, f"layers.{layer}.after_attention", block.attention_norm


def sublayer_input(trace: Trace, layer: int, part: str, rows: slice | int | None = None) -> tuple[str, Floats]:
    """The input of a sublayer, [T, D] or some rows, with its name: the residual stream, in pre-norm normalised."""
    before, _, norm = sublayer(trace, layer, part)
    if trace.config.norm_placement == "post" or norm is None:
        return before, value(trace, before, rows)
    name = f"layers.{layer}.{part}_norm"
    return name, normalise(norm, value(trace, f"{name}.input", rows))


def label(trace: Trace, token: int) -> str:
    """A token as text."""
    return trace.labels[token]
