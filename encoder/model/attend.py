"""Attention of one layer: scores, pattern, mix; AttentionContext holds the mask, bias, scale and rotation of a run.

The model, the trace, the corpus, edited variants and derivatives all use the context: a mechanism that changes scores
or weights is written here only.

Shapes: B batch, H heads, T tokens (queries i, keys j), K width of a head. Leading axes (...) may be any.
Formula: Vaswani et al. 2017, equation 1: softmax(q k^T / sqrt(K)) v.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.model.biases import alibi, alibi_slopes, biases, grid_rows, relative_bias
from encoder.model.boxes import Beside, BoxBias, BoxTables
from encoder.model.config import EncoderConfig
from encoder.model.distances import DistanceTerms, ScoreTerms
from encoder.model.rotary import angles_of_table, grid_angles, rotary_angles, rotate, tubelet_angles

#: Up to this many tokens, masks and biases are computed for all pairs; above, for MASK_ROWS queries at a time.
WHOLE_MASK = 1024
MASK_ROWS = 256

Rotation = tuple[Tensor, Tensor]
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class AttentionContext:
    """What the attention of one layer needs in one run, besides q, k and v."""

    # Which keys a query attends to
    #: The layer, counted from 0.
    layer: int
    #: Factor of q . k.
    scale: float
    #: Whether token i attends only to j <= i.
    causal: bool
    #: The largest |i - j| that attends, or None.
    window: int | None
    #: [T]: the order of the tokens.
    positions: Tensor
    #: [T]: the positions whose encodings the tokens have, the same unless an edit changes them.
    encoded: Tensor
    #: [B, T] or [T]: True for a real token; None: no padding. With a memory, [B, S] of its tokens.
    key_mask: Tensor | None

    # What is added to the scores
    #: [buckets, H]: the learned bias by distance, or None.
    bias_table: Tensor | None
    #: Where its last bucket begins.
    max_distance: int
    #: Whether all buckets are of earlier tokens.
    one_sided: bool
    #: Patches side by side where the bias is one of rows and columns, else 0.
    grid: int
    #: [H]: ALiBi's, or None.
    slopes: Tensor | None
    #: Products with vectors of distances, or None.
    terms: ScoreTerms | None
    #: The largest size of a score before mask and bias, or None.
    cap: float | None
    #: [H]: learned scores without a key, or None.
    sinks: Tensor | None

    # The rotation of q and k
    #: (cos, sin), [T, R] each, or None.
    rotation: Rotation | None
    #: Whether neighbours rotate together.
    interleaved: bool
    #: (window, table, dtype) -> the result of `additive` for all pairs, shared by the layers of the run.
    _masks: dict[tuple[int | None, int, torch.dtype], Tensor | None]

    # Other tokens, and what a layer adds
    #: Tokens of a block, whose tokens attend to each other only; 0: there are no blocks.
    block: int = 0
    #: Keys and values of the tokens before, or None.
    cache: Cache | None = None
    #: [B, S, D]: the vectors of another input that keys and values are made of, or None.
    memory: Tensor | None = None
    #: The context of the layer's cross-attention, or None.
    cross: AttentionContext | None = None
    #: [B, H, T, 1] or [H, T, 1]: the factor of each query's biases, or None.
    bias_gate: Tensor | None = None
    #: [T, D]: positions that the layer adds to its input, or None.
    added: Tensor | None = None
    #: The bias by where the words are on the page, or None.
    boxes: BoxBias | None = None
    #: The stream of boxes, whose scores are added to those of the text, or None.
    beside: Beside | None = None

    # --- what depends on the tokens only ------------------------------------------------------------------------------

    @property
    def by_pair(self) -> bool:
        """Whether mask and bias depend on the query too, and not only on the key."""
        return self.causal or self.window is not None or self.block > 0 or self.biased

    @property
    def biased(self) -> bool:
        """Whether a number for each pair of positions is added to the scores."""
        tables = (self.bias_table, self.slopes, self.boxes, self.beside)
        return any(one is not None for one in tables)

    @property
    def unmasked(self) -> bool:
        """Whether the scores are q . k x scale, without mask, bias, cap and other terms."""
        return self.key_mask is None and not self.by_pair and self.terms is None and not self.explicit

    @property
    def explicit(self) -> bool:
        """Whether the weights are more than the softmax of a sum, so that torch's kernel cannot compute them."""
        return self.cap is not None or self.sinks is not None

    def same_scores(self, other: AttentionContext) -> bool:
        """Whether another layer of this run has the same scores for the same q and k."""
        same = self.bias_table is other.bias_table and self.terms is other.terms and self.sinks is other.sinks
        same = same and self.window == other.window and self.bias_gate is other.bias_gate
        return same and self.beside is other.beside

    def bias(self, rows: slice = EVERY, keys: slice = EVERY, heads: slice = EVERY) -> Tensor | None:
        """[h, Ti, Tj], with a gate or boxes [B, h, Ti, Tj], added to the scores, or None."""
        found = self._bias_by_order(rows, keys, heads)
        for page in (self.boxes, self.beside):
            if page is not None:
                of_page = page.of(rows, keys, heads)
                found = of_page if found is None else found + of_page
        return found

    def _bias_by_order(self, rows: slice, keys: slice, heads: slice) -> Tensor | None:
        """`bias` for the order of the tokens."""
        queries, others = self.encoded[rows], self.encoded[keys]
        if self.slopes is not None:
            return alibi(self.slopes[heads], queries, others)
        if self.bias_table is None:
            return None
        if self.grid:
            return biases(self.bias_table[:, heads], grid_rows(queries, others, self.grid))
        found = relative_bias(self.bias_table[:, heads], queries, others, self.max_distance, self.one_sided)
        return found if self.bias_gate is None else found * self.bias_gate[..., heads, rows, :]

    def allowed(self, rows: slice = EVERY, keys: slice = EVERY) -> Tensor | None:
        """Which key each query may attend to: bool [Ti, Tj], [1, 1, Tj], [B, 1, Ti, Tj] ...: it broadcasts to scores.

        None where every query may attend to every key.
        """
        seen = None if self.key_mask is None else self.key_mask[..., None, None, keys]  # [B, 1, 1, Tj] or [1, 1, Tj]
        if self.causal or self.window is not None:
            distance = self.positions[rows].unsqueeze(-1) - self.positions[keys].unsqueeze(-2)  # [Ti, Tj], i - j
            near = torch.ones_like(distance, dtype=torch.bool)
            if self.causal:
                near &= distance >= 0
            if self.window is not None:
                near &= distance.abs() <= self.window
            seen = near if seen is None else seen & near
        if self.block:
            places = self.positions // self.block
            together = places[rows].unsqueeze(-1) == places[keys].unsqueeze(-2)
            seen = together if seen is None else seen & together
        return seen

    def visible_keys(self, rows: slice) -> slice:
        """The keys that these query rows can attend to: those in the window and, if causal, not after the query.

        In a padded batch all keys: a query without any allowed key is uniform over all, as in `scores`.
        """
        n_tokens = len(self.positions)
        if self.key_mask is not None:
            return slice(0, n_tokens)
        if self.block:
            starts, stops = rows.start // self.block, -(-rows.stop // self.block)
            return slice(starts * self.block, min(n_tokens, stops * self.block))
        first = 0 if self.window is None else max(0, rows.start - self.window)
        last = n_tokens if self.window is None else min(n_tokens, rows.stop + self.window)
        return slice(first, min(last, rows.stop) if self.causal else last)

    def additive(self, dtype: torch.dtype, rows: slice = EVERY, keys: slice = EVERY) -> Tensor | None:
        """Bias and mask to add to the scores, [B or 1, H or 1, Ti or 1, Tj]; masked is the lowest number; or None."""
        allowed, bias = self.allowed(rows, keys), self.bias(rows, keys)
        if allowed is None:
            return None if bias is None else (bias if bias.dim() == 4 else bias.unsqueeze(0)).to(dtype)
        allowed = allowed.view((1,) * (4 - allowed.dim()) + allowed.shape)
        base = torch.zeros((), dtype=dtype, device=allowed.device) if bias is None else bias.to(dtype)
        return torch.where(allowed, base, torch.finfo(dtype).min)

    # --- with q, k and v ----------------------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the first token of this run: the number of tokens in the cache."""
        return 0 if self.cache is None or self.memory is not None else self.cache.n_tokens

    def rotated(self, x: Tensor) -> Tensor:
        """Queries or keys [..., T, K], rotated by their positions where these are rotary."""
        if self.rotation is None:
            return x
        cos, sin = (part[self.first :] for part in self.rotation)
        return rotate(x, cos, sin, self.interleaved)

    def scores(
        self, q: Tensor, k: Tensor, rows: slice = EVERY, heads: slice = EVERY, out: Tensor | None = None
    ) -> Tensor:
        """q [..., h, Ti, K], the queries `rows`, and k [..., h, T, K], both rotated -> [..., h, Ti, T].

        `products` + bias. A masked key has the lowest finite number, not -inf: a row without any allowed key (a
        padding token that sees only padding) then becomes uniform, as in the fused kernel, and not NaN. out: memory to
        write to.
        """
        out = self.products(q, k, rows, heads, out)
        if (bias := self.bias(rows, heads=heads)) is not None:
            out += bias
        if (allowed := self.allowed(rows)) is not None:
            out.masked_fill_(~allowed, torch.finfo(out.dtype).min)
        return out

    def products(
        self, q: Tensor, k: Tensor, rows: slice = EVERY, heads: slice = EVERY, out: Tensor | None = None
    ) -> Tensor:
        """q_i . k_j x scale, with the terms of distances and the cap where the model has them: [..., h, Ti, T]."""
        out = scores(q, k, self.scale, out)
        if self.terms is not None:
            out = out.add_(self.terms.of(q, k, self.encoded, rows, heads), alpha=self.scale)
        if self.cap is None:
            return out
        if out.requires_grad:
            return torch.tanh(out / self.cap) * self.cap  # Bello et al. 2017
        return out.div_(self.cap).tanh_().mul_(self.cap)

    def float32_scores(
        self, q: Tensor, k: Tensor, rows: slice = EVERY, heads: slice = EVERY, out: Tensor | None = None
    ) -> Tensor:
        """The same in float32, whatever the type of q and k. Autocast around it changes nothing."""
        with torch.autocast(q.device.type, enabled=False):
            return self.scores(q.float(), k.float(), rows, heads, out)

    def pattern(self, scores: Tensor, out: Tensor | None = None, heads: slice = EVERY) -> Tensor:
        """The attention [..., h, Ti, T] of scores of this shape. Every row sums to 1, with a learned sink to less.

        out: memory to write to.
        """
        return pattern(scores, out) if self.sinks is None else pattern_with_sinks(scores, self.sinks[heads], out)

    def with_beside(self, q: Tensor, k: Tensor, scale: float) -> AttentionContext:
        """The same context with the scores of a stream of boxes, from its q and k."""
        return replace(self, beside=Beside(q, k, None, scale))

    def fused(self, q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0) -> Tensor:
        """q, k, v [B, H, T, K] -> z [B, H, T, K] by torch's kernel. Its memory grows with T, not with T^2.

        With a stream of boxes, whose q and k are put next to these, one kernel gives the z of both.
        """
        if (boxes := self.beside) is not None and boxes.v is not None:
            width = v.shape[-1]
            q = torch.cat((q, boxes.q * (boxes.scale / self.scale)), dim=-1)
            k, v = torch.cat((k, boxes.k), dim=-1), torch.cat((v, boxes.v), dim=-1)
            z = replace(self, beside=None).fused(q, k, v, dropout)
            boxes.z.append(z[..., width:])
            return z[..., :width]

        def kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, scale=self.scale)

        n_tokens, first = q.shape[-2], self.first
        if 0 < self.block < n_tokens and isinstance(self.terms, DistanceTerms) and self.terms.ordered:
            starts = range(0, n_tokens, self.block)
            return torch.cat([self._of_block(q, k, v, slice(start, start + self.block)) for start in starts], dim=-2)
        step = n_tokens if n_tokens <= WHOLE_MASK else MASK_ROWS
        chunks = (slice(start, min(start + step, n_tokens)) for start in range(0, n_tokens, step))
        if self.terms is not None and not self.explicit:
            parts = [kernel(q[..., rows, :], k, v, self._with_terms(q[..., rows, :], k, rows)) for rows in chunks]
            return torch.cat(parts, dim=-2)
        if self.explicit:
            weights = (
                self.pattern(self.scores(q[..., rows, :], k, slice(first + rows.start, first + rows.stop)))
                for rows in chunks
            )
            return torch.cat([mix(F.dropout(part, dropout) if dropout else part, v) for part in weights], dim=-2)
        if first:  # the queries are the last rows
            return kernel(q, k, v, self.additive(q.dtype, slice(first, None)))
        if self.causal and self.window is None and self.key_mask is None and not self.biased and self.scale > 0:
            return kernel(q, k, v, is_causal=True)  # with another scale it makes NaN
        if not self.by_pair or n_tokens <= WHOLE_MASK:
            return kernel(q, k, v, self._whole_mask(q.dtype))
        parts = []
        for start in range(0, n_tokens, MASK_ROWS):
            rows = slice(start, min(start + MASK_ROWS, n_tokens))
            keys = self.visible_keys(rows)
            mask = self.additive(q.dtype, rows, keys)
            parts.append(kernel(q[..., rows, :], k[..., keys, :], v[..., keys, :], mask))
        return torch.cat(parts, dim=-2)

    def _of_block(self, q: Tensor, k: Tensor, v: Tensor, rows: slice) -> Tensor:
        """`fused` of one block by itself: positions count from its start, since only their distances matter."""
        assert isinstance(self.terms, DistanceTerms)
        q, k, v = (one[..., rows, :] for one in (q, k, v))
        positions, mask = self.positions[: q.shape[-2]], self.key_mask
        return replace(
            self,
            block=0,
            positions=positions,
            encoded=positions,
            key_mask=None if mask is None else mask[..., rows],
            terms=self.terms.within(len(positions)),
            _masks={},
        ).fused(q, k, v)

    def _with_terms(self, q: Tensor, k: Tensor, rows: slice) -> Tensor:
        """`additive` with the terms of distances of the queries q [B, H, Ti, K], the `rows`: [B, H, Ti, T]."""
        assert self.terms is not None
        found, added = self.terms.of(q, k, self.encoded, rows, EVERY) * self.scale, self.additive(q.dtype, rows)
        return found if added is None else found + added

    def _whole_mask(self, dtype: torch.dtype) -> Tensor | None:
        """`additive` for all pairs, computed once for all layers with this window and without a gate."""
        if self.bias_gate is not None:
            return self.additive(dtype)
        key = (self.window, id(self.bias_table), dtype)
        if key not in self._masks:
            self._masks[key] = self.additive(dtype)
        return self._masks[key]


