"""The encoder's derivative in given directions: forward-mode products, written out layer by layer.

`linearise` runs the model from a layer to the sentence vector at one point, and returns the derivative there as a
function of directions. torch has forward mode too, but its levels belong to the whole process: a thread that leaves
one clears the tangents of every other thread. Here nothing is shared, and what depends on the point only (attention
weights, the slopes of activations) is computed once for all directions.

Shapes: N points, C directions (N is 1, or N = C: one direction for each point), H heads, T tokens, D d_model,
K width of a head, F width of the FFN, E width of the sentence vector.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.encoders.text import TextEncoder
from encoder.model import attend
from encoder.model.attend import AttentionContext
from encoder.model.layers import Attention, Block, FeedForward, LayerNorm, activate
from encoder.model.pooling import Dense, parts_of, pool

#: A derivative: directions at the input of a part -> directions at its output.
Tangent = Callable[[Tensor], Tensor]
Sublayer = Callable[[Tensor], tuple[Tensor, Tangent]]


def linearise(model: TextEncoder, x: Tensor, layer: int) -> tuple[Tensor, Tangent]:
    """The sentence vector of norm 1 from the residual stream x [N, T, D] before `layer`, and its derivative.

    Returns e [N, E] and a function from directions [C, T, D] to their images [C, E]. layer = n_layers: x is the
    output, after the final LayerNorm. No token is padding.
    """
    x, through_layers = through_encoder(model, x, layer)
    pooled, through_pooling = through_pool(model, x)
    norm: Tensor = torch.linalg.vector_norm(pooled, dim=-1, keepdim=True)
    unit: Tensor = pooled / norm

    def tangent(d: Tensor) -> Tensor:
        d = through_pooling(through_layers(d))
        along: Tensor = unit * (unit * d).sum(dim=-1, keepdim=True)
        return (d - along) / norm

    return unit, tangent


def through_encoder(model: TextEncoder, x: Tensor, layer: int) -> tuple[Tensor, Tangent]:
    """The layers from `layer` on and the final LayerNorm: [N, T, D] -> [N, T, D], and the derivative."""
    encoder = model.encoder
    parts: list[Tangent] = []
    for context in encoder.attention_contexts(x, None)[layer:]:
        x, part = through_block(encoder.block(context.layer), x, context)
        parts.append(part)
    if encoder.final_norm is not None and layer < model.config.n_layers:
        x, part = through_norm(encoder.final_norm, x)
        parts.append(part)

    def tangent(d: Tensor) -> Tensor:
        for part in parts:
            d = part(d)
        return d

    return x, tangent


def through_block(block: Block, x: Tensor, context: AttentionContext) -> tuple[Tensor, Tangent]:
    """One layer: attention, then feed-forward, each with its residual and norms; in a parallel block side by side."""
    attention = _normed(block.attention_out_norm, lambda y: through_attention(block.attention, y, context))
    ffn = _normed(block.ffn_out_norm, lambda y: through_ffn(block.ffn, y))
    if block.parallel:
        (first, attend_part), (second, ffn_part) = (
            _before(norm, x, sublayer) for norm, sublayer in ((block.attention_norm, attention), (block.ffn_norm, ffn))
        )
        return x + first + second, lambda d: d + attend_part(d) + ffn_part(d)
    x, attend_first = _with_residual(block.pre_norm, block.attention_norm, x, attention)
    x, feed_forward = _with_residual(block.pre_norm, block.ffn_norm, x, ffn)
    return x, lambda d: feed_forward(attend_first(d))


def _normed(norm: LayerNorm | None, sublayer: Sublayer) -> Sublayer:
    """A sublayer with the norm of what it adds, where there is one."""
    if norm is None:
        return sublayer
    found = norm

    def whole(x: Tensor) -> tuple[Tensor, Tangent]:
        out, inner = sublayer(x)
        normed, after = through_norm(found, out)
        return normed, lambda d: after(inner(d))

    return whole


def _before(norm: LayerNorm | None, x: Tensor, sublayer: Sublayer) -> tuple[Tensor, Tangent]:
    """f(norm(x))"""
    if norm is None:
        return sublayer(x)
    normed, before = through_norm(norm, x)
    out, inner = sublayer(normed)
    return out, lambda d: inner(before(d))


def _with_residual(pre_norm: bool, norm: LayerNorm | None, x: Tensor, sublayer: Sublayer) -> tuple[Tensor, Tangent]:
    """x + f(norm(x)) in pre-norm, norm(x + f(x)) in post-norm."""
    if pre_norm or norm is None:
        out, inner = _before(norm, x, sublayer)
        return x + out, lambda d: d + inner(d)
    out, inner = sublayer(x)
    normed, after = through_norm(norm, x + out)
    return normed, lambda d: after(d + inner(d))


def through_norm(norm: LayerNorm, x: Tensor) -> tuple[Tensor, Tangent]:
    """The part of a direction along the normalised vector is lost, in LayerNorm that along 1 too; the rest scaled."""
    centres = norm.kind == "layer"
    centred = x - x.mean(dim=-1, keepdim=True) if centres else x
    inverse = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
    normalised = centred * inverse  # [N, T, D]
    scale = inverse * norm.weight

    def tangent(d: Tensor) -> Tensor:
        d = d - d.mean(dim=-1, keepdim=True) if centres else d.clone()
        share = (d * normalised).mean(dim=-1, keepdim=True)
        return d.addcmul_(normalised, share, value=-1).mul_(scale)

    return norm(x), tangent


def through_heads(attention: Attention, which: str, x: Tensor, context: AttentionContext) -> tuple[Tensor, Tangent]:
    """x [N, T, D] -> q, k or v as the scores use them, [N, H, T, K], and the derivative."""
    module: nn.Linear = getattr(attention, f"w_{which}")
    norm = {"q": attention.q_norm, "k": attention.k_norm, "v": None}[which]
    by_head = attention.config.qk_norm == "head"

    def placed(y: Tensor) -> Tensor:
        y = y if which == "v" else context.rotated(y)
        return y if which == "q" else attention.shared(y)

    value, part = module(x), None
    if norm is not None:
        value, part = through_norm(norm, attention.split(value) if by_head else value)
    split = value if norm is not None and by_head else attention.split(value)

    def tangent(d: Tensor) -> Tensor:
        d = F.linear(d, module.weight)
        if part is None:
            return placed(attention.split(d))
        return placed(part(attention.split(d)) if by_head else attention.split(part(d)))

    return placed(split), tangent


def through_attention(attention: Attention, x: Tensor, context: AttentionContext) -> tuple[Tensor, Tangent]:
    """Multi-head attention. With S the scores and P their softmax, dP = P * (dS - sum of P * dS over the keys)."""
    (q, of_q), (k, of_k), (v, of_v) = (through_heads(attention, which, x, context) for which in "qkv")  # [N, H, T, K]
    allowed = context.allowed()
    pattern = context.pattern(context.scores(q, k))  # [N, H, T, T]
    z = mixed = attend.mix(pattern, v)
    gate = None if attention.w_gate is None else attention.gate(x, attention.w_gate)  # [N, H, T, 1]
    z = z if gate is None else z * gate
    q_scaled, k_scaled = q * context.scale, (k * context.scale).transpose(-1, -2)
    # d (cap tanh(s / cap)) = (1 - tanh^2) ds
    slope = None if context.cap is None else 1.0 - (context.products(q, k) / context.cap).square()
    every = slice(None)

    def tangent(d: Tensor) -> Tensor:
        dq, dk, dv = of_q(d), of_k(d), of_v(d)
        change = dq @ k_scaled  # [C, H, T, T]
        change += q_scaled @ dk.transpose(-1, -2)
        if context.terms is not None:
            change += context.terms.of(dq, dk, context.encoded, every, every) * context.scale
        if slope is not None:
            change *= slope
        if allowed is not None:
            change.masked_fill_(~allowed, 0.0)
        change *= pattern
        change.addcmul_(pattern, change.sum(dim=-1, keepdim=True), value=-1)
        dz = change @ v
        dz += pattern @ dv
        if gate is not None and attention.w_gate is not None:  # the slope of the logistic function is g (1 - g)
            of_gate = F.linear(d, attention.w_gate.weight).transpose(1, 2).unsqueeze(-1)
            dz = dz * gate + mixed * (gate * (1.0 - gate)) * of_gate
        return F.linear(dz.transpose(1, 2).flatten(-2), attention.w_o.weight)

    return attention.w_o(z.transpose(1, 2).flatten(-2)), tangent


def through_ffn(ffn: FeedForward, x: Tensor) -> tuple[Tensor, Tangent]:
    """act(x W_in) W_out, or with a gate (act(x W_in) * x W_gate) W_out; with experts, times what the router gives."""
    hidden, slope = value_and_slope(ffn.activation, ffn.w_in(x))  # [N, T, F]
    gate = None if ffn.w_gate is None else ffn.w_gate(x)
    product = hidden if gate is None else hidden * gate
    routes = None if ffn.router is None else through_router(ffn, x)

    def tangent(d: Tensor) -> Tensor:
        inner = F.linear(d, ffn.w_in.weight).mul_(slope if gate is None else slope * gate)  # [C, T, F]
        if ffn.w_gate is not None:
            inner.addcmul_(F.linear(d, ffn.w_gate.weight), hidden)
        if routes is not None:
            inner = inner * routes[0] + product * routes[1](d)
        return F.linear(inner, ffn.w_out.weight)

    return ffn.w_out(product if routes is None else product * routes[0]), tangent


def through_router(ffn: FeedForward, x: Tensor) -> tuple[Tensor, Tangent]:
    """The weight of each neuron's expert, [N, T, F]. With the softmax p of logits l, dr = r * (dl - sum of p * dl); p
    is over the chosen experts where their weights sum to 1. The choice itself is held fixed."""
    assert ffn.router is not None
    assert ffn.experts is not None
    router, logits = ffn.router.weight, ffn.router(x)
    routes = ffn.experts.weights(logits)  # [N, T, E]
    p = routes if ffn.experts.renormalised else logits.softmax(dim=-1)

    def tangent(d: Tensor) -> Tensor:
        change = F.linear(d, router)
        return ffn.by_neuron(routes * (change - (p * change).sum(dim=-1, keepdim=True)))

    return ffn.by_neuron(routes), tangent


def through_pool(model: TextEncoder, x: Tensor) -> tuple[Tensor, Tangent]:
    """Pooling and the dense layers after it, without the scaling to norm 1: [N, T, D] -> [N, E].

    Every way of pooling is linear in the output but the maximum, which takes each dimension from one token.
    """
    ways = parts_of(model.pooling)
    pooled = torch.cat([_pool(x, way) for way in ways], dim=-1)
    largest = x.argmax(dim=1, keepdim=True)  # [N, 1, D]
    parts: list[tuple[Dense, Tensor]] = []
    for dense in model.dense:
        mapped, slope = value_and_slope(dense.config.activation, dense.linear(pooled))
        pooled = mapped + dense.carried(pooled) if dense.config.residual else mapped
        parts.append((dense, slope))

    def one_way(d: Tensor, way: str) -> Tensor:
        return d.gather(1, largest.expand(len(d), -1, -1)).squeeze(1) if way == "max" else _pool(d, way)

    def tangent(d: Tensor) -> Tensor:
        d = torch.cat([one_way(d, way) for way in ways], dim=-1)
        for dense, slope in parts:
            moved = F.linear(d, dense.linear.weight) * slope
            d = moved + dense.carried(d) if dense.config.residual else moved
        return d[..., : model.truncate_dim]

    return pooled[..., : model.truncate_dim], tangent


def _pool(x: Tensor, way: str) -> Tensor:
    return pool(x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device), way)


def value_and_slope(activation: str, x: Tensor) -> tuple[Tensor, Tensor]:
    """f(x) and f'(x) of an activation function. torch's autograd has the slope."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = activate(x, activation)
        (slope,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), slope
