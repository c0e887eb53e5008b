"""The parts of a layer: LayerNorm, Attention, FeedForward, Block. Pre-norm and post-norm differ by one branch in Block.

Shapes: B batch, H heads, T tokens, D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder import attend
from encoder.config import EncoderConfig
from encoder.hooks import HookPoint, current_visitor


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) x gain + bias over the last axis (Ba et al. 2016), with the population variance.

    Written out, for everything that explains a norm; the forward pass takes torch's fused kernel, and a test holds
    the two together.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    out = (x - mean) / (variance + eps).sqrt() * gain
    return out if bias is None else out + bias


class LayerNorm(nn.Module):
    """Layer normalisation that shows its input at a hook point. weight: gain [D]; bias: [D] or none."""

    def __init__(self, width: int, config: EncoderConfig, name: str) -> None:
        super().__init__()
        self.eps = config.norm_eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if config.norm_bias else None
        self.hook_input = HookPoint(f"{name}.input")

    def forward(self, x: Tensor, layer: int | None = None) -> Tensor:
        x = self.hook_input(x, layer)
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


@dataclass(frozen=True)
class Surroundings:
    """What attention needs to know beside x, made once a forward pass: positions, masks, biases.

    positions [T]; key_mask [B, T], True for a real token, or None; rotations: rotary base -> (cos, sin), each [T, K];
    masks: window -> additive [*, 1, *, T], 0 or the lowest number, plus the relative bias if any; None: no mask.
    """

    positions: Tensor
    key_mask: Tensor | None
    relative_bias: Tensor | None
    rotations: dict[float, tuple[Tensor, Tensor]]
    masks: dict[int | None, Tensor | None]


class Attention(nn.Module):
    """Multi-head self-attention. w_q, w_k, w_v: D -> H x K; w_o: H x K -> D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        inner = config.n_heads * config.d_head
        self.w_q = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        self.w_k = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        self.w_v = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        self.w_o = nn.Linear(inner, config.d_model, bias=config.attention_bias)
        self.hook_q, self.hook_k, self.hook_v = HookPoint("q"), HookPoint("k"), HookPoint("v")
        self.hook_scores, self.hook_z = HookPoint("scores"), HookPoint("z")

    def split(self, x: Tensor) -> Tensor:
        """[B, T, H x K] -> [B, H, T, K]"""
        return x.unflatten(-1, (self.config.n_heads, self.config.d_head)).transpose(1, 2)

    def forward(self, x: Tensor, layer: int, around: Surroundings) -> Tensor:
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))  # [B, H, T, K]
        if self.config.position == "rotary":
            cos, sin = around.rotations[self.config.rotary_base_of_layer(layer)]
            q, k = attend.rotate(q, cos, sin), attend.rotate(k, cos, sin)
        q, k, v = self.hook_q(q, layer), self.hook_k(k, layer), self.hook_v(v, layer)
        visitor = current_visitor()
        if visitor is not None and visitor.edits_scores(layer):
            z = self.explicit(q, k, v, layer, around)
        else:
            z = F.scaled_dot_product_attention(
                q, k, v,
                attn_mask=around.masks[self.config.window_of_layer(layer)],
                dropout_p=self.config.attention_dropout if self.training else 0.0,
                scale=self.config.attention_scale,
            )  # fmt: skip
        z = self.hook_z(z, layer)
        return self.w_o(z.transpose(1, 2).flatten(-2))  # [B, T, D]

    def explicit(self, q: Tensor, k: Tensor, v: Tensor, layer: int, around: Surroundings) -> Tensor:
        """The same z [B, H, T, K], through scores that an edit can change."""
        allowed = attend.allowed(
            around.positions,
            around.positions,
            key_mask=None if around.key_mask is None else around.key_mask.unsqueeze(1),  # [B, 1, T]
            causal=self.config.causal,
            window=self.config.window_of_layer(layer),
        )
        scores = attend.scores(q, k, float(self.config.attention_scale or 1.0), around.relative_bias, allowed)
        pattern = attend.pattern(self.hook_scores(scores, layer))  # [B, H, T, T]
        if self.training:
            pattern = F.dropout(pattern, self.config.attention_dropout)
        return attend.mix(pattern, v)


def activate(x: Tensor, name: str) -> Tensor:
    """The activation function `name` of EncoderConfig."""
    if name == "relu":
        return F.relu(x)
    if name == "silu":
        return F.silu(x)
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
        return self.w_out(self.hook_hidden(hidden, layer))  # [B, T, D]


class Block(nn.Module):
    """One layer: attention, then feed-forward, each with its residual and its norm before or after."""

    def __init__(self, config: EncoderConfig, has_attention_norm: bool = True) -> None:
        super().__init__()
        self.pre_norm = config.norm_placement == "pre"
        self.attention = Attention(config)
        self.attention_norm = LayerNorm(config.d_model, config, "attention_norm") if has_attention_norm else None
        self.ffn = FeedForward(config)
        self.ffn_norm = LayerNorm(config.d_model, config, "ffn_norm")
        self.dropout = nn.Dropout(config.dropout)
        self.hook_after_attention = HookPoint("after_attention")
        self.hook_after_ffn = HookPoint("after_ffn")

    def forward(self, x: Tensor, layer: int, around: Surroundings) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        update = self.dropout(self.attention(self.before(x, self.attention_norm, layer), layer, around))
        x = self.hook_after_attention(self.after(x + update, self.attention_norm, layer), layer)
        update = self.dropout(self.ffn(self.before(x, self.ffn_norm, layer), layer))
        return self.hook_after_ffn(self.after(x + update, self.ffn_norm, layer), layer)

    def before(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """What a sublayer reads: the normalised stream in pre-norm, the stream itself in post-norm."""
        return norm(x, layer) if self.pre_norm and norm is not None else x

    def after(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """What goes on: the sum itself in pre-norm, the normalised sum in post-norm."""
        return x if self.pre_norm or norm is None else norm(x, layer)