@dataclass(frozen=True, eq=False)
class Memory:
    """What a decoder reads of another input: vectors [B or 1, S, D]; mask [B or 1, S], False for padding, or None."""

    vectors: Tensor
    mask: Tensor | None = None


class Cache:
    """Keys and values [B, H, T, K] of the tokens that have run, and of the memory, by layer. Each run adds its own."""

    def __init__(self) -> None:
        self.n_tokens = 0
        self.own: dict[int, tuple[Tensor, Tensor]] = {}
        self.of_memory: dict[int, tuple[Tensor, Tensor]] = {}

    def extended(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The layer's keys and values with these after them."""
        if layer in self.own:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(self.own[layer], (k, v), strict=True))
        self.own[layer] = k, v
        return k, v

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        self.own = {layer: (k[rows], v[rows]) for layer, (k, v) in self.own.items()}
        self.of_memory = {layer: (k[: len(rows)], v[: len(rows)]) for layer, (k, v) in self.of_memory.items()}


@dataclass(frozen=True, eq=False)
class LearnedScores:
    """What the weights add in one layer, to the scores and, positions [T, D], to the residual stream before them.

    bias_table [buckets, H]; terms: products with vectors of distances; sinks [H]; boxes: tables by where words are on
    the page.
    """

    bias_table: Tensor | None = None
    terms: ScoreTerms | None = None
    sinks: Tensor | None = None
    positions: Tensor | None = None
    boxes: BoxTables | None = None

    def in_float32(self) -> LearnedScores:
        """The same tables and sinks in float32, without gradients; terms take the type of q and k."""
        table, sinks = (None if one is None else one.detach().float() for one in (self.bias_table, self.sinks))
        terms = self.terms.detached() if isinstance(self.terms, DistanceTerms) else self.terms
        boxes = None if self.boxes is None else self.boxes.in_float32()
        return LearnedScores(table, terms, sinks, boxes=boxes)


