"""The parts of a layer: LayerNorm, Attention, FeedForward, Block. Pre-norm and post-norm differ in two lines of Block.

Shapes: B batch, H heads, T tokens, D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder import attend, overview
from encoder.config import EncoderConfig
from encoder.hooks import HookPoint, current_visitor

#: Up to this many tokens, masks and biases are computed for all pairs; above, for MASK_ROWS queries at a time.
WHOLE_MASK = 1024
MASK_ROWS = 256


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


@dataclass(frozen=True)
class AttentionContext:
    """What attention needs beside x, computed once for each forward pass.

    positions [T]: the order of the tokens; encoded [T]: the positions whose encodings they have, the same unless an
    edit changes them; key_mask [B, T], True for a real token, or None; bias_table [buckets, H]: the learned bias by
    distance, or None; rotations: rotary base -> (cos, sin), [T, K] each.
    """

    config: EncoderConfig
    positions: Tensor
    encoded: Tensor
    key_mask: Tensor | None
    bias_table: Tensor | None
    rotations: dict[float, tuple[Tensor, Tensor]]
    _masks: dict[int | None, Tensor | None] = field(default_factory=dict)

    def by_pair(self, window: int | None) -> bool:
        """Whether mask and bias depend on the query too, and not only on the key."""
        return self.config.causal or window is not None or self.bias_table is not None

    def relative_bias(self, queries: slice = slice(None), keys: slice = slice(None)) -> Tensor | None:
        """[H, Ti, Tj], or None."""
        if self.bias_table is None:
            return None
        places = (self.encoded[queries], self.encoded[keys])
        return attend.relative_bias(self.bias_table, *places, self.config.relative_max_distance)

    def allowed(self, window: int | None, queries: slice = slice(None), keys: slice = slice(None)) -> Tensor | None:
        """bool [B or 1, 1, Ti or 1, Tj], or None where every query sees every key."""
        allowed = attend.allowed(
            self.positions[queries],
            self.positions[keys],
            key_mask=None if self.key_mask is None else self.key_mask[:, None, keys],  # [B, 1, Tj]
            causal=self.config.causal,
            window=window,
        )
        return None if allowed is None else allowed.view((1,) * (4 - allowed.dim()) + allowed.shape)

    def mask(self, window: int | None, dtype: torch.dtype) -> Tensor | None:
        """`additive` for all pairs, computed once for all layers with this window."""
        if window not in self._masks:
            self._masks[window] = self.additive(window, dtype)
        return self._masks[window]

    def additive(
        self, window: int | None, dtype: torch.dtype, queries: slice = slice(None), keys: slice = slice(None)
    ) -> Tensor | None:
        """Bias and mask to add to the scores, [B or 1, H or 1, Ti or 1, Tj]; masked is the lowest number; or None."""
        allowed, bias = self.allowed(window, queries, keys), self.relative_bias(queries, keys)
        if allowed is None:
            return None if bias is None else bias.unsqueeze(0).to(dtype)
        base = torch.zeros((), dtype=dtype, device=allowed.device) if bias is None else bias.to(dtype)
        return torch.where(allowed, base, torch.finfo(dtype).min)


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

    def forward(self, x: Tensor, layer: int, context: AttentionContext) -> Tensor:
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))  # [B, H, T, K]
        if self.config.position == "rotary":
            cos, sin = context.rotations[self.config.rotary_base_of_layer(layer)]
            q, k = attend.rotate(q, cos, sin), attend.rotate(k, cos, sin)
        q, k, v = self.hook_q(q, layer), self.hook_k(k, layer), self.hook_v(v, layer)
        visitor = current_visitor()
        if visitor is not None and visitor.needs_scores(layer):
            z = self.explicit(q, k, v, layer, context)
        elif (receiver := overview.current_receiver()) is not None and self.sees_all(layer, context, q):
            z = self.summarised(q, k, v, layer, receiver)
        else:
            z = self.fused(q, k, v, layer, context)
        z = self.hook_z(z, layer)
        out: Tensor = self.w_o(z.transpose(1, 2).flatten(-2))  # [B, T, D]
        return out

    def fused(self, q: Tensor, k: Tensor, v: Tensor, layer: int, context: AttentionContext) -> Tensor:
        """q, k, v [B, H, T, K] -> z [B, H, T, K] by torch's kernel. Its memory grows with T, not with T^2."""
        window, n_tokens = self.config.window_of_layer(layer), q.shape[-2]
        kernel = partial(
            F.scaled_dot_product_attention,
            dropout_p=self.config.attention_dropout if self.training else 0.0,
            scale=self.config.attention_scale,
        )
        if not context.by_pair(window) or n_tokens <= WHOLE_MASK:
            return kernel(q, k, v, attn_mask=context.mask(window, q.dtype))
        if self.config.causal and window is None and context.key_mask is None and context.bias_table is None:
            return kernel(q, k, v, is_causal=True)
        parts = []
        for start in range(0, n_tokens, MASK_ROWS):
            rows = slice(start, min(start + MASK_ROWS, n_tokens))
            keys = self.visible_keys(rows, window, context)
            mask = context.additive(window, q.dtype, rows, keys)
            parts.append(kernel(q[..., rows, :], k[..., keys, :], v[..., keys, :], attn_mask=mask))
        return torch.cat(parts, dim=-2)

    def sees_all(self, layer: int, context: AttentionContext, q: Tensor) -> bool:
        """Whether every query sees every key as it is, in a long text."""
        masked = context.key_mask is not None or context.by_pair(self.config.window_of_layer(layer))
        return not masked and overview.fits(q)

    def summarised(self, q: Tensor, k: Tensor, v: Tensor, layer: int, receiver: overview.Receiver) -> Tensor:
        """The same z [1, H, T, K]; the receiver gets the overview of the weights, which this computes anyway."""
        z, seen = overview.in_one_pass(q[0], k[0], v[0], float(self.config.attention_scale or 1.0))
        receiver(layer, seen)
        return z.unsqueeze(0)

    def visible_keys(self, rows: slice, window: int | None, context: AttentionContext) -> slice:
        """The keys that these query rows can attend to: those in the window and, if causal, not after the query.

        In a padded batch all keys: a query without any allowed key is uniform over all, as in `explicit`.
        """
        if context.key_mask is not None:
            return slice(0, len(context.positions))
        first = 0 if window is None else max(0, rows.start - window)
        last = len(context.positions) if window is None else min(len(context.positions), rows.stop + window)
        return slice(first, min(last, rows.stop) if self.config.causal else last)

    def explicit(self, q: Tensor, k: Tensor, v: Tensor, layer: int, context: AttentionContext) -> Tensor:
        """The same z [B, H, T, K], by way of scores that an edit can change."""
        allowed = context.allowed(self.config.window_of_layer(layer))
        scores = attend.scores(q, k, float(self.config.attention_scale or 1.0), context.relative_bias(), allowed)
        pattern = self.hook_pattern(attend.pattern(self.hook_scores(scores, layer)), layer)  # [B, H, T, T]
        if self.training:
            pattern = F.dropout(pattern, self.config.attention_dropout)
        return attend.mix(pattern, v)


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

    def forward(self, x: Tensor, layer: int, context: AttentionContext) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        # A sublayer's output gets no variable: one would keep attention's in memory while the FFN runs.
        x = x + self.hook_attention_out(
            self.dropout(self.attention(self.before(x, self.attention_norm, layer), layer, context)), layer
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
