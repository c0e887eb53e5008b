"""Trace: what one sentence did inside the encoder; what was captured, and what is derived from it.

A Trace keeps what is linear in T (q, k, v, the residual stream, the inputs of the norms). Attention maps are computed
again from q and k on demand, by the functions of `attend` that the model itself uses, head by head, window by window.
It is an immutable value: nothing here writes to a captured tensor, and neither should you.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import torch
from torch import Tensor

from encoder import attend
from encoder.config import EncoderConfig
from encoder.edits import AblateHead, Edit, ScoreEdit, check_edits
from encoder.errors import EncoderError
from encoder.layers import LayerNorm, layer_norm
from encoder.model import Encoder
from encoder.text import Tokenized

#: Attention is computed for as many query rows at a time as fit into about this many numbers: more is slower on a CPU,
#: not faster, as it no longer stays in the cache. But MIN_ROWS at least, without which matrix products are slow.
CHUNK_NUMBERS = 1_000_000
MIN_ROWS = 16
FEW_ROWS = 64
#: So many tokens stand in the short form of a trace.
SHOWN_LABELS = 12


@dataclass(frozen=True, repr=False)
class NormTrace:
    """One LayerNorm at work on one sentence. input [T, D]; gain [D]; bias [D] or None."""

    name: str
    input: Tensor
    gain: Tensor
    bias: Tensor | None
    eps: float

    def __repr__(self) -> str:
        return f"<NormTrace {self.name}: {len(self.input):,} tokens x {self.gain.numel()}, eps {self.eps:g}>"

    @property
    def mean(self) -> Tensor:
        """[T]: mean of each token's vector before the norm."""
        return self.input.mean(dim=-1)

    @property
    def std(self) -> Tensor:
        """[T]: population standard deviation of each token's vector before the norm, without eps."""
        return self.input.std(dim=-1, correction=0)

    @property
    def normalised(self) -> Tensor:
        """[T, D]: (x - mean) / sqrt(var + eps), before gain and bias."""
        return layer_norm(self.input, torch.ones_like(self.gain), None, self.eps)

    @property
    def output(self) -> Tensor:
        """[T, D]: what the norm hands on."""
        return layer_norm(self.input, self.gain, self.bias, self.eps)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One sentence through the encoder. Made by `TextEncoder.trace`, never by hand.

    tokens [T]: padding included; labels [T]: the same as shown to a person; mask [T]: True for a real token;
    values: hook point -> tensor of this sentence; edits: what was changed in the forward pass; source: words, offsets;
    n_left_out: tokens of padding that the forward pass had behind these (`unpadded`).
    """

    encoder: Encoder
    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[int, ...]
    mask: Tensor
    values: Mapping[str, Tensor]
    source: Tokenized | None = None
    edits: tuple[Edit, ...] = ()
    n_left_out: int = 0

    def __repr__(self) -> str:
        config = self.config
        shown = " ".join(self.labels[:SHOWN_LABELS]) + (" …" if self.n_tokens > SHOWN_LABELS else "")
        edited = f", {len(self.edits)} edits" if self.edits else ""
        return (
            f"<Trace of {self.n_tokens:,} tokens on {self.mask.device}: {config.n_layers} layers x "
            f"{config.n_heads} heads, width {config.d_model}{edited}: {shown}>"
        )

    # --- what was captured -------------------------------------------------------------------------------------------

    @property
    def config(self) -> EncoderConfig:
        """The architecture that ran."""
        return self.encoder.config

    @property
    def n_tokens(self) -> int:
        """T, padding included."""
        return len(self.tokens)

    @cached_property
    def n_real(self) -> int:
        """Tokens that are not padding; they come first."""
        return int(self.mask.sum())

    @cached_property
    def finite(self) -> bool:
        """Whether every number of the output is finite: broken weights, or ones that diverged, give NaN."""
        return bool(self.output.isfinite().all())

    @cached_property
    def unpadded(self) -> Trace:
        """The same run without padding's rows and columns: what this text did in its batch. Nothing is copied.

        Attention is the same without them, as masked scores take no weight. `scores` that were asked for are cut to
        [H, n_real, n_real]. Raises EncoderError for an edit of padding.
        """
        n_real = self.n_real
        if n_real == self.n_tokens:
            return self
        check_edits(self.edits, self.config.n_layers, self.config.n_heads, n_real)
        scores = {f"layers.{layer}.scores" for layer in range(self.config.n_layers)}
        values = {
            name: value[..., :n_real, : n_real if name in scores else None] for name, value in self.values.items()
        }
        cut = {name: getattr(self, name)[:n_real] for name in ("tokens", "labels", "ids", "mask")}
        return replace(self, **cut, values=MappingProxyType(values), n_left_out=self.n_tokens - n_real)

    @property
    def q(self) -> Tensor:
        """[L, H, T, K]: queries as the scores use them, turned where positions are rotary. Stacked on each call."""
        return self._stack("q")

    @property
    def k(self) -> Tensor:
        """[L, H, T, K]: keys, like q."""
        return self._stack("k")

    @property
    def v(self) -> Tensor:
        """[L, H, T, K]: values."""
        return self._stack("v")

    def layer_qkv(self, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """q, k, v of one layer without a copy, each [H, T, K]."""
        self._check(layer)
        q, k, v = (self.values[f"layers.{layer}.{name}"] for name in "qkv")
        return q, k, v

    @property
    def position(self) -> Tensor | None:
        """[T, D] ([T, E] where the tables are narrower): what was added for the position; None for rotary or none."""
        return self.values.get("embedding.position")

    @property
    def residual(self) -> Mapping[str, Tensor]:
        """The residual stream in order: "embedding", "layers.0.after_attention", ...: [T, D] each."""
        names = ["embedding"]
        for layer in range(self.config.n_layers):
            names += [f"layers.{layer}.after_attention", f"layers.{layer}.after_ffn"]
        return MappingProxyType({name: self.values[name] for name in names})

    @property
    def norms(self) -> Mapping[str, NormTrace]:
        """Every LayerNorm in the order in which they act: "embedding_norm", "layers.0.attention_norm", ..."""
        return MappingProxyType({name: self._norm(name, module) for name, module in self._norm_modules()})

    @property
    def output(self) -> Tensor:
        """[T, D]: the last layer's output, after the final norm where there is one."""
        return self.values["output"]

    # --- what is derived from it -------------------------------------------------------------------------------------

    def scores(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """[T, T]: q_i . k_j x scale + bias, masked keys at the lowest number; or the window queries x keys of it.

        float32 whatever the model's type. Raises EncoderError for a layer or head that the model does not have.
        """
        self._check(layer, head)
        scores = self._layer_scores(layer, queries or slice(None), slice(head, head + 1))[0]  # [Ti, T]
        return scores if keys is None else scores[:, keys]

    def attention(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """[T, T]: softmax of the scores, rows sum to 1; or the window queries x keys of it (of whole rows)."""
        pattern = attend.pattern(self.scores(layer, head, queries))
        return pattern if keys is None else pattern[:, keys]

    def layer_scores(self, layer: int, queries: slice | None = None) -> Tensor:
        """[H, Ti, T]: scores of all heads of a layer, for the query rows asked for (all by default)."""
        self._check(layer)
        return self._layer_scores(layer, queries or slice(None), slice(None))

    def layer_attention(self, layer: int, queries: slice | None = None) -> Tensor:
        """[H, Ti, T]: attention of all heads of a layer, for the query rows asked for (all by default)."""
        return attend.pattern(self.layer_scores(layer, queries))

    def attention_chunks(
        self, layer: int, heads: slice | None = None, queries: slice | None = None
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Walk through a layer's attention in bounded memory: (query rows, scores, attention), both [h, rows, T].

        The two tensors may be written to, and are good until the next chunk, which takes their memory: clone what you
        keep.
        """
        for _, rows, scores, pattern in self.iter_attention((layer,), heads, queries):
            yield rows, scores, pattern

    def iter_attention(
        self, layers: Sequence[int], heads: slice | None = None, queries: slice | None = None, block: int = 1
    ) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
        """`attention_chunks` of one layer after the other: (layer, query rows, scores, attention).

        block: a chunk holds whole blocks of so many rows, counted from the first row wanted, or lies within one block.
        """
        for layer in layers:
            self._check(layer)
        heads = heads or slice(None)
        n_heads = len(range(self.config.n_heads)[heads])
        chunks = self._row_chunks(max(1, n_heads), range(self.n_tokens)[queries or slice(None)], block)
        most = max((rows.stop - rows.start for rows in chunks), default=0)
        # One piece of memory for all chunks: fetching it anew from the system each time takes as long as the softmax.
        room = torch.empty(2, n_heads * most * self.n_tokens, device=self.mask.device)
        for layer in layers:
            k = self.layer_qkv(layer)[1][heads].float().contiguous()
            if most < FEW_ROWS:
                # As the rows of a matrix: products with few queries are faster by a third, and pay for the copy.
                k = k.transpose(-1, -2).contiguous().transpose(-1, -2)
            for rows in chunks:
                shape = (n_heads, rows.stop - rows.start, self.n_tokens)
                buffers = [one[: math.prod(shape)].view(shape) for one in room]
                scores = self._layer_scores(layer, rows, heads, k, buffers[0])
                yield layer, rows, scores, attend.pattern(scores, buffers[1])

    def _row_chunks(self, n_heads: int, wanted: range, block: int) -> list[slice]:
        rows = max(MIN_ROWS, CHUNK_NUMBERS // (n_heads * self.n_tokens))
        if rows >= block:
            most = rows // block * block
            # As many chunks, of the same size: a short last one costs more than its share.
            n_chunks = max(1, math.ceil(len(wanted) / most))
            step = min(most, math.ceil(len(wanted) / n_chunks / block) * block)
            return [slice(start, min(start + step, wanted.stop)) for start in range(wanted.start, wanted.stop, step)]
        return [
            slice(start, min(start + rows, first + block, wanted.stop))
            for first in range(wanted.start, wanted.stop, block)
            for start in range(first, min(first + block, wanted.stop), rows)
        ]

    def z(self, layer: int, head: int) -> Tensor:
        """[T, K]: the values mixed by attention, what W_O receives from this head (zero where the head was ablated)."""
        self._check(layer, head)
        v = self.layer_qkv(layer)[2][head].float()  # [T, K]
        rows = [attend.mix(pattern[0], v) for _, _, pattern in self.attention_chunks(layer, slice(head, head + 1))]
        z = torch.cat(rows)
        return torch.zeros_like(z) if AblateHead(layer, head) in self.edits else z

    def pooled_attention(
        self, layer: int, head: int, size: int = 256, queries: slice | None = None, keys: slice | None = None
    ) -> Tensor:
        """[S, S'], both <= size: the largest weight in each block of `pooling_block` squared; never holds [T, T].

        Of the whole map, or of the window queries x keys; blocks are counted from its corner, and their side follows
        from its longer side. Up to `size` tokens this is the attention map itself.
        """
        self._check(layer, head)
        window = (queries or slice(None), keys or slice(None))
        return self._pool((layer,), slice(head, head + 1), size, *window)[0, 0]

    def thumbnails(self, size: int = 64) -> Tensor:
        """[L, H, S, S], S <= size: the pooled attention of every head, made layer by layer in bounded memory."""
        return self._pool(range(self.config.n_layers), slice(None), size)

    def layer_thumbnails(self, layer: int, size: int = 64) -> Tensor:
        """[H, S, S], S <= size: the pooled attention of every head of one layer."""
        self._check(layer)
        return self._pool((layer,), slice(None), size)[0]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _stack(self, name: str) -> Tensor:
        return torch.stack([self.values[f"layers.{layer}.{name}"] for layer in range(self.config.n_layers)])

    def _check(self, layer: int, head: int = 0) -> None:
        for name, value, count in (("layer", layer, self.config.n_layers), ("head", head, self.config.n_heads)):
            if not isinstance(value, numbers.Integral) or isinstance(value, bool):
                raise EncoderError(f"{name}={value!r}: a whole number from 0 to {count - 1} is needed.")
            if not 0 <= value < count:
                raise EncoderError(f"There is no {name} {value}: this model's are 0 to {count - 1}.")

    def _layer_scores(
        self, layer: int, queries: slice, heads: slice, k: Tensor | None = None, out: Tensor | None = None
    ) -> Tensor:
        """[h, Ti, T], float32, edits applied. k: these heads' keys, where they are at hand; out: may be written to."""
        q = self.layer_qkv(layer)[0]
        k = self.layer_qkv(layer)[1][heads].float() if k is None else k
        positions = torch.arange(self.n_tokens, device=q.device)
        bias = None
        if self.encoder.relative_bias is not None:
            table = self.encoder.relative_bias.weight.detach().float()[:, heads]
            bias = attend.relative_bias(table, positions[queries], positions, self.config.relative_max_distance)
        allowed = attend.allowed(
            positions[queries],
            positions,
            key_mask=None if self.n_real == self.n_tokens else self.mask,
            causal=self.config.causal,
            window=self.config.window_of_layer(layer),
        )
        scale = float(self.config.attention_scale or 1.0)
        scores = attend.scores(q[heads, queries].float(), k, scale, bias, allowed, out)
        for edit in self.edits:
            if isinstance(edit, ScoreEdit) and edit.touches(layer):
                here = edit.within(range(self.config.n_heads)[heads], range(self.n_tokens)[queries])
                scores = scores if here is None else here.apply(scores)
        return scores

    def _pool(
        self,
        layers: Sequence[int],
        heads: slice,
        size: int,
        queries: slice = slice(None),
        keys: slice = slice(None),
    ) -> Tensor:
        """[layers, h, S, S']: block-wise maximum."""
        rows, columns = (range(self.n_tokens)[window] for window in (queries, keys))
        if not isinstance(size, numbers.Integral) or isinstance(size, bool):
            raise EncoderError(f"size={size!r}: a whole number of cells is needed.")
        if size < 1 or not rows or not columns:
            raise EncoderError(f"A map of {len(rows)} x {len(columns)} tokens in size={size}: each is at least 1.")
        block = pooling_block(max(len(rows), len(columns)), size)
        n_heads = len(range(self.config.n_heads)[heads])
        shape = (n_heads, -(-len(rows) // block), -(-len(columns) // block))
        pooled = {layer: torch.zeros(shape, device=self.mask.device) for layer in layers}
        for layer, chunk, _, pattern in self.iter_attention(layers, heads, queries, block):
            put_block_max(pooled[layer], pattern[..., keys], chunk.start - rows.start, block)
        return torch.stack(list(pooled.values()))

    def _norm_modules(self) -> Iterator[tuple[str, LayerNorm]]:
        if self.encoder.embedding.norm is not None:
            yield "embedding_norm", self.encoder.embedding.norm
        for layer in range(self.config.n_layers):
            block = self.encoder.block(layer)
            if block.attention_norm is not None:
                yield f"layers.{layer}.attention_norm", block.attention_norm
            yield f"layers.{layer}.ffn_norm", block.ffn_norm
        if self.encoder.final_norm is not None:
            yield "final_norm", self.encoder.final_norm

    def _norm(self, name: str, module: LayerNorm) -> NormTrace:
        bias = None if module.bias is None else module.bias.detach()
        return NormTrace(name, self.values[f"{name}.input"], module.weight.detach(), bias, module.eps)


def pooling_block(n_tokens: int, size: int) -> int:
    """Side of the block of tokens that one cell of a pooled map of at most `size` cells stands for; 1: exact."""
    return -(-n_tokens // size)


def block_max(x: Tensor, block: int) -> Tensor:
    """[h, Ti, Tj] -> [h, ceil(Ti / block), ceil(Tj / block)]: the largest entry of each block."""
    if block == 1:
        return x
    # Rows first: whole rows are compared at a time, and what remains for the columns is 1 / block of the numbers.
    return _block_max_of_axis(_block_max_of_axis(x, block, 1), block, 2)


def _block_max_of_axis(x: Tensor, block: int, axis: int) -> Tensor:
    """The largest of each `block` entries along one axis; the last ones may be fewer, and are not padded: a chunk that
    is an eighth of a block would become eight times as large.
    """
    whole = x.shape[axis] // block * block
    parts = []
    if whole:
        parts.append(x.narrow(axis, 0, whole).unflatten(axis, (-1, block)).amax(axis + 1))
    if whole < x.shape[axis]:
        parts.append(x.narrow(axis, whole, x.shape[axis] - whole).amax(axis, keepdim=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)


def put_block_max(pooled: Tensor, x: Tensor, first_row: int, block: int) -> None:
    """Raise cells of `pooled` [h, S, S'] to the block-wise maximum of x [h, Ti, Tj], whose rows begin at `first_row`.

    x holds whole blocks of rows, or lies within one.
    """
    cells = pooled[:, first_row // block : -(-(first_row + x.shape[1]) // block)]
    torch.maximum(cells, block_max(x, block), out=cells)


def split_batch(
    encoder: Encoder,
    values: Mapping[str, Tensor],
    sentences: tuple[Tokenized, ...],
    mask: Tensor | None,
    pad: tuple[str, int],
    edits: tuple[Edit, ...],
) -> list[Trace]:
    """The values of a batch -> one Trace a sentence. values: [B, ...] each, but positions that all share ([T, E])."""
    longest = max(len(sentence) for sentence in sentences) if mask is None else mask.shape[1]
    traces = []
    for index, sentence in enumerate(sentences):
        n_pad = longest - len(sentence)
        own = {
            name: value if name == "embedding.position" and value.dim() == 2 else value[index]
            for name, value in values.items()
        }
        traces.append(
            Trace(
                encoder=encoder,
                tokens=sentence.tokens + (pad[0],) * n_pad,
                labels=sentence.labels + (pad[0],) * n_pad,
                ids=sentence.ids + (pad[1],) * n_pad,
                mask=torch.ones(longest, dtype=torch.bool, device=encoder.device) if mask is None else mask[index],
                values=MappingProxyType(own),
                source=sentence,
                edits=edits,
            )
        )
    return traces
