"""What a step takes out of a trace and out of the weights, as read-only float32 arrays.

Shapes: T tokens, D d_model, H heads, K width of a head.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from encoder.explain.arithmetic import Bools, Floats, layer_norm
from encoder.trace import Trace


def array(tensor: Tensor) -> Floats:
    """A tensor of any device and type as a float32 array that cannot be written to (on the CPU it shares its
    memory)."""
    out = tensor.detach().float().cpu().numpy().view()
    out.flags.writeable = False
    return out


def weight(module: nn.Module | None) -> Floats | None:
    """A linear map as the formulas have it, [in, out] (torch stores [out, in]); None where there is none."""
    return None if module is None else array(module.weight).T


def bias(module: nn.Module | None) -> Floats | None:
    """The bias [out] of a linear map or a norm; None where it has none."""
    return None if module is None or module.bias is None else array(module.bias)


def value(trace: Trace, name: str, rows: slice | int | None = None) -> Floats:
    """What was captured at the hook point `name`, or some of its rows."""
    tensor = trace.values[name]
    return array(tensor if rows is None else tensor[rows])


def mask(trace: Trace) -> Bools:
    """[T]: True for a real token."""
    return trace.mask.cpu().numpy()


def segment_ids(trace: Trace) -> NDArray[np.integer]:
    """[T]: the row of the segment table that each token takes; 0 for padding, and where the table has one row alone."""
    table = trace.encoder.embedding.segments
    known = trace.source.segments if trace.source is not None and table is not None and len(table.weight) > 1 else ()
    return np.array([*known] + [0] * (trace.n_tokens - len(known)))


def stream_name(layer: int) -> str:
    """Hook point of the residual stream that enters `layer`."""
    return "embedding" if layer == 0 else f"layers.{layer - 1}.after_ffn"


def sublayer(trace: Trace, layer: int, part: str) -> tuple[str, str, nn.Module | None]:
    """part "attention" or "ffn" -> the stream's name before it, the stream's name after it, its norm (None: it has
    none)."""
    block = trace.encoder.block(layer)
    before = stream_name(layer) if part == "attention" else f"layers.{layer}.after_attention"
    norm = block.attention_norm if part == "attention" else block.ffn_norm
    return before, f"layers.{layer}.after_{part}", norm


def sublayer_input(trace: Trace, layer: int, part: str, rows: slice | int | None = None) -> tuple[str, Floats]:
    """What a sublayer reads: (its name, [T, D] or some rows). The stream in post-norm, the normalised stream in
    pre-norm."""
    before, _, norm = sublayer(trace, layer, part)
    if trace.config.norm_placement == "post" or norm is None:
        return before, value(trace, before, rows)
    x = value(trace, f"layers.{layer}.{part}_norm.input", rows)
    return f"layers.{layer}.{part}_norm", layer_norm(x, array(norm.weight), bias(norm), norm.eps)


def label(trace: Trace, token: int) -> str:
    """A token as a person reads it."""
    return trace.labels[token]
