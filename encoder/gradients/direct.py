"""Direct effects: the output as a sum of what each head and each FFN wrote into the residual stream, along a direction.

Every norm is a linear map here, with the mean and the standard deviation that it had in this run. Then the output is
exactly the sum of the embeddings, of what each head and FFN adds, and of biases, each carried through the norms after
it (Elhage et al. 2021 write the output so, without norms). Instead of carrying each part forwards, the direction is
carried backwards. What a head changes in later layers is not in its direct effect: `causal` measures that.

Shapes: L layers, H heads, T tokens, R of them, D d_model, K width of a head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.causal.outcomes import Outcome, as_outcome
from encoder.errors import EncoderError
from encoder.measure.residual_stream import sublayer_updates
from encoder.model.layers import Block, LayerNorm
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffect:
    """Parts of `total`, the output times the direction, summed over tokens.

    heads [L, H], ffn [L]: of what each adds, other sublayers with the FFN; attention_bias [L]: of W_O's bias;
    embedding; norms: of the bias of each norm, by its name; at_z [L, H, K]: the direction at the z of each head, None
    for several tokens.
    """

    heads: Tensor
    ffn: Tensor
    attention_bias: Tensor
    embedding: float
    norms: dict[str, float]
    total: float
    at_z: Tensor | None = None

    def __repr__(self) -> str:
        return f"<DirectEffect of {self.heads.shape[0]} x {self.heads.shape[1]} heads: {self.total:.4g} in all>"

    @property
    def norm_biases(self) -> float:
        """Of the biases of all norms together."""
        return sum(self.norms.values())

    @property
    def sum(self) -> float:
        """The sum of all parts, which equals `total` up to rounding."""
        parts = self.heads.sum() + self.ffn.sum() + self.attention_bias.sum()
        return float(parts) + self.embedding + self.norm_biases


@torch.no_grad()
def direct_effect(trace: Trace, towards: Tensor | Outcome | str, position: int | None = None) -> DirectEffect:
    """How much each head and FFN writes directly in a direction.

    towards: a direction [D], of the output at token `position` or, without one, at every token; [T, D]: one for each
    token; an outcome of `encoder.causal` (a class, a word, a similarity): its gradient at the output, which is its
    direction where the outcome is linear. Raises EncoderError for a direction of another shape, for padding, and for an
    edited trace, whose parts do not add up.
    """
    if trace.edits or trace.n_real != len(trace):
        raise EncoderError("Direct effects need the trace of one input, without edits and without padding.")
    if trace.memory is not None:
        raise EncoderError("Direct effects would leave out cross-attention: choose the trace of an encoder.")
    direction, rows = _direction(trace, towards, position)  # [R, D] at R tokens
    walk = _Backwards(direction, rows)
    config = trace.config
    heads = torch.zeros(config.n_layers, config.n_heads, dtype=torch.float64)
    at_z: list[Tensor] = []
    ffn, bias = torch.zeros(2, config.n_layers, dtype=torch.float64)
    embedding = 0.0
    if trace.encoder.final_norm is not None:
        walk.through("final_norm", trace.encoder.final_norm, trace.values["final_norm.input"])
    for layer in reversed(range(config.n_layers)):
        block = trace.encoder.block(layer)
        for part, _, update in reversed(list(sublayer_updates(trace, layer))):
            if block.end_norm is not None and part == config.sublayers[-1]:
                walk.through(f"L{layer} end_norm", block.end_norm, trace.values[f"layers.{layer}.end_norm.input"])
            if not block.pre_norm and (norm := block.norm_of(part)) is not None:
                walk.through(f"L{layer} {part}_norm", norm, trace.values[f"layers.{layer}.{part}_norm.input"])
            if part == "attention":
                heads[layer], bias[layer], back = _of_attention(trace, layer, rows, block, walk.direction)
                at_z.insert(0, back)
            else:
                ffn[layer] += walk.along(update)
        embedding += walk.along(trace.values[trace.entering(layer)] - (trace.streams[layer] if layer else 0.0))
    total = float((trace.output[rows].double() * direction.double()).sum())
    one = torch.cat(at_z) if direction.shape[0] == 1 else None
    return DirectEffect(heads, ffn, bias, embedding, walk.norms, total, one)


class _Backwards:
    """A direction [R, D] at these rows, R tokens, that is carried from the output to the embeddings."""

    def __init__(self, direction: Tensor, rows: slice) -> None:
        self.direction = direction.double()
        self.rows = rows
        self.norms: dict[str, float] = {}

    def along(self, x: Tensor) -> float:
        """The part of x [T, D] along the direction."""
        return float((x[self.rows].double() * self.direction).sum())

    def through(self, name: str, norm: LayerNorm, x: Tensor) -> None:
        """To the norm's input x [T, D]. The norm's bias is a part of its own."""
        if norm.bias is not None:
            self.norms[name] = float((self.direction * norm.bias.double()).sum())
        self.direction = before_norm(norm, x[self.rows], self.direction)


def before_norm(norm: LayerNorm, x: Tensor, direction: Tensor) -> Tensor:
    """A direction at the norm's output [T, D] -> at its input x, with the norm's mean and deviation frozen."""
    x, scaled = x.double(), direction * norm.weight.double()
    if norm.kind == "layer":
        deviation = (x.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
        return (scaled - scaled.mean(dim=-1, keepdim=True)) / deviation
    return scaled / (x.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()


def _of_attention(
    trace: Trace, layer: int, rows: slice, block: Block, direction: Tensor
) -> tuple[Tensor, float, Tensor]:
    """Parts along the direction of what each head adds, [H], and of the bias of W_O (and of a norm after it).

    Last, the direction at each head's z, [R, H, K].
    """
    w_o, width = block.attention.w_o, trace.config.d_head
    z = trace.layer_z(layer, rows).transpose(0, 1).flatten(1).double()  # [R, H x K]
    weight = w_o.weight.double()  # [D, H x K]
    found = 0.0
    if block.attention_out_norm is not None:
        raw = z @ weight.T + (0.0 if w_o.bias is None else w_o.bias.double())
        if block.attention_out_norm.bias is not None:
            found += float((direction * block.attention_out_norm.bias.double()).sum())
        direction = before_norm(block.attention_out_norm, raw, direction)
    back = (direction @ weight).view(len(direction), -1, width)  # [R, H, K]
    heads = (back * z.view_as(back)).sum(dim=(0, 2)).cpu()
    return heads, found + (0.0 if w_o.bias is None else float((direction * w_o.bias.double()).sum())), back


def _direction(trace: Trace, towards: Tensor | Outcome | str, position: int | None) -> tuple[Tensor, slice]:
    """The direction [R, D], and the R tokens that have it."""
    shape, everywhere = tuple(trace.output.shape), slice(None)
    if not isinstance(towards, Tensor):
        if trace.model is None:
            raise EncoderError("This trace has no model, which an outcome needs: open it with open_trace(file, model).")
        measure = as_outcome(towards).on(trace.model, trace)
        with torch.enable_grad():
            output = trace.output.detach().clone().requires_grad_()
            (found,) = torch.autograd.grad(measure(output.unsqueeze(0))[0], output)
        return found, everywhere
    towards = towards.to(trace.output.device)
    if towards.shape == shape[1:]:
        if position is None:
            return towards.expand(shape), everywhere
        trace.check_token(position, "position")
        return towards.unsqueeze(0), slice(position, position + 1)
    if towards.shape != shape:
        known = f"[{shape[1]}] or {list(shape)}"
        raise EncoderError(f"A direction of shape {list(towards.shape)} does not fit: specify {known}.")
    return towards, everywhere
