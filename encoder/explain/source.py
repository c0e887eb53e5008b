"""What a step shows: the values that the trace recorded, and those that the model's own modules compute from them.

In numpy a step computes only the terms of its formula: the reference, which checks the step, is the numpy pass.

Shapes: T tokens, D d_model, H heads, K width of a head, F width of the FFN.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from encoder.errors import EncoderError, quoted
from encoder.explain.arithmetic import Floats
from encoder.model.activation import activate
from encoder.model.config import Sublayer
from encoder.model.layers import FeedForward
from encoder.trace.recorded_pass import NormTrace
from encoder.trace.trace import Trace


def array(tensor: Tensor) -> Floats:
    """A tensor of any device and type as a read-only float32 array. On the CPU they share memory."""
    out: Floats = tensor.detach().float().cpu().numpy().view()
    out.flags.writeable = False
    return out


def weight(linear: nn.Linear) -> Floats:
    """The weights of a linear map as the formulas write them, [in, out]; torch stores [out, in]."""
    return array(linear.weight).T


def bias(linear: nn.Linear) -> Floats | None:
    """The bias [out] of a linear map, or None."""
    return None if linear.bias is None else array(linear.bias)


@torch.no_grad()
def apply(linear: nn.Linear, x: Tensor) -> Tensor:
    """x [..., in] -> [..., out]: x W + b, by the model."""
    return linear(x.to(linear.weight.dtype))


def value(trace: Trace, name: str, rows: slice | int | None = None) -> Floats:
    """The recorded value of the hook point `name`, or some of its rows."""
    tensor = trace.values[name]
    return array(tensor if rows is None else tensor[rows])


def norm_of(trace: Trace, name: str, rows: slice | int) -> NormTrace:
    """The norm `name` of the model on some tokens. Raises EncoderError for a norm that the model does not have."""
    norms = trace.norms
    if name not in norms:
        raise EncoderError(f"This model has no norm {quoted(name)}: choose one of {', '.join(norms)}.")
    return replace(norms[name], input=norms[name].input[rows])


def sublayer(trace: Trace, layer: int, part: Sublayer) -> tuple[str, str, str | None]:
    """One of the config's sublayers -> the hook points of the residual stream before and after it, and its norm or
    None. Raises EncoderError for another."""
    if part not in trace.config.sublayers:
        raise EncoderError(f"This model has no {quoted(part)}: choose one of {', '.join(trace.config.sublayers)}.")
    at = trace.config.sublayers.index(part)
    before = f"layers.{layer}.after_{trace.config.sublayers[at - 1]}" if at else trace.entering(layer)
    has_norm = part != "attention" or trace.config.has_attention_norm(layer)
    return before, f"layers.{layer}.after_{part}", f"layers.{layer}.{part}_norm" if has_norm else None


def sublayer_input(trace: Trace, layer: int, part: Sublayer, rows: slice | int = slice(None)) -> Tensor:
    """The input of a sublayer, [T, D] or some rows: the residual stream, in pre-norm normalised."""
    before, _, norm = sublayer(trace, layer, part)
    if trace.config.parallel:  # both sublayers read the stream before attention
        before = sublayer(trace, layer, "attention")[0]
    if trace.config.norm_placement == "post" or norm is None:
        return trace.values[before][rows]
    return norm_of(trace, norm, rows).output


@torch.no_grad()
def added_by(trace: Trace, layer: int, part: str, output: Tensor) -> Tensor:
    """What a sublayer adds to the residual stream: its output [..., D], after the norm for it where there is one."""
    block = trace.encoder.block(layer)
    norm = block.attention_out_norm if part == "attention" else block.ffn_out_norm
    return output if norm is None else norm(output.to(norm.weight.dtype))


def neurons_of(trace: Trace, layer: int, part: Sublayer = "ffn") -> FeedForward:
    """An FFN of a layer, or its adapter. Raises EncoderError for a layer without one."""
    module = getattr(trace.encoder.block(layer), part)
    if not isinstance(module, FeedForward):
        raise EncoderError(f"This model has no neurons of the {part}: choose the part ffn.")
    return module


@torch.no_grad()
def hidden_of(trace: Trace, layer: int, x: Tensor, part: Sublayer = "ffn") -> tuple[Tensor, Tensor | None, Tensor]:
    """x [..., D], the input of the FFN or the adapter -> before the activation, gate or None, hidden; [..., F] each.

    With experts, hidden is 0 for the neurons of those that the router did not choose.
    """
    module = neurons_of(trace, layer, part)
    linear = apply(module.w_in, x)
    hidden = activate(linear.clone(), module.activation)  # it may work in place
    gate = None if module.w_gate is None else apply(module.w_gate, x)
    hidden = hidden if gate is None else hidden * gate
    routes = module.routes(x.to(module.w_in.weight.dtype))
    return linear, gate, hidden if routes is None else hidden * module.by_neuron(routes)