def contexts(
    config: EncoderConfig,
    encoded: Tensor,
    key_mask: Tensor | None,
    learned: Sequence[LearnedScores],
    rotation: Callable[[int, Tensor], Rotation] | None = None,
    cache: Cache | None = None,
    memory: Memory | None = None,
    places: Tensor | None = None,
) -> tuple[AttentionContext, ...]:
    """The context of each layer of one run. rotation: of a layer's q and k at some positions, None where they have it;
    memory: what a decoder reads; places: of the tokens on their page, [T, P] or [B, T, P]."""
    cross: Sequence[AttentionContext | None] = [None] * config.n_layers
    if memory is not None and config.memory_width:
        plain = contexts(config.cross, encoded, memory.mask, [LearnedScores()] * config.n_layers)
        cross = [replace(one, cache=cache, memory=memory.vectors) for one in plain]
    positions = torch.arange(len(encoded), device=encoded.device)
    rotations: dict[object, Rotation] = {}
    if rotation is not None and config.position == "rotary":
        rotations = {config.rotary_of_layer(layer): rotation(layer, encoded) for layer in config.first_layers()}
    masks: dict[tuple[int | None, int, torch.dtype], Tensor | None] = {}
    slopes = alibi_slopes(config.n_heads).to(encoded.device) if config.position == "alibi" else None
    return tuple(
        AttentionContext(
            layer=layer,
            scale=config.score_scale,
            causal=config.causal,
            window=config.window_of_layer(layer),
            block=config.attention_block,
            positions=positions,
            encoded=encoded,
            key_mask=key_mask,
            bias_table=learned[layer].bias_table,
            max_distance=config.relative_max_distance,
            one_sided=config.relative_one_sided,
            grid=config.patches.side if config.relative_grid and config.patches is not None else 0,
            slopes=slopes,
            terms=learned[layer].terms,
            cap=config.score_cap,
            sinks=learned[layer].sinks,
            rotation=rotations.get(config.rotary_of_layer(layer)),
            interleaved=config.rotary_interleaved,
            _masks=masks,
            cache=cache,
            cross=cross[layer],
            added=learned[layer].positions,
            boxes=BoxBias.of_run(learned[layer].boxes, places),
        )
        for layer in range(config.n_layers)
    )


