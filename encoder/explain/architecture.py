"""The encoder as blocks, drawn from its EncoderConfig: shapes, parameters, FLOPs and memory of each, and what it opens.

    architecture(config, n_tokens).blocks      # in the order in which a sentence goes through them

Shapes: T tokens, L layers, H heads, D d_model, K width of a head, F width of the FFN, E width of the tables, V
vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoder.config import EncoderConfig
from encoder.explain.cost import ELEMENTWISE

Shape = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ArchitectureBlock:
    """One block of the diagram.

    key: unique, "layers.2.q"; kind: what it is, "q"; title; group: the frame that it is drawn in ("embedding",
    "attention", "ffn", "output"); layer: None outside the layers; inputs, outputs: shapes as (symbol, size);
    parameters: numbers that are learned here, 0 where another layer owns them (shared_with); share: of all parameters;
    flops, memory (bytes of the output) for this sentence; opens: name of the tensor behind it, for `steps.tensor`, None
    where there is none; step: which step explains it; detail: a few words.
    """

    key: str
    kind: str
    title: str
    group: str
    layer: int | None
    inputs: Shape
    outputs: Shape
    parameters: int
    share: float
    flops: int
    memory: int
    opens: str | None
    step: str | None
    detail: str = ""
    shared_with: int | None = None


@dataclass(frozen=True)
class ArchitectureEdge:
    """An arrow from block to block; residual: it goes around a sublayer."""

    source: str
    target: str
    residual: bool = False


@dataclass(frozen=True)
class Architecture:
    """All blocks of an encoder in order, the arrows between them, and the number of parameters."""

    config: EncoderConfig
    n_tokens: int
    blocks: tuple[ArchitectureBlock, ...]
    edges: tuple[ArchitectureEdge, ...]
    n_parameters: int

    def __getitem__(self, key: str) -> ArchitectureBlock:
        return next(block for block in self.blocks if block.key == key)

    def of_layer(self, layer: int | None) -> tuple[ArchitectureBlock, ...]:
        """Blocks of one layer; None: those outside the layers."""
        return tuple(block for block in self.blocks if block.layer == layer)

    def drawn(self, layer: int) -> tuple[ArchitectureBlock, ...]:
        """What a diagram shows that draws one layer in full: that layer and everything outside the layers."""
        return tuple(block for block in self.blocks if block.layer in (None, layer))


@dataclass(frozen=True)
class _Draft:
    """A block before the shares are known."""

    key: str
    kind: str
    title: str
    group: str
    layer: int | None
    inputs: Shape
    outputs: Shape
    parameters: int = 0
    flops: int = 0
    opens: str | None = None
    step: str | None = None
    detail: str = ""
    shared_with: int | None = None


class _Builder:
    """Collects blocks and arrows in the order of the forward pass."""

    def __init__(self, config: EncoderConfig, n_tokens: int) -> None:
        self.config = config
        self.drafts: list[_Draft] = []
        self.edges: list[ArchitectureEdge] = []
        self.last: str | None = None
        self.T = ("T", n_tokens)
        self.D = ("D", config.d_model)
        self.narrow = config.embedding_width != config.d_model
        self.E = ("E", config.embedding_width) if self.narrow else self.D
        self.H, self.K, self.F = ("H", config.n_heads), ("K", config.d_head), ("F", config.d_ffn)

    def add(self, draft: _Draft, sources: tuple[str, ...] | None = None) -> str:
        """A block, fed by `sources` (by default the block before it)."""
        for source in (self.last,) if sources is None else sources:
            if source is not None:
                self.edges.append(ArchitectureEdge(source, draft.key))
        self.drafts.append(draft)
        self.last = draft.key
        return draft.key

    def residual(self, source: str, target: str) -> None:
        """An arrow around a sublayer."""
        self.edges.append(ArchitectureEdge(source, target, residual=True))


def architecture(config: EncoderConfig, n_tokens: int, bytes_each: int = 4) -> Architecture:
    """Every block that a sentence of `n_tokens` goes through; bytes_each: of one number (2 for bfloat16).

    The parameters of all blocks together are those of the model.
    """
    build = _Builder(config, n_tokens)
    _embedding(build)
    for layer in range(config.n_layers):
        _layer(build, layer)
    _output(build)
    total = sum(draft.parameters for draft in build.drafts)
    blocks = tuple(
        ArchitectureBlock(
            **draft.__dict__, share=draft.parameters / total, memory=_size(draft.outputs) * _width(draft, bytes_each)
        )
        for draft in build.drafts
    )
    return Architecture(config, n_tokens, blocks, tuple(build.edges), total)


def _size(shape: Shape) -> int:
    size = 1
    for _, number in shape:
        size *= number
    return size


def _width(draft: _Draft, bytes_each: int) -> int:
    """Bytes of one number of a block: ids are whole numbers of eight bytes."""
    return 8 if draft.kind in ("tokens", "ids") else bytes_each


# --- before the layers
# -------------------------------------------------------------------------------------------------


def _embedding(build: _Builder) -> None:
    config, T, E, D = build.config, build.T, build.E, build.D
    tokens = _patches(build) if config.patches is not None else _words(build)
    parts = [tokens]
    if config.n_segments:
        draft = _Draft(
            "embedding.segments", "segment", "Segment", "embedding", None, (T,), (T, E), config.n_segments * E[1], 0,
            "embedding.segments", "embedding", "which of two sentences",
        )  # fmt: skip
        parts.append(build.add(draft, ("ids",)))
    if config.position in ("learned", "sinusoidal"):
        parts.append(build.add(_position(build), ("ids",) if config.patches is None else ()))
    if len(parts) > 1:
        build.add(
            _Draft(
                "embedding.sum", "add", "Sum", "embedding", None, (T, E), (T, E), 0, (len(parts) - 1) * T[1] * E[1],
                "embedding_norm.input" if config.embedding_norm else None if build.narrow else "embedding", "embedding",
            ),
            tuple(parts),
        )  # fmt: skip
    if config.embedding_norm:
        build.add(_norm(build, "embedding_norm", "Norm", "embedding", None, E, "embedding_norm"))
    if build.narrow:
        weights = E[1] * D[1] + D[1]
        build.add(
            _Draft(
                "embedding.projection", "projection", "Projection E → D", "embedding", None, (T, E), (T, D), weights,
                2 * T[1] * E[1] * D[1], "embedding", "embedding",
            )
        )  # fmt: skip


def _words(build: _Builder) -> str:
    config, T, E = build.config, build.T, build.E
    build.add(_Draft("tokens", "tokens", "Tokens", "embedding", None, (T,), (T,), step="ids", detail="pieces of words"))
    build.add(_Draft("ids", "ids", "Ids", "embedding", None, (T,), (T,), step="ids", detail="rows of the vocabulary"))
    return build.add(
        _Draft(
            "embedding.tokens", "embedding", "Token embedding", "embedding", None, (T,), (T, E),
            config.vocab_size * E[1], 0, "embedding.tokens", "embedding", f"{config.vocab_size:,} × {E[1]:,} table",
        )
    )  # fmt: skip


def _patches(build: _Builder) -> str:
    patches, T, E = build.config.patches, build.T, build.E
    assert patches is not None
    pixels = patches.channels * patches.patch_size**2
    image = (("C", patches.channels), ("S", patches.image_size), ("S", patches.image_size))
    build.add(_Draft("tokens", "tokens", "Image", "embedding", None, image, image, detail="pixels"))
    return build.add(
        _Draft(
            "embedding.tokens", "embedding", "Patches", "embedding", None, image, (T, E),
            (pixels + 1) * E[1] + E[1],  # the convolution with its bias, and [CLS]
            2 * patches.count * pixels * E[1], "embedding.tokens", "embedding",
            f"{patches.count} squares of {patches.patch_size} × {patches.patch_size} pixels, and [CLS]",
        )
    )  # fmt: skip


def _position(build: _Builder) -> _Draft:
    config, T, E = build.config, build.T, build.E
    rows = config.patches.count + 1 if config.patches is not None else config.max_positions
    learned = config.position == "learned"
    return _Draft(
        "embedding.position", "position", "Position", "embedding", None, (T,), (T, E), rows * E[1] if learned else 0,
        0, "embedding.position", "embedding", "learned table" if learned else "sines and cosines",
    )  # fmt: skip


def _norm(
    build: _Builder, key: str, title: str, group: str, layer: int | None, width: tuple[str, int], opens: str,
    owned: bool = True, shared_with: int | None = None,
) -> _Draft:  # fmt: skip
    config, T = build.config, build.T
    weights = width[1] * (2 if config.norm_bias else 1)
    return _Draft(
        key, "norm", title, group, layer, (T, width), (T, width), weights if owned else 0,
        ELEMENTWISE["norm"] * T[1] * width[1], opens, "norm", "LayerNorm", shared_with,
    )  # fmt: skip


# --- a layer
# -----------------------------------------------------------------------------------------------------------


def _layer(build: _Builder, layer: int) -> None:
    config = build.config
    group = config.weights_of_layer(layer)
    first = next(index for index in range(config.n_layers) if config.weights_of_layer(index) == group)
    owner = None if first == layer else first
    for part in ("attention", "ffn"):
        start = build.last
        assert start is not None
        has_norm = part == "ffn" or config.has_attention_norm(layer)
        # Every other key of a layer belongs to one block; a norm is named by its owner in both placements.
        key = f"layers.{layer}.{part}_norm"
        norm = _norm(build, key, "Norm", part, layer, build.D, key, owner is None, owner)
        if config.norm_placement == "pre" and has_norm:
            build.add(norm)
        (_attention if part == "attention" else _ffn)(build, layer, owner)
        add = build.add(
            _Draft(
                f"layers.{layer}.{part}_add", "add", "Add", part, layer, (build.T, build.D), (build.T, build.D),
                0, build.T[1] * build.D[1],
                f"{key}.input" if config.norm_placement == "post" and has_norm else f"layers.{layer}.after_{part}",
                "norm", "x + what the sublayer gives",
            )
        )  # fmt: skip
        build.residual(start, add)
        if config.norm_placement == "post" and has_norm:
            build.add(norm)


def _attention(build: _Builder, layer: int, owner: int | None) -> None:
    config, T, D, H, K = build.config, build.T, build.D, build.H, build.K
    inner, start, name = H[1] * K[1], build.last, f"layers.{layer}"
    weights = D[1] * inner + (inner if config.qkv_bias else 0)
    rotary = ", turned by position" if config.position == "rotary" else ""
    projected = [
        build.add(
            _Draft(
                f"{name}.{which}", which, title, "attention", layer, (T, D), (H, T, K),
                0 if owner is not None else weights, 2 * T[1] * D[1] * inner, f"{name}.{which}", "qkv",
                f"x W_{which.upper()}{rotary if which != 'v' else ''}", owner,
            ),
            (start,) if start is not None else (),
        )
        for which, title in (("q", "Queries"), ("k", "Keys"), ("v", "Values"))
    ]  # fmt: skip
    buckets = config.relative_buckets * H[1] if layer == 0 else 0  # one table for all layers
    build.add(
        _Draft(
            f"{name}.scores", "scores", "Scores", "attention", layer, (H, T, K), (H, T, T), buckets,
            2 * T[1] ** 2 * inner, f"{name}.scores", "scores", _score_detail(config, layer),
        ),
        (projected[0], projected[1]),
    )  # fmt: skip
    softmax = build.add(
        _Draft(
            f"{name}.attention", "softmax", "Softmax", "attention", layer, (H, T, T), (H, T, T), 0,
            ELEMENTWISE["softmax"] * H[1] * T[1] ** 2, f"{name}.attention", "softmax", "each row sums to 1",
        )
    )  # fmt: skip
    build.add(
        _Draft(
            f"{name}.z", "mixing", "Weighted sum of values", "attention", layer, (H, T, T), (H, T, K), 0,
            2 * T[1] ** 2 * inner, f"{name}.z", "mixing", "weights × values",
        ),
        (softmax, projected[2]),
    )  # fmt: skip
    weights = inner * D[1] + (D[1] if config.attention_bias else 0)
    build.add(
        _Draft(
            f"{name}.attention_out", "projection", "Output projection W_O", "attention", layer, (H, T, K), (T, D),
            0 if owner is not None else weights, 2 * T[1] * inner * D[1], f"{name}.attention_out", "mixing", "z W_O",
            owner,
        )
    )  # fmt: skip


def _score_detail(config: EncoderConfig, layer: int) -> str:
    usual = abs(float(config.attention_scale or 1) - config.d_head**-0.5) < 1e-9
    words = ["q · k / √K" if usual else "q · k × scale"]
    if config.relative_buckets:
        words.append("bias by distance")
    if config.causal:
        words.append("causal mask")
    if config.window_of_layer(layer) is not None:
        words.append(f"{config.window_of_layer(layer)} tokens each way")
    return ", ".join(words)


def _ffn(build: _Builder, layer: int, owner: int | None) -> None:
    config, T, D, F = build.config, build.T, build.D, build.F
    name, maps, act = f"layers.{layer}", 2 if config.gated else 1, ELEMENTWISE[config.activation]
    kind = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "silu": "SiLU"}[config.activation]
    biased = int(config.ffn_bias)
    build.add(
        _Draft(
            f"{name}.ffn.hidden", "ffn", "FFN up-projection", "ffn", layer, (T, D), (T, F),
            0 if owner is not None else maps * (D[1] * F[1] + biased * F[1]),
            maps * 2 * T[1] * D[1] * F[1] + (act + maps - 1) * T[1] * F[1], f"{name}.ffn.hidden", "ffn",
            f"{kind}(x W_in)" + (" × x W_gate" if config.gated else ""), owner,
        )
    )  # fmt: skip
    build.add(
        _Draft(
            f"{name}.ffn_out", "projection", "FFN down-projection", "ffn", layer, (T, F), (T, D),
            0 if owner is not None else F[1] * D[1] + biased * D[1], 2 * T[1] * F[1] * D[1], f"{name}.ffn_out",
            "ffn", "h W_out", owner,
        )
    )  # fmt: skip


# --- after the layers
# --------------------------------------------------------------------------------------------------


def _output(build: _Builder) -> None:
    config, T, D = build.config, build.T, build.D
    if config.final_norm:
        build.add(_norm(build, "final_norm", "Final norm", "output", None, D, "output"))
    output = _Draft(
        "output", "output", "Output", "output", None, (T, D), (T, D), 0, 0, "output", "output", "a vector a token"
    )
    build.add(output)
    build.add(
        _Draft(
            "pooling", "pooling", "Pooling", "output", None, (T, D), (D,), 0, T[1] * D[1], "pooled", "output",
            "one vector of the text",
        )
    )  # fmt: skip
    if config.pooler:
        build.add(
            _Draft(
                "pooler", "projection", "Pooler", "output", None, (D,), (D,), D[1] ** 2 + D[1], 2 * D[1] ** 2, None,
                "output", "tanh layer on [CLS]; not part of the embedding",
            ),
            ("output",),
        )  # fmt: skip
