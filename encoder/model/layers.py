"""The parts of a layer: LayerNorm, Attention, FeedForward, Block. Pre-norm and post-norm differ in two lines of Block.

Shapes: B batch, H heads, T tokens, D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.model import attend, overview
from encoder.model.attend import AttentionContext
from encoder.model.config import EncoderConfig
from encoder.model.hooks import HookPoint, current_visitor


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) x gain + bias over the last axis (Ba et al. 2016), with the population variance.

    Everything that explains a norm uses this function; the forward pass uses torch's fused kernel. A test compares
    the two.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    out = (x - mean) / (variance + eps).sqrt() * gain
    return out if bias is None else out + bias


class LayerNorm(nn.Module):
    """Layer normalisation with a hook point at its input. weight: gain [D]; bias: [D] or none."""

    def __init__(self, width: int, config: EncoderConfig, name: str) -> None:
        super().__init__()
        self.eps = config.norm_eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if config.norm_bias else None
        self.hook_input = HookPoint(f"{name}.input")

    def forward(self, x: Tensor, layer: int | None = None) -> Tensor:
        x = self.hook_input(x, layer)
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class Attention(nn.Module):
    """Multi-head self-attention. w_q, w_k, w_v: D -> H x K; w_o: H x K -> D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        inner = config.n_heads * config.d_head
        self.w_q = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        self.w_k = nn.Linear(config.d_model, inner, bias=bool(config.key_bias))
        self.w_v = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        self.w_o = nn.Linear(inner, config.d_model, bias=config.attention_bias)
        self.hook_q, self.hook_k, self.hook_v = HookPoint("q"), HookPoint("k"), HookPoint("v")
        self.hook_scores, self.hook_pattern, self.hook_z = HookPoint("scores"), HookPoint("pattern"), HookPoint("z")

    def split(self, x: Tensor) -> Tensor:
        """[B, T, H x K] -> [B, H, T, K]"""
        return x.view(*x.shape[:-1], self.config.n_heads, self.config.d_head).transpose(1, 2)

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        layer = context.layer
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))  # [B, H, T, K]
        q, k = context.rotated(q), context.rotated(k)
        q, k, v = self.hook_q(q, layer), self.hook_k(k, layer), self.hook_v(v, layer)
        dropout = self.config.attention_dropout if self.training else 0.0
        visitor, receiver = current_visitor(), overview.current_receiver()
        if visitor is not None and visitor.needs_scores(layer):
            z = self.explicit(q, k, v, context, dropout)
        elif receiver is not None and context.unmasked and overview.fits(q):
            # The same z. The receiver gets the overview of the weights, which this computes anyway.
            z, seen = overview.in_one_pass(q[0], k[0], v[0], context.scale)
            receiver(layer, seen)
            z = z.unsqueeze(0)
        else:
            z = context.fused(q, k, v, dropout)
        z = self.hook_z(z, layer)
        out: Tensor = self.w_o(z.transpose(1, 2).flatten(-2))  # [B, T, D]
        return out

    def explicit(self, q: Tensor, k: Tensor, v: Tensor, context: AttentionContext, dropout: float) -> Tensor:
        """The same z [B, H, T, K], by way of scores that an edit can change."""
        pattern = context.pattern(self.hook_scores(context.scores(q, k), context.layer))
        pattern = self.hook_pattern(pattern, context.layer)  # [B, H, T, T]
        return attend.mix(F.dropout(pattern, dropout) if dropout else pattern, v)


IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "silu": partial(F.silu, inplace=True),
    "gelu": torch.ops.aten.gelu_,
    "gelu_tanh": partial(torch.ops.aten.gelu_, approximate="tanh"),
}


def activate(x: Tensor, name: str) -> Tensor:
    """The activation function `name` of EncoderConfig. Outside autograd it works in place and returns x itself.

    x is the largest tensor of a layer, and nothing else needs it.
    """
    if not torch.is_grad_enabled() and name in IN_PLACE:
        return IN_PLACE[name](x)
    if name == "relu":
        return F.relu(x)
    if name == "silu":
        return F.silu(x)
    if name == "quick_gelu":  # Hendrycks & Gimpel 2016, section 2: GELU's approximation by a logistic function
        return x * torch.sigmoid(1.702 * x)
    return F.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")


class FeedForward(nn.Module):
    """act(x W_in + b) W_out + b, or with a gate (act(x W_in) * x W_gate) W_out (Shazeer 2020). D -> F -> D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.w_in = nn.Linear(config.d_model, config.d_ffn, bias=config.ffn_bias)
        self.w_gate = nn.Linear(config.d_model, config.d_ffn, bias=config.ffn_bias) if config.gated else None
        self.w_out = nn.Linear(config.d_ffn, config.d_model, bias=config.ffn_bias)
        self.hook_hidden = HookPoint("ffn.hidden")

    def forward(self, x: Tensor, layer: int) -> Tensor:
        hidden = activate(self.w_in(x), self.activation)  # [B, T, F]
        if self.w_gate is not None:
            hidden = hidden * self.w_gate(x)
        out: Tensor = self.w_out(self.hook_hidden(hidden, layer))  # [B, T, D]
        return out


class Block(nn.Module):
    """One layer: attention, then feed-forward, each with a residual connection and a norm before or after it."""

    def __init__(self, config: EncoderConfig, has_attention_norm: bool = True) -> None:
        super().__init__()
        self.pre_norm = config.norm_placement == "pre"
        self.attention = Attention(config)
        self.attention_norm = LayerNorm(config.d_model, config, "attention_norm") if has_attention_norm else None
        self.ffn = FeedForward(config)
        self.ffn_norm = LayerNorm(config.d_model, config, "ffn_norm")
        self.dropout = nn.Dropout(config.dropout)
        self.hook_attention_out, self.hook_ffn_out = HookPoint("attention_out"), HookPoint("ffn_out")
        self.hook_after_attention, self.hook_after_ffn = HookPoint("after_attention"), HookPoint("after_ffn")

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        layer = context.layer
        # A sublayer's output gets no variable: one would keep attention's in memory while the FFN runs.
        x = x + self.hook_attention_out(
            self.dropout(self.attention(self.before(x, self.attention_norm, layer), context)), layer
        )
        x = self.hook_after_attention(self.after(x, self.attention_norm, layer), layer)
        x = x + self.hook_ffn_out(self.dropout(self.ffn(self.before(x, self.ffn_norm, layer), layer)), layer)
        out: Tensor = self.hook_after_ffn(self.after(x, self.ffn_norm, layer), layer)
        return out

    def before(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """A sublayer's input: the normalised residual stream in pre-norm, the residual stream itself in post-norm."""
        return norm(x, layer) if self.pre_norm and norm is not None else x

    def after(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """A sublayer's result: the sum itself in pre-norm, the normalised sum in post-norm."""
        return x if self.pre_norm or norm is None else norm(x, layer)
