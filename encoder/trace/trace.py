"""Trace: a recorded forward pass, and the attention that is computed again from it.

A Trace keeps what grows with T: q, k, v, the residual stream and the norms' inputs. Attention grows with T^2, so it is
computed on demand from q and k, head by head and window by window, by the functions of `attend` that the model uses.
A Trace is immutable: no code may write to a recorded tensor.

Shapes: L layers, H heads, h some heads, T tokens (queries i, keys j), K width of a head, S, S' cells of a pooled map.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from encoder import verbs
from encoder.edits import apply_edits, edits_at
from encoder.errors import EncoderError, OutOfMemory, quoted
from encoder.model import attend
from encoder.model.attend import AttentionContext
from encoder.model.device import free_memory
from encoder.model.overview import pooling_block, put_block_max
from encoder.model.pauses import pause
from encoder.trace.recorded_pass import RecordedPass

if TYPE_CHECKING:
    import pandas as pd

#: A chunk of attention holds about this many numbers. Larger chunks are slower on a CPU, since they leave its cache.
CHUNK_NUMBERS = 2**20
#: A chunk has at least this many query rows: matrix products with fewer are slow.
MIN_ROWS = 16
#: Up to this many tokens an operation costs more than what it computes: all layers are computed at once.
SHORT = 64
#: Products with fewer query rows than this are a third faster with transposed keys.
FEW_ROWS = 64


@dataclass(frozen=True, eq=False, repr=False)
class Trace(RecordedPass):
    """One text or image through the encoder, with its attention. `TextEncoder.trace` returns it."""

    @cached_property
    def contexts(self) -> tuple[AttentionContext, ...]:
        """Scale, mask and bias of each layer, with the edits of positions; q and k are recorded with their rotation."""
        positions = attend.token_positions(self.config, self.n_tokens, self.mask.device)
        encoded = self._edited(positions, "positions", None)
        key_mask = None if self.n_real == self.n_tokens else self.mask
        with torch.no_grad():
            learned = [one.in_float32() for one in self.encoder.learned_scores(encoded)]
        found = attend.contexts(self.config, encoded, key_mask, learned, places=self.places)
        gates = (self.values.get(f"layers.{one.layer}.bias_gate") for one in found)  # [H, T, 1] each, or None
        pairs = zip(found, gates, strict=True)
        found = tuple(one if gate is None else replace(one, bias_gate=gate.float()) for one, gate in pairs)
        if self.config.beside is None:
            return found
        scale = self.config.beside.score_scale
        q, k = ([self.values[f"layers.{one.layer}.beside.{name}"].float() for one in found] for name in "qk")
        return tuple(one.with_beside(q[one.layer], k[one.layer], scale) for one in found)

    def scores(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """[T, T], or the window queries x keys: q_i . k_j x scale + bias; masked keys have the lowest number.

        Always float32. Raises EncoderError for a layer or head that the model does not have.
        """
        layer, head = self.place(layer, head)
        scores = self._layer_scores(layer, queries or slice(None), slice(head, head + 1))[0]  # [Ti, T]
        return scores if keys is None else scores[:, keys]

    def attention(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> Tensor:
        """[T, T]: softmax of the scores, each row sums to 1; or the window queries x keys of these rows."""
        layer, head = self.place(layer, head)
        scores = self.scores(layer, head, queries).unsqueeze(0)
        pattern = self._layer_pattern(layer, scores, queries or slice(None), slice(head, head + 1))[0]
        return pattern if keys is None else pattern[:, keys]

    def layer_scores(self, layer: int, queries: slice | None = None) -> Tensor:
        """[H, Ti, T]: scores of all heads of a layer, for these query rows (by default all)."""
        layer, _ = self.place(layer)
        return self._layer_scores(layer, queries or slice(None), slice(None))

    def layer_attention(self, layer: int, queries: slice | None = None) -> Tensor:
        """[H, Ti, T]: attention of all heads of a layer, for these query rows (by default all)."""
        layer, _ = self.place(layer)
        return self._layer_pattern(layer, self.layer_scores(layer, queries), queries or slice(None), slice(None))

    @property
    def attentions(self) -> Tensor:
        """[L, H, T, T]: every attention map, in a new tensor. Raises OutOfMemory where it does not fit.

        `thumbnails` and `attention_chunks` need little memory for any length.
        """
        config, device = self.config, self.mask.device
        if 4 * config.n_layers * config.n_heads * self.n_tokens**2 > free_memory(device) // 2:
            raise OutOfMemory(
                f"The maps of {config.n_layers} layers x {config.n_heads} heads of {self.n_tokens:,} tokens do not fit "
                "into the memory that is free: use attention_chunks(layer), or a shorter text."
            )
        return torch.stack([self.layer_attention(layer) for layer in range(config.n_layers)])

    def cross_attention(self, layer: int, head: int) -> Tensor:
        """[T_target, T]: what each token of the target reads of this input. Raises EncoderError without a target."""
        found: Tensor = self._of_target.cross_attention(layer, head)
        return found

    def cross_scores(self, layer: int, head: int) -> Tensor:
        """[T_target, T]: the scores of `cross_attention`. Raises EncoderError without a target."""
        found: Tensor = self._of_target.cross_scores(layer, head)
        return found

    @property
    def _of_target(self) -> Any:
        if self.decoder is None:
            raise EncoderError("This trace has no target for a decoder to read: specify trace(input, target=...).")
        return self.decoder

    def to_pandas(self, layer: int | None = None, head: int | None = None, least: float = 0.0) -> pd.DataFrame:
        """Attention as a table: layer, head, query, key, query_token, key_token, weight. None: every layer, or head.

        least: smaller weights are left out. Saved as Parquet, `encoder.load` opens it as attention maps.
        """
        import pandas as pd

        layers = range(self.config.n_layers) if layer is None else [self.place(layer)[0]]
        heads = range(self.config.n_heads) if head is None else [self.place(0, head)[1]]
        parts = []
        for one in layers:
            maps = self.layer_attention(one)[list(heads)].cpu()  # [h, T, T]
            places = (maps >= least).nonzero().numpy()
            parts.append(
                {
                    "layer": np.full(len(places), one),
                    "head": np.array(heads)[places[:, 0]],
                    "query": places[:, 1],
                    "key": places[:, 2],
                    "weight": maps.numpy()[tuple(places.T)],
                }
            )
        table = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
        tokens = np.array(self.tokens, dtype=object)
        table.insert(4, "query_token", tokens[table["query"]])
        table.insert(5, "key_token", tokens[table["key"]])
        return table

    def gradients(self, outcome: Any) -> Any:
        """The gradients of an outcome of `encoder.causal` with respect to every recorded value
        (`encoder.gradients.gradients`)."""
        return verbs.above.gradients(self, outcome)

    def rows_of_token(self, query: int) -> Tensor:
        """[L, H, T]: what one token attends to in every head."""
        rows = slice(query, query + 1)
        return torch.stack([self.layer_attention(layer, rows)[:, 0] for layer in range(self.config.n_layers)])

    def every_layer(self) -> tuple[Tensor, Tensor]:
        """Scores and attention of all heads, [L, H, T, T] each, in memory as a whole: for SHORT texts."""
        layers, first = range(self.config.n_layers), self.contexts[0]
        alike = all(first.same_scores(context) for context in self.contexts)
        if not alike or any(
            edits_at(self.applied, point, layer) for point in ("scores", "pattern") for layer in layers
        ):
            every = slice(None)
            apart = [self.layer_scores(layer) for layer in layers]
            pattern = [self._layer_pattern(layer, apart[layer], every, every) for layer in layers]
            return torch.stack(apart), torch.stack(pattern)
        q, k, _ = (torch.stack(same) for same in zip(*map(self.layer_qkv, layers), strict=True))
        scores = first.float32_scores(q, k)
        return scores, first.pattern(scores)

    def attention_chunks(
        self, layer: int, heads: slice | None = None, queries: slice | None = None
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """A layer's attention in bounded memory: (query rows, scores, attention), both tensors [h, rows, T].

        You may write to the two tensors. The next chunk uses their memory again: clone what you keep.
        """
        for _, rows, scores, pattern in self.iter_attention((layer,), heads, queries):
            yield rows, scores, pattern

    def iter_attention(
        self, layers: Sequence[int], heads: slice | None = None, queries: slice | None = None, block: int = 1
    ) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
        """`attention_chunks` of several layers: (layer, query rows, scores, attention).

        block: each chunk is made of whole blocks of this many rows, counted from the first row, or is part of one.
        """
        layers = [self.place(layer)[0] for layer in layers]
        heads = heads or slice(None)
        n_heads = len(range(self.config.n_heads)[heads])
        chunks = row_chunks(max(1, n_heads), self.n_tokens, range(self.n_tokens)[queries or slice(None)], block)
        most_rows = max((rows.stop - rows.start for rows in chunks), default=0)
        # All chunks share one piece of memory: allocating it for each chunk takes as long as the softmax.
        memory = torch.empty(2, n_heads * most_rows * self.n_tokens, device=self.mask.device)
        for layer in layers:
            k = self._prepared_keys(layer, heads, most_rows)
            for rows in chunks:
                shape = (n_heads, rows.stop - rows.start, self.n_tokens)
                scores_memory, pattern_memory = memory[:, : math.prod(shape)].view(2, *shape)
                scores = self._layer_scores(layer, rows, heads, k, scores_memory)
                yield layer, rows, scores, self._layer_pattern(layer, scores, rows, heads, pattern_memory)
                pause()

    def _prepared_keys(self, layer: int, heads: slice, most_rows: int) -> Tensor | None:
        """The keys of these heads in float32, as the products of the next chunks need them."""
        k = self.layer_qkv(layer)[1][heads].float().contiguous()
        return k.transpose(-1, -2).contiguous().transpose(-1, -2) if most_rows < FEW_ROWS else k

    def head_groups(self, heads: slice | None = None) -> list[slice]:
        """The heads in groups whose chunks have FEW_ROWS query rows or more; of a long text, all heads have fewer.

        At 8,192 tokens a walk through the maps of one group after the other takes a quarter less time.
        """
        wanted = range(self.config.n_heads)[heads or slice(None)]
        step = max(1, CHUNK_NUMBERS // (FEW_ROWS * self.n_tokens))
        return [slice(start, min(start + step, wanted.stop)) for start in range(wanted.start, wanted.stop, step)]

    def save(self, file: str | Path, *, weights: bool = True) -> Path:
        """Save the trace as one file of safetensors, which `encoder.open_trace` opens.

        weights: False leaves out the model's weights, most of the file; `open_trace` then needs the model. Raises
        EncoderError for edits that take values from another run or hold a function, and SaveError.
        """
        return verbs.above.save_trace(self, file, weights=weights)

    def save_html(self, file: str | Path, layer: int = 0, head: int = 0, **options: Any) -> Path:
        """Saves the whole model at work on this input as a page that opens offline (`encoder.export.save_html`)."""
        return verbs.above.save_html(self, file, layer, head, **options)

    def z(self, layer: int, head: int) -> Tensor:
        """[T, K]: the weighted sum of values, W_O's input from this head. An ablated head gives zeros."""
        layer, head = self.place(layer, head)
        if edits_at(self.applied, "z", layer):
            return self.layer_z(layer)[head]
        return self._z(layer, slice(head, head + 1))[0]

    def layer_z(self, layer: int, queries: slice = slice(None)) -> Tensor:
        """[H, T, K]: `z` of every head of a layer, at once; of some queries [H, Ti, K]."""
        return self._z(self.place(layer)[0], slice(None), queries)

    def _z(self, layer: int, heads: slice, queries: slice = slice(None)) -> Tensor:
        v = self.layer_qkv(layer)[2][heads].float()  # [h, T, K]
        chunks = self.attention_chunks(layer, heads, queries)
        z = torch.cat([attend.mix(pattern, v) for _, _, pattern in chunks], dim=1)
        return self._edited(self.gated(z, layer, heads, queries), "z", layer, queries, heads)

    def gated(
        self, z: Tensor, layer: int, heads: slice | int = slice(None), queries: slice | int = slice(None)
    ) -> Tensor:
        """z [..., K] of these heads and query rows, times the gate of each where the model has one."""
        gate = self.values.get(f"layers.{layer}.gate")  # [H, T, 1]
        return z if gate is None else z * gate[heads][..., queries, :].float()

    def pooled_attention(
        self, layer: int, head: int, size: int = 256, queries: slice | None = None, keys: slice | None = None
    ) -> Tensor:
        """[S, S'], both <= size: the largest weight of each block, of the whole map or of the window queries x keys.

        Blocks start at the window's corner; their side is the `pooling_block` of its longer side. Up to `size` tokens
        this is the attention map itself. [T, T] is never held in memory.
        """
        layer, head = self.place(layer, head)
        return self._pool((layer,), slice(head, head + 1), size, queries or slice(None), keys or slice(None))[0, 0]

    def thumbnails(self, size: int = 64) -> Tensor:
        """[L, H, S, S], S <= size: the pooled attention of every head, in bounded memory."""
        return self._pool(range(self.config.n_layers), slice(None), size)

    def layer_thumbnails(self, layer: int, size: int = 64) -> Tensor:
        """[H, S, S], S <= size: the pooled attention of every head of one layer."""
        layer, _ = self.place(layer)
        return self._pool((layer,), slice(None), size)[0]

    def _layer_scores(
        self, layer: int, queries: slice, heads: slice, k: Tensor | None = None, out: Tensor | None = None
    ) -> Tensor:
        """[h, Ti, T], float32, edited. k: the keys of these heads in float32, if prepared; out: memory to write to."""
        q, own, _ = self.layer_qkv(layer)
        k = own[heads] if k is None else k
        scores = self.contexts[layer].float32_scores(q[heads, queries], k, queries, heads, out)
        return self._edited(scores, "scores", layer, queries, heads)

    def _layer_pattern(
        self, layer: int, scores: Tensor, queries: slice, heads: slice, out: Tensor | None = None
    ) -> Tensor:
        """The edited softmax of scores [h, Ti, T]. out: memory to write to."""
        return self._edited(self.contexts[layer].pattern(scores, out, heads), "pattern", layer, queries, heads)

    def _edited(
        self,
        value: Tensor,
        point: str,
        layer: int | None,
        queries: slice = slice(None),
        heads: slice = slice(None),
    ) -> Tensor:
        """`value` of a hook point for these heads and tokens, as the forward pass edited it."""
        of_heads, tokens = range(self.config.n_heads)[heads], range(self.n_tokens)[queries]
        return apply_edits(self.applied, point, layer, value, of_heads, tokens)

    def _pool(
        self, layers: Sequence[int], heads: slice, size: int, queries: slice = slice(None), keys: slice = slice(None)
    ) -> Tensor:
        """[layers, h, S, S']: block-wise maximum."""
        rows, columns = (range(self.n_tokens)[window] for window in (queries, keys))
        if not isinstance(size, numbers.Integral) or isinstance(size, bool) or size < 1:
            raise EncoderError(
                f"A pooled map cannot have size={quoted(size)}: specify a whole number of cells from 1 on."
            )
        if not rows or not columns:
            raise EncoderError(
                f"A window of {len(rows)} x {len(columns)} tokens is empty: specify at least one of each."
            )
        block = pooling_block(max(len(rows), len(columns)), size)
        n_heads = len(range(self.config.n_heads)[heads])
        shape = (n_heads, -(-len(rows) // block), -(-len(columns) // block))
        first = range(self.config.n_heads)[heads].start
        pooled = {layer: torch.zeros(shape, device=self.mask.device) for layer in layers}
        for group in self.head_groups(heads):
            own = slice(group.start - first, group.stop - first)
            for layer, chunk, _, pattern in self.iter_attention(layers, group, queries, block):
                put_block_max(pooled[layer][own], pattern[..., keys], chunk.start - rows.start, block)
        return torch.stack(list(pooled.values()))


def row_chunks(n_maps: int, n_tokens: int, wanted: range, block: int = 1) -> list[slice]:
    """The query rows `wanted` in chunks; the rows of n_maps maps [n_maps, rows, T] are about CHUNK_NUMBERS numbers.

    block: each chunk is made of whole blocks of this many rows, counted from the first row, or is part of one.
    """
    rows = max(MIN_ROWS, CHUNK_NUMBERS // (n_maps * n_tokens))
    if rows >= block:
        most = rows // block * block
        # Chunks of equal size: a short last chunk costs more than its share.
        n_chunks = max(1, math.ceil(len(wanted) / most))
        step = min(most, math.ceil(len(wanted) / n_chunks / block) * block)
        return [slice(start, min(start + step, wanted.stop)) for start in range(wanted.start, wanted.stop, step)]
    return [
        slice(start, min(start + rows, first + block, wanted.stop))
        for first in range(wanted.start, wanted.stop, block)
        for start in range(first, min(first + block, wanted.stop), rows)
    ]
