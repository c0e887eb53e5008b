"""The parts of a layer: LayerNorm, Attention, FeedForward, Block. Pre-norm and post-norm differ in two lines of Block.

Shapes: B batch, H heads, T tokens, D d_model, K width of a head, F width of the FFN.
"""

from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.model import attend, overview
from encoder.model.activation import activate
from encoder.model.attend import AttentionContext
from encoder.model.boxes import Beside
from encoder.model.config import EncoderConfig, Sublayer
from encoder.model.conformer import ConvolutionModule, Letters
from encoder.model.disentangled import Disentangled, PositionTerms
from encoder.model.distances import DistanceTerms, sines
from encoder.model.hooks import HookPoint, current_visitor, visiting


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) x gain + bias over the last axis (Ba et al. 2016), with the population variance.

    Everything that explains a norm uses this function; the forward pass uses torch's fused kernel. A test compares
    the two.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    out = (x - mean) / (variance + eps).sqrt() * gain
    return out if bias is None else out + bias


def rms_norm(x: Tensor, gain: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """x / sqrt(mean of x^2 + eps) x gain + bias over the last axis (Zhang and Sennrich 2019): no mean is subtracted."""
    out = x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * gain
    return out if bias is None else out + bias


#: The written-out form of each `EncoderConfig.norm_kind`, and its name for people.
NORMS = {"layer": layer_norm, "rms": rms_norm}
NORM_NAMES = {"layer": "LayerNorm", "rms": "RMSNorm"}


class LayerNorm(nn.Module):
    """LayerNorm or, by the config, RMSNorm, with a hook point at its input. weight: gain [D]; bias: [D] or none.

    Without a learned gain, `weight` is a buffer of ones.
    """

    def __init__(self, width: int, config: EncoderConfig, name: str, gain: bool | None = None) -> None:
        super().__init__()
        self.eps, self.kind = config.norm_eps, config.norm_kind
        learned = config.norm_gain if gain is None else gain
        self.weight = nn.Parameter(torch.ones(width)) if learned else nn.Buffer(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if config.norm_bias else None
        self.hook_input = HookPoint(f"{name}.input")

    def forward(self, x: Tensor, layer: int | None = None) -> Tensor:
        x = self.hook_input(x, layer)
        if self.kind == "layer":
            return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        out = F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        return out if self.bias is None else out + self.bias


class Attention(nn.Module):
    """Multi-head attention. w_q: D -> H x K; w_k, w_v: D -> n_kv_heads x K; w_o: H x K -> D.

    cross: keys and values are made of the memory's vectors, and the hook points begin with "cross.".
    """

    def __init__(self, config: EncoderConfig, cross: bool = False) -> None:
        super().__init__()
        self.config = config
        inner = config.n_heads * config.d_head
        self.w_q = nn.Linear(config.d_model, inner, bias=bool(config.qkv_bias))
        shared = config.n_kv_heads * config.d_head
        read = config.memory_width if cross else config.d_model
        self.w_k = nn.Linear(read, shared, bias=bool(config.key_bias))
        self.w_v = nn.Linear(read, shared, bias=bool(config.qkv_bias))
        self.w_o = nn.Linear(inner, config.d_model, bias=config.attention_bias)
        self.q_norm: LayerNorm | None = None
        self.k_norm: LayerNorm | None = None
        if config.qk_norm != "none":
            widths = (inner, shared) if config.qk_norm == "full" else (config.d_head,) * 2
            self.q_norm, self.k_norm = (
                LayerNorm(width, config, name, config.qk_norm_gain)
                for width, name in zip(widths, ("q_norm", "k_norm"), strict=True)
            )
        self.sinks = nn.Parameter(torch.zeros(config.n_heads)) if config.attention_sinks else None
        self.w_gate = nn.Linear(config.d_model, config.n_heads, bias=False) if config.output_gate else None
        own = config.relative_per_layer and config.table_rows
        self.relative_bias = nn.Embedding(config.table_rows, config.n_heads) if own else None
        self.w_bias_gate = nn.Linear(config.d_model // config.n_heads, 8) if config.relative_gate else None
        self.bias_gain = nn.Parameter(torch.ones(1, config.n_heads, 1, 1)) if config.relative_gate else None
        apart = config.disentangled
        if apart is not None and apart.shared:
            apart = None
        to_position = apart is not None and apart.to_position
        self.w_pos_k = nn.Linear(config.d_model, inner, bias=apart.key_bias) if apart and to_position else None
        self.w_pos_q = nn.Linear(config.d_model, inner) if apart is not None and apart.to_content else None
        self.distance_keys: nn.Embedding | None = None
        self.content_bias: nn.Parameter | None = None
        self.position_bias: nn.Parameter | None = None
        if config.distance_keys is not None and config.distance_keys.rows:
            self.distance_keys = nn.Embedding(config.distance_keys.rows, config.d_head)
        elif config.distance_keys is not None:
            self.w_pos_k = nn.Linear(config.d_model, inner, bias=False)
            self.content_bias, self.position_bias = (
                nn.Parameter(torch.zeros(config.n_heads, config.d_head)) for _ in range(2)
            )
        before = "cross." if cross else ""
        self.hook_q, self.hook_k, self.hook_v = (HookPoint(f"{before}{name}") for name in "qkv")
        self.hook_scores, self.hook_pattern, self.hook_z, self.hook_gate = (
            HookPoint(f"{before}{name}") for name in ("scores", "pattern", "z", "gate")
        )
        self.hook_bias_gate = HookPoint("bias_gate")

    def split(self, x: Tensor) -> Tensor:
        """[B, T, h x K] -> [B, h, T, K]"""
        return x.view(*x.shape[:-1], -1, self.config.d_head).transpose(1, 2)

    def shared(self, x: Tensor) -> Tensor:
        """Keys or values [B, n_kv_heads, T, K] -> [B, H, T, K]: each for all heads of queries that use it."""
        times = self.config.n_heads // self.config.n_kv_heads
        return x if times == 1 else x.repeat_interleave(times, dim=1)

    def normed(self, x: Tensor, norm: LayerNorm | None) -> Tensor:
        """q or k before the rotation, [B, T, h x K] -> [B, h, T, K], each head normalised or all together."""
        if norm is None:
            return self.split(x)
        return norm(self.split(x)) if self.config.qk_norm == "head" else self.split(norm(x))

    def qkv(self, x: Tensor, context: AttentionContext) -> tuple[Tensor, Tensor, Tensor]:
        """x [B, T, D] -> q, k, v as the scores use them, [B, H, T, K] each; k and v of the memory [B, H, S, K]."""
        turns = self.config.rotary_input
        to_qk = context.rotated(self.split(x)).transpose(1, 2).flatten(-2) if turns else x
        q = self.normed(self.w_q(to_qk), self.q_norm)
        q = q if turns else context.rotated(q)
        cache, layer = context.cache, context.layer
        if context.memory is not None and cache is not None and layer in cache.of_memory:
            return q, *cache.of_memory[layer]
        read = x if context.memory is None else context.memory
        k = self.normed(self.w_k(to_qk if turns else read), self.k_norm)
        k = self.shared(k if turns else context.rotated(k))
        v = self.shared(self.split(self.w_v(read)))
        if context.memory is not None:  # several outputs of one input: a view, no copy
            k, v = (one.expand(len(q), -1, -1, -1) for one in (k, v))
            if cache is not None:
                cache.of_memory[layer] = k, v
        elif cache is not None:
            k, v = cache.extended(layer, k, v)
        return q, k, v

    def position_terms(self, vectors: Tensor, shape: Disentangled) -> PositionTerms:
        """DeBERTa's vectors of distances [2S, D] -> their keys and queries in this layer."""
        to_k, to_q = (self.w_k, self.w_q) if shape.shared else (self.w_pos_k, self.w_pos_q)
        keys = self.split(to_k(vectors)[None])[0] if to_k is not None and shape.to_position else None  # [H, 2S, K]
        queries = self.split(to_q(vectors)[None])[0] if to_q is not None and shape.to_content else None
        return PositionTerms(shape, keys, queries)

    def distance_terms(self, distances: Tensor, ordered: bool) -> DistanceTerms:
        """The products with keys of these distances in this layer. distances, ordered: of `all_distances`."""
        return DistanceTerms(self.keys_of_distances(distances), ordered, self.content_bias, self.position_bias)

    def keys_of_distances(self, distances: Tensor) -> Tensor:
        """i - j [N] -> [H, N, K], or from a table [1, N, K] for all heads."""
        shape = self.config.distance_keys
        assert shape is not None, "only these have them"
        if self.distance_keys is not None:
            return self.distance_keys.weight[shape.row(distances)][None]
        assert self.w_pos_k is not None, "without a table there is a map"
        vectors = sines(distances, self.config.d_model).to(self.w_pos_k.weight.dtype)
        return self.split(self.w_pos_k(vectors)[None])[0]

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        layer = context.layer
        if self.w_bias_gate is not None:
            context = replace(context, bias_gate=self.hook_bias_gate(self.bias_gate(x, self.w_bias_gate), layer))
        q, k, v = self.qkv(x, context)
        q, k, v = self.hook_q(q, layer), self.hook_k(k, layer), self.hook_v(v, layer)
        dropout = self.config.attention_dropout if self.training else 0.0
        visitor, receiver = current_visitor(), overview.current_receiver()
        if visitor is not None and visitor.needs_scores(layer):  # of either attention
            z = self.explicit(q, k, v, context, dropout)
        elif receiver is not None and context.unmasked and overview.fits(q):
            # The same z. The receiver gets the overview of the weights, which this computes anyway.
            z, seen = overview.in_one_pass(q[0], k[0], v[0], context.scale)
            receiver(layer, seen)
            z = z.unsqueeze(0)
        else:
            z = context.fused(q, k, v, dropout)
        if self.w_gate is not None:
            z = z * self.hook_gate(self.gate(x, self.w_gate), layer)
        return self.joined(self.hook_z(z, layer))

    def joined(self, z: Tensor) -> Tensor:
        """z of all heads [B, H, T, K] -> the output [B, T, D]."""
        out: Tensor = self.w_o(z.transpose(1, 2).flatten(-2))
        return out

    def gate(self, x: Tensor, w_gate: nn.Linear) -> Tensor:
        """x [B, T, D] -> [B, H, T, 1], between 0 and 1: the factor of each token's z in each head."""
        return torch.sigmoid(w_gate(x)).transpose(1, 2).unsqueeze(-1)

    def bias_gate(self, x: Tensor, w_bias_gate: nn.Linear) -> Tensor:
        """x [B, T, D] -> [B, H, T, 1], the factor of each query's biases: 2 + a (c b - 1) (Chen et al. 2022, code).

        a and b are the logistic function of two sums of four outputs for the head's part of x; c is learned.
        """
        assert self.bias_gain is not None, "every gate has one"
        parts = x.view(*x.shape[:-1], self.config.n_heads, -1).transpose(1, 2)  # [B, H, T, D / H]
        a, b = torch.sigmoid(w_bias_gate(parts).unflatten(-1, (2, 4)).sum(-1)).chunk(2, dim=-1)
        return a * (b * self.bias_gain - 1.0) + 2.0

    def explicit(self, q: Tensor, k: Tensor, v: Tensor, context: AttentionContext, dropout: float) -> Tensor:
        """The same z [B, H, T, K], by way of scores that an edit can change, for the text's stream only."""
        scores = context.scores(q, k)
        if context.beside is not None and context.beside.v is not None:
            context.beside.z.append(attend.mix(context.pattern(scores), context.beside.v))
        pattern = context.pattern(self.hook_scores(scores, context.layer))
        pattern = self.hook_pattern(pattern, context.layer)  # [B, H, T, T]
        return attend.mix(F.dropout(pattern, dropout) if dropout else pattern, v)


class FeedForward(nn.Module):
    """act(x W_in + b) W_out + b, or with a gate (act(x W_in) * x W_gate) W_out (Shazeer 2020). D -> F -> D.

    With experts, a neuron's activation is also multiplied by the weight that the router gives its expert; b is added
    once, to their sum.
    """

    def __init__(self, config: EncoderConfig, name: str = "ffn") -> None:
        super().__init__()
        self.activation = config.activation
        entering = bool(config.ffn_in_bias)
        self.w_in = nn.Linear(config.d_model, config.d_ffn, bias=entering)
        self.w_gate = nn.Linear(config.d_model, config.d_ffn, bias=entering) if config.gated else None
        self.w_out = nn.Linear(config.d_ffn, config.d_model, bias=config.ffn_bias)
        self.experts = config.experts
        self.router = nn.Linear(config.d_model, config.experts.count, bias=False) if config.experts else None
        self.hook_hidden = HookPoint(f"{name}.hidden")

    def routes(self, x: Tensor) -> Tensor | None:
        """x [..., D] -> the weight of each expert, [..., E]; None without experts."""
        return None if self.router is None or self.experts is None else self.experts.weights(self.router(x))

    def by_neuron(self, routes: Tensor) -> Tensor:
        """[..., E] -> [..., F]: for each neuron the weight of its expert."""
        return routes.repeat_interleave(self.w_in.out_features // routes.shape[-1], dim=-1)

    def through_experts(self, x: Tensor, routes: Tensor, layer: int) -> Tensor:
        """The same as for a single layer of F neurons; each expert works on its own tokens only."""
        tokens, by_expert = x.flatten(0, -2), routes.flatten(0, -2).unbind(-1)  # [N, D], E of [N]
        width = self.w_in.out_features // len(by_expert)
        parts = []
        for expert, weights in enumerate(by_expert):
            rows, of = weights.nonzero()[:, 0], slice(expert * width, (expert + 1) * width)
            part = activate(F.linear(tokens[rows], self.w_in.weight[of]), self.activation)
            if self.w_gate is not None:
                part = part * F.linear(tokens[rows], self.w_gate.weight[of])
            parts.append((rows, of, part * weights[rows, None]))
        if current_visitor() is not None:
            hidden = x.new_zeros(len(tokens), self.w_in.out_features)
            for rows, of, part in parts:
                hidden[rows, of] = part
            whole = hidden.view(*x.shape[:-1], -1)
            if (edited := self.hook_hidden(whole, layer)) is not whole:  # also in experts that were not chosen
                moved: Tensor = self.w_out(edited)
                return moved
        out = torch.zeros_like(tokens)
        for rows, of, part in parts:
            out = out.index_add(0, rows, F.linear(part, self.w_out.weight[:, of]))
        return (out if self.w_out.bias is None else out + self.w_out.bias).view(x.shape)

    def forward(self, x: Tensor, layer: int) -> Tensor:
        if (routes := self.routes(x)) is not None:
            return self.through_experts(x, routes, layer)
        hidden = activate(self.w_in(x), self.activation)  # [B, T, F]
        if self.w_gate is not None:
            hidden = hidden * self.w_gate(x)
        out: Tensor = self.w_out(self.hook_hidden(hidden, layer))  # [B, T, D]
        return out


class Block(nn.Module):
    """One layer: attention, then feed-forward, each with a residual connection and a norm before or after it.

    With `output_norms` each has one more norm, on what it adds; in a parallel block both read the same residual stream.
    A decoder's block with memory_width has cross-attention between the two, and a block with an adapter ends with it.
    A Conformer's block has a feed-forward layer before attention, a convolution after it, and a norm at its end; one
    of them may begin with the letters that the layer before writes.
    """

    def __init__(self, config: EncoderConfig, has_attention_norm: bool = True, has_letters: bool = False) -> None:
        super().__init__()
        self.pre_norm = config.norm_placement == "pre"
        self.attention = Attention(config)
        self.attention_norm = LayerNorm(config.d_model, config, "attention_norm") if has_attention_norm else None
        self.cross, self.cross_norm = None, None
        if config.memory_width:
            self.cross = Attention(config.cross, cross=True)
            self.cross_norm = LayerNorm(config.d_model, config, "cross_norm")
        self.ffn = FeedForward(config)
        self.ffn_norm = LayerNorm(config.d_model, config, "ffn_norm")
        self.adapter, self.adapter_norm = None, None
        if config.adapter:
            narrow = config.replace(d_ffn=config.adapter, gated=False, experts=None, ffn_bias=True)
            self.adapter = FeedForward(narrow, "adapter")
            self.adapter_norm = LayerNorm(config.d_model, config, "adapter_norm")
        self.first_ffn, self.first_ffn_norm, self.letters = None, None, None
        self.convolution, self.convolution_norm, self.end_norm = None, None, None
        if config.conformer is not None:
            self.letters = Letters(config.conformer.letters, config.d_model) if has_letters else None
            self.first_ffn = FeedForward(config, "first_ffn")
            self.convolution = ConvolutionModule(config.conformer, config.d_model, config.activation, config.norm_eps)
            self.first_ffn_norm, self.convolution_norm, self.end_norm = (
                LayerNorm(config.d_model, config, name) for name in ("first_ffn_norm", "convolution_norm", "end_norm")
            )
        self.parallel = config.parallel
        self.attention_out_norm, self.ffn_out_norm = (
            LayerNorm(config.d_model, config, name) if config.output_norms else None
            for name in ("attention_out_norm", "ffn_out_norm")
        )
        self.dropout = nn.Dropout(config.dropout)
        self.hook_attention_out, self.hook_ffn_out = HookPoint("attention_out"), HookPoint("ffn_out")
        self.hook_after_attention, self.hook_after_ffn = HookPoint("after_attention"), HookPoint("after_ffn")
        self.hook_cross_out, self.hook_after_cross = HookPoint("cross_out"), HookPoint("after_cross")
        self.hook_first_ffn_out, self.hook_after_first_ffn = HookPoint("first_ffn_out"), HookPoint("after_first_ffn")
        self.hook_convolution_out = HookPoint("convolution_out")
        self.hook_after_convolution = HookPoint("after_convolution")
        self.hook_adapter_out, self.hook_after_adapter = HookPoint("adapter_out"), HookPoint("after_adapter")
        self.hook_entering = HookPoint("entering")
        self.width = config.d_model
        self.beside = BesideBlock(config.beside, has_attention_norm) if config.beside else None

    def forward(self, x: Tensor, context: AttentionContext) -> Tensor:
        """x [B, T, D] -> [B, T, D]; with a stream of boxes after it, [B, T, D + D']."""
        if self.beside is None:
            return self.stream(x, context)
        text, boxes = x[..., : self.width], x[..., self.width :]
        given = self.beside.given(boxes, context)
        text = self.stream(text, replace(context, beside=given))
        return torch.cat((text, self.beside(boxes, given.z.pop(), context.layer)), dim=-1)

    def stream(self, x: Tensor, context: AttentionContext) -> Tensor:
        """The residual stream of the text or of the only input, [B, T, D] -> [B, T, D]."""
        layer = context.layer
        if context.added is not None:
            x = self.hook_entering(x + context.added, layer)
        if self.letters is not None:
            x = self.hook_entering(x + self.letters(x), layer)
        if self.first_ffn is not None:
            added = self.dropout(self.first_ffn(self.before(x, self.first_ffn_norm, layer), layer))
            x = x + self.hook_first_ffn_out(added, layer)
            x = self.hook_after_first_ffn(self.after(x, self.first_ffn_norm, layer), layer)
        entering = x if self.parallel else None
        # A sublayer's output gets no variable: one would keep attention's in memory while the FFN runs.
        x = x + self.hook_attention_out(
            self.added(self.attention(self.before(x, self.attention_norm, layer), context), self.attention_out_norm),
            layer,
        )
        x = self.hook_after_attention(self.after(x, self.attention_norm, layer), layer)
        if self.cross is not None and context.cross is not None:
            read = self.cross(self.before(x, self.cross_norm, layer), context.cross)
            x = x + self.hook_cross_out(self.dropout(read), layer)
            x = self.hook_after_cross(self.after(x, self.cross_norm, layer), layer)
        if self.convolution is not None:
            added = self.convolution(self.before(x, self.convolution_norm, layer), layer, context.key_mask)
            x = x + self.hook_convolution_out(self.dropout(added), layer)
            x = self.hook_after_convolution(self.after(x, self.convolution_norm, layer), layer)
        to_ffn = self.before(x if entering is None else entering, self.ffn_norm, layer)
        x = x + self.hook_ffn_out(self.added(self.ffn(to_ffn, layer), self.ffn_out_norm), layer)
        x = self.after(x, self.ffn_norm, layer)
        out: Tensor = self.hook_after_ffn(x if self.end_norm is None else self.end_norm(x, layer), layer)
        if self.adapter is None:
            return out
        added = self.dropout(self.adapter(self.before(out, self.adapter_norm, layer), layer))
        out = out + self.hook_adapter_out(added, layer)
        adapted: Tensor = self.hook_after_adapter(self.after(out, self.adapter_norm, layer), layer)
        return adapted

    def norm_of(self, part: Sublayer | Literal["end"]) -> LayerNorm | None:
        """The norm before or after a sublayer, or at the end of the layer."""
        norm: LayerNorm | None = getattr(self, f"{part}_norm")
        return norm

    def added(self, x: Tensor, norm: LayerNorm | None) -> Tensor:
        """What a sublayer adds: its output, normalised where there is a norm for it."""
        out: Tensor = self.dropout(x if norm is None else norm(x))
        return out

    def before(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """A sublayer's input: the normalised residual stream in pre-norm, the residual stream itself in post-norm."""
        return norm(x, layer) if self.pre_norm and norm is not None else x

    def after(self, x: Tensor, norm: LayerNorm | None, layer: int) -> Tensor:
        """A sublayer's result: the sum itself in pre-norm, the normalised sum in post-norm."""
        return x if self.pre_norm or norm is None else norm(x, layer)


class BesideBlock(nn.Module):
    """A layer of the stream of boxes. It uses the attention weights of the text's layer, and gives it scores to add.

    What is recorded and edited of a layer is the text's stream: of this one, a visitor receives q, k and the result.
    """

    def __init__(self, config: EncoderConfig, has_attention_norm: bool) -> None:
        super().__init__()
        self.block = Block(config, has_attention_norm)
        self.hook_q, self.hook_k, self.hook_out = (HookPoint(f"beside.{name}") for name in ("q", "k", "out"))

    def given(self, y: Tensor, context: AttentionContext) -> Beside:
        """The stream y [B, T, D'] -> what the attention of this layer needs of it."""
        block, layer = self.block, context.layer
        with visiting(None):
            q, k, v = block.attention.qkv(block.before(y, block.attention_norm, layer), context)
        return Beside(self.hook_q(q, layer), self.hook_k(k, layer), v, block.attention.config.score_scale)

    def forward(self, y: Tensor, z: Tensor, layer: int) -> Tensor:
        """The stream y [B, T, D'] and the z of its heads [B, H, T, K'] -> [B, T, D']."""
        block = self.block
        with visiting(None):
            y = block.after(y + block.dropout(block.attention.joined(z)), block.attention_norm, layer)
            added = block.dropout(block.ffn(block.before(y, block.ffn_norm, layer), layer))
            y = block.after(y + added, block.ffn_norm, layer)
        out: Tensor = self.hook_out(y, layer)
        return out