def token_positions(config: EncoderConfig, n_tokens: int, device: torch.device) -> Tensor:
    """[T]: 0, 1, 2, ...; those of a page's image begin again at 0."""
    found = torch.arange(n_tokens, device=device)
    n_words = n_tokens - config.n_page_tokens
    return torch.where(found < n_words, found, found - n_words) if config.n_page_tokens else found


def rotation(config: EncoderConfig, layer: int, positions: Tensor, table: Tensor | None = None) -> Rotation:
    """cos, sin [T, R] of the angles by which a layer rotates q and k at these positions. table [N, R]: of the weights,
    where they have one."""
    if table is not None:
        return angles_of_table(table[positions])
    base, scaling = config.rotary_of_layer(layer)
    if config.rotary_grid and config.patches is not None:
        if config.patches.frames:
            return tubelet_angles(positions, config.rotary_width, base, config.patches.side)
        special = config.patches.n_tokens - config.patches.count
        return grid_angles(positions, config.d_head, base, config.patches.side, special)
    return rotary_angles(config.rotary_sign * positions, config.rotary_width, base, scaling)


def scores(q: Tensor, k: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
    """q [..., Ti, K], k [..., Tj, K] -> [..., Ti, Tj]: q_i . k_j x scale. out: memory to write to."""
    # Scaling q costs T x K products; scaling the scores would cost T x T.
    return torch.matmul(q * scale, k.transpose(-1, -2), out=out)


def pattern(scores: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax over keys: [..., Ti, Tj] -> [..., Ti, Tj], every row sums to 1. out: memory to write to."""
    return torch.softmax(scores, dim=-1, out=out)


def pattern_with_sinks(scores: Tensor, sinks: Tensor, out: Tensor | None = None) -> Tensor:
    """scores [..., h, Ti, Tj], sinks [h] -> [..., h, Ti, Tj]: e^s / (sum of e^s over the keys + e^sink)."""
    sink = sinks.to(scores.dtype).view(-1, 1, 1)
    total = torch.logaddexp(scores.logsumexp(dim=-1, keepdim=True), sink)
    return torch.exp(torch.sub(scores, total, out=out), out=out)


#: Powers of 2 from -100 to 100 are exact to float32's last digits, and 2^27 of them have a finite sum.
BASE_2_MOST = 100.0
LOG2_E = math.log2(math.e)


def fits_base_2(q: Tensor, k: Tensor, scale: float) -> bool:
    """Whether `pattern_base_2` can take all scores of q and k [T, K]: |q_i . k_j| <= |q_i| |k_j|. False for NaN."""
    longest = [x.norm(dim=-1).amax() for x in (q, k)]
    return bool(longest[0] * longest[1] * abs(scale) * LOG2_E < BASE_2_MOST)


def pattern_base_2(scores: Tensor) -> Tensor:
    """`pattern` of scores x LOG2_E, in their memory, in two thirds of the time: 2^s is quicker, and needs no maximum.

    Only for scores that `fits_base_2`.
    """
    weights = scores.exp2_()
    return weights.mul_(weights.sum(dim=-1, keepdim=True).reciprocal_())


def mix(pattern: Tensor, v: Tensor) -> Tensor:
    """pattern [..., Ti, Tj], v [..., Tj, K] -> z [..., Ti, K]: the weighted sum of the values."""
    return pattern @ v
