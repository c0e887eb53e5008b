"""Encoder: embeddings, L layers, final norm. One forward for every family; EncoderConfig holds the differences.

Shapes: B batch, L layers, H heads, T tokens, D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from encoder.model import attend
from encoder.model.attend import AttentionContext, Cache, LearnedScores, Memory
from encoder.model.boxes import BoxTables
from encoder.model.config import EncoderConfig, NormPlacement
from encoder.model.distances import ScoreTerms, all_distances
from encoder.model.embed import Embedding, rows_of_tokens
from encoder.model.hooks import HookPoint
from encoder.model.layers import Block, LayerNorm
from encoder.model.pauses import pause

Initialisation = Literal["xavier", "bert"]


class Encoder(nn.Module):
    """A transformer encoder.

    `Encoder(config, seed=0)` has random weights that depend only on the seed and the sizes: both norm placements get
    the same weights. Layers that share weights (ALBERT) are one module that runs several times.
    """

    def __init__(self, config: EncoderConfig, seed: int | None = None, scheme: Initialisation = "xavier") -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.layers = nn.ModuleList(
            Block(config.of_layer(layer), config.has_attention_norm(layer), has_letters=layer == config.letters_layer)
            for layer in range(config.n_distinct_layers)
        )
        self.final_norm = LayerNorm(config.d_model, config, "final_norm") if config.final_norm else None
        rows = 0 if config.relative_per_layer else config.table_rows
        self.relative_bias = nn.Embedding(rows, config.n_heads) if rows else None
        by_box = 0 if config.boxes is None else config.boxes.buckets
        self.box_bias_x, self.box_bias_y = (nn.Embedding(by_box, config.n_heads) if by_box else None for _ in "xy")
        apart = config.disentangled
        self.distances = nn.Embedding(2 * apart.span, config.d_model) if apart else None
        self.distance_norm = LayerNorm(config.d_model, config, "distance_norm") if apart and apart.norm else None
        rotates = (config.max_positions, config.rotary_width)
        self.rotary_table = nn.Embedding(*rotates) if config.rotary_table else None
        self.layer_positions: nn.Parameter | None = None
        if config.layer_positions and config.patches is not None:
            size = (config.n_layers - 1, 1, config.patches.n_positions, config.d_model)
            self.layer_positions = nn.Parameter(torch.zeros(size))
        self.pooler = nn.Linear(config.d_model, config.d_model) if config.pooler else None
        self.hook_positions, self.hook_out = HookPoint("positions"), HookPoint("output")
        self.hook_memory = HookPoint("memory")
        if seed is not None:
            initialise(self, seed, scheme)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The number type of the weights."""
        return next(self.parameters()).dtype

    def block(self, layer: int) -> Block:
        """The module of `layer`; layers of one group share it."""
        return cast(Block, self.layers[self.config.weights_of_layer(layer)])

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """inputs: ids [B, T] or pixels [B, C, S, S]; mask [B, T], True: a real token; segments [B, T] -> [B, T, D].

        memory: what a decoder's cross-attention reads; cache: of the tokens before these, which T then does not count;
        places: of the tokens on their page, [B, T, P], or None.
        """
        x = self.embedding(inputs, mask, segments, 0 if cache is None else cache.n_tokens, places)
        return self.before_layer(self.config.n_layers, x, mask, memory, cache, places)

    def before_layer(
        self,
        layer: int,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """The embeddings x [B, T, D] -> the residual stream before a layer, [B, T, D]; the output for n_layers."""
        for context in self.attention_contexts(x, mask, memory, cache, places)[:layer]:
            x = self.block(context.layer)(x, context)
            pause()
        if cache is not None:
            cache.n_tokens += x.shape[1]
        return x if layer < self.config.n_layers else self.finish(x)

    def finish(self, x: Tensor) -> Tensor:
        """The last layer's residual stream [B, T, D] -> the output [B, T, D]: the final norm, where there is one.

        A stream of boxes ends here.
        """
        if self.config.beside is not None:
            x = x[..., : self.config.d_model]
        if self.final_norm is not None:
            x = self.final_norm(x)
        out: Tensor = self.hook_out(x)
        return out

    def with_norm_placement(self, norm_placement: NormPlacement) -> Encoder:
        """An encoder over the same weight tensors, with its norms moved and its final norm kept. Nothing is copied."""
        with unfilled():
            moved = Encoder(self.config.replace(norm_placement=norm_placement, final_norm=self.config.final_norm))
        moved.load_state_dict(self.state_dict(), assign=True)
        return moved

    def attention_contexts(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        places: Tensor | None = None,
    ) -> tuple[AttentionContext, ...]:
        """Scale, mask, bias and rotation of each layer for x [B, T, ...]; mask [B, T], True: a real token, or None."""
        n_tokens = x.shape[1] + (0 if cache is None else cache.n_tokens)
        encoded = self.hook_positions(attend.token_positions(self.config, n_tokens, x.device))
        if memory is not None:
            memory = Memory(self.hook_memory(memory.vectors), memory.mask)
        learned = self.learned_scores(encoded)
        return attend.contexts(
            self.config, encoded, mask, learned, self.rotation, cache=cache, memory=memory, places=places
        )

    def rotation(self, layer: int, positions: Tensor) -> attend.Rotation:
        """cos, sin [T, R] of the angles by which a layer rotates q and k at these positions [T]."""
        table = None if self.rotary_table is None else self.rotary_table.weight
        return attend.rotation(self.config, layer, positions, table)

    def bias_table(self, layer: int) -> Tensor | None:
        """[buckets, H]: the learned bias of the scores in `layer`, its own or that of all layers; None without one."""
        own = self.block(layer).attention.relative_bias
        table = self.relative_bias if own is None else own
        return None if table is None else table.weight

    def learned_scores(self, positions: Tensor) -> list[LearnedScores]:
        """What the weights add to the scores of each layer, and to its input, for tokens of these positions [T]."""
        distances = None if self.config.distance_keys is None else all_distances(positions)
        shape, vectors = self.config.disentangled, None
        if self.distances is not None:
            vectors = self.distances.weight
            vectors = vectors if self.distance_norm is None else self.distance_norm(vectors)
        boxes = None
        if self.config.boxes is not None and self.box_bias_x is not None and self.box_bias_y is not None:
            boxes = BoxTables(self.box_bias_x.weight, self.box_bias_y.weight, self.config.boxes.max_distance)
        found = []
        for layer in range(self.config.n_layers):
            attention = self.block(layer).attention
            terms: ScoreTerms | None = None
            if vectors is not None and shape is not None:
                terms = attention.position_terms(vectors, shape)
            elif distances is not None:
                terms = attention.distance_terms(*distances)
            added = None
            if layer and self.layer_positions is not None and self.config.patches is not None:
                added = rows_of_tokens(self.layer_positions[layer - 1, 0], self.config.patches)
            found.append(LearnedScores(self.bias_table(layer), terms, attention.sinks, added, boxes))
        return found


class _KeepUnfilled(TorchFunctionMode):
    """Inside, torch.nn.init draws no numbers."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


@contextmanager
def unfilled() -> Iterator[None]:
    """Inside, new modules have no memory for their weights; load_state_dict(..., assign=True) fills them.

    The device "meta" by itself is not enough: drawing random numbers there makes torch import its compiler, which takes
    more than a second. The mode belongs to this thread; other threads draw weights as usual.
    """
    with torch.device("meta"), _KeepUnfilled():
        yield


@torch.no_grad()
def initialise(model: nn.Module, seed: int, scheme: Initialisation = "xavier") -> None:
    """Draw the weights from `seed`, in place, with a generator on the CPU.

    "xavier": linear maps N(0, 2 / (fan in + fan out)) (Glorot and Bengio 2010; the setting of Xiong et al. 2020),
    tables N(0, 1); "bert": everything N(0, 0.02^2) (Devlin et al. 2019). Biases are 0 and gains 1: norms use no random
    numbers, so both norm placements get the same weights.
    """
    generator = torch.Generator().manual_seed(seed)

    def fill(weight: Tensor, std: float) -> None:
        weight.copy_(torch.empty(weight.shape).normal_(0.0, std, generator=generator))

    for module in model.modules():
        if isinstance(module, nn.Embedding):
            fill(module.weight, 1.0 if scheme == "xavier" else 0.02)
        elif isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
            fan_out, fan_in = module.weight.shape[0], module.weight[0].numel()
            fill(module.weight, (2.0 / (fan_in + fan_out)) ** 0.5 if scheme == "xavier" else 0.02)
            if module.bias is not None:
                module.bias.zero_()
        elif isinstance(module, LayerNorm):
            module.weight.fill_(1.0)
            if module.bias is not None:
                module.bias.zero_()
