"""The encoder as blocks, made from its EncoderConfig: shapes, parameters, FLOPs and memory of each block.

    architecture(config, n_tokens).blocks      # in the order of the forward pass

Shapes: T tokens, L layers, H heads, D d_model, K width of a head, F width of the FFN, E width of the tables, V
vocabulary.
"""

import math
from dataclasses import dataclass, replace

from encoder.explain.cost import ELEMENTWISE
from encoder.model.config import EncoderConfig
from encoder.model.layers import NORM_NAMES

NAMES = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "quick_gelu": "GELU (quick)", "silu": "SiLU"}


Dimension = tuple[str, int]
Shape = tuple[Dimension, ...]


@dataclass(frozen=True)
class ArchitectureBlock:
    """One block of the diagram.

    key: unique, "layers.2.q"; kind: "q"; group: the frame around it ("embedding", "attention", "ffn", "output"); layer:
    None outside the layers; inputs, outputs: shapes as (symbol, size); parameters: learned numbers, 0 where another
    layer owns them (shared_with); share: of all parameters; flops, memory (bytes of the output) for this sentence;
    opens: name of its tensor for `explain.tensor`, or None; step: key of the step that explains it, or None.
    """

    key: str
    kind: str
    title: str
    group: str
    layer: int | None
    inputs: Shape
    outputs: Shape
    parameters: int = 0
    share: float = 0.0
    flops: int = 0
    memory: int = 0
    opens: str | None = None
    step: str | None = None
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
        """The blocks of a diagram that draws one layer in full: that layer and everything outside the layers."""
        return tuple(block for block in self.blocks if block.layer in (None, layer))


def architecture(config: EncoderConfig, n_tokens: int, bytes_each: int = 4) -> Architecture:
    """Every block for a sentence of `n_tokens`; bytes_each: of one number (2 for bfloat16).

    The parameters of all blocks add up to those of the model.
    """
    builder = _Builder(config, n_tokens, bytes_each)
    builder.embedding()
    for layer in range(config.n_layers):
        builder.encoder_layer(layer)
    builder.output()
    total = sum(block.parameters for block in builder.blocks)
    blocks = tuple(replace(block, share=block.parameters / total) for block in builder.blocks)
    return Architecture(config, n_tokens, blocks, tuple(builder.edges), total)


class _Builder:
    """Collects blocks and arrows in the order of the forward pass.

    group, layer: of the blocks that are added next; owner: the layer that owns their weights, where that is another.
    """

    def __init__(self, config: EncoderConfig, n_tokens: int, bytes_each: int) -> None:
        self.config, self.bytes_each = config, bytes_each
        self.blocks: list[ArchitectureBlock] = []
        self.edges: list[ArchitectureEdge] = []
        self.last = ""
        self.group = "embedding"
        self.layer: int | None = None
        self.owner: int | None = None
        self.T, self.D = ("T", n_tokens), ("D", config.d_model)
        self.narrow = config.embedding_width != config.d_model
        self.E = ("E", config.embedding_width) if self.narrow else self.D
        self.H, self.K, self.F = ("H", config.n_heads), ("K", config.d_head), ("F", config.d_ffn)

    def add(
        self,
        key: str,
        kind: str,
        title: str,
        inputs: Shape,
        outputs: Shape,
        *,
        sources: tuple[str, ...] | None = None,
        weights: int = 0,
        flops: int = 0,
        opens: str | None = None,
        step: str | None = None,
        detail: str = "",
    ) -> str:
        """Add a block and the arrows from `sources` (by default the block before it). Returns its key."""
        for source in (self.last,) if sources is None else sources:
            if source:
                self.edges.append(ArchitectureEdge(source, key))
        numbers = math.prod(size for _, size in outputs)
        width = 8 if kind in ("tokens", "ids") else self.bytes_each  # ids are whole numbers of eight bytes
        block = ArchitectureBlock(
            key=key,
            kind=kind,
            title=title,
            group=self.group,
            layer=self.layer,
            inputs=inputs,
            outputs=outputs,
            parameters=weights if self.owner is None else 0,
            flops=flops,
            memory=numbers * width,
            opens=opens,
            step=step,
            detail=detail,
            shared_with=self.owner if weights else None,
        )
        self.blocks.append(block)
        self.last = key
        return key

    # --- before the layers

    def embedding(self) -> None:
        """Tables, their sum, the norm and the projection."""
        config, T, E, D = self.config, self.T, self.E, self.D
        parts = [self.words() if config.takes_text else self.image_patches() if config.patches else self.sound()]
        if config.n_segments:
            weights, key = config.n_segments * E[1], "embedding.segments"
            detail = "which of two sentences"
            parts.append(
                self.add(
                    key, "segment", "Segment", (T,), (T, E), sources=("ids",), weights=weights, opens=key,
                    step="embedding", detail=detail,
                )
            )  # fmt: skip
        if config.position in ("learned", "sinusoidal", "convolutional"):
            parts.append(self.position())
        if len(parts) > 1:
            # Before a norm, the sum is the norm's input; otherwise it is the embedding unless a projection follows.
            opens = "embedding_norm.input" if config.embedding_norm else None if self.narrow else "embedding"
            self.add(
                "embedding.sum", "add", "Sum", (T, E), (T, E), sources=tuple(parts), opens=opens, step="embedding",
                flops=(len(parts) - 1) * T[1] * E[1],
            )  # fmt: skip
        if config.embedding_norm:
            self.norm("embedding_norm", "Norm", E)
        if self.narrow:
            self.add(
                "embedding.projection", "projection", "Projection E → D", (T, E), (T, D), opens="embedding",
                weights=E[1] * D[1] + D[1], flops=2 * T[1] * E[1] * D[1], step="embedding",
            )  # fmt: skip

    def words(self) -> str:
        """Tokens, ids and the token table."""
        config, T, E, key = self.config, self.T, self.E, "embedding.tokens"
        self.add("tokens", "tokens", "Tokens", (T,), (T,), step="ids", detail="words and parts of words")
        self.add("ids", "ids", "Ids", (T,), (T,), step="ids", detail="rows of the vocabulary")
        return self.add(
            key, "embedding", "Token embedding", (T,), (T, E), weights=config.vocab_size * E[1], opens=key,
            step="embedding", detail=f"{config.vocab_size:,} × {E[1]:,} table",
        )  # fmt: skip

    def image_patches(self) -> str:
        """The image and its patches."""
        patches, T, E = self.config.patches, self.T, self.E
        assert patches is not None
        pixels = patches.channels * patches.patch_size**2
        image = (("C", patches.channels), ("S", patches.image_size), ("S", patches.image_size))
        special = patches.n_tokens - patches.count
        self.add("tokens", "tokens", "Image", image, image, detail="pixels")
        return self.add(
            "embedding.tokens", "embedding", "Patches", image, (T, E), opens="embedding.tokens", step="embedding",
            weights=(pixels + patches.bias + special) * E[1],  # the convolution and its bias, the special tokens
            flops=2 * patches.count * pixels * E[1],
            detail=f"{patches.count} squares of {patches.patch_size} × {patches.patch_size} pixels"
            + (", and special tokens" if special else ""),
        )  # fmt: skip

    def sound(self) -> str:
        """The sound, and the patches of its spectrogram or the convolutions over time."""
        patches, steps, T, E = self.config.spectrogram, self.config.convolutions, self.T, self.E
        key = "embedding.tokens"
        if patches is not None:
            shape, area = (("M", patches.n_mels), ("S", patches.n_frames)), patches.patch_size**2
            self.add("tokens", "tokens", "Sound", shape, shape, detail="log-mel spectrogram")
            return self.add(
                key, "embedding", "Patches", shape, (T, E), opens=key, step="embedding",
                weights=(area + 1) * E[1] + 2 * E[1],  # the convolution with its bias, and two special tokens
                flops=2 * patches.count * area * E[1],
                detail=f"{patches.count} squares of {patches.patch_size} × {patches.patch_size}, [CLS] and [DIST]",
            )  # fmt: skip
        assert steps is not None
        given = (("M", steps.channels), ("S", T[1] * steps.hop))
        detail = "samples" if steps.channels == 1 else "log-mel spectrogram"
        self.add("tokens", "tokens", "Sound", given, given, detail=detail)
        return self.add(
            key, "embedding", "Convolutions", given, (T, E), opens=key, step="embedding",
            weights=steps.n_weights(E[1]), flops=steps.flops(T[1], E[1]),
            detail=f"{len(steps.widths)} over time, one token for each {steps.hop} steps",
        )  # fmt: skip

    def position(self) -> str:
        """The vector that is added for the position."""
        config, T, E, key = self.config, self.T, self.E, "embedding.position"
        if config.position == "convolutional":
            group = E[1] // config.position_groups
            return self.add(
                key, "position", "Position", (T, E), (T, E), sources=("embedding.tokens",), opens=key, step="embedding",
                weights=E[1] * group * config.position_kernel + config.position_kernel + E[1],
                flops=2 * T[1] * E[1] * group * config.position_kernel, detail="a convolution of the tokens",
            )  # fmt: skip
        rows = config.max_positions if config.patches is None else config.patches.n_positions
        learned = config.position == "learned"
        return self.add(
            key, "position", "Position", (T,), (T, E), sources=("ids",) if config.takes_text else (), opens=key,
            weights=rows * E[1] if learned else 0, step="embedding",
            detail="learned table" if learned else "sines and cosines",
        )  # fmt: skip

    def norm(self, key: str, title: str, width: Dimension, opens: str = "") -> None:
        """A LayerNorm."""
        weights = width[1] * (2 if self.config.norm_bias else 1)  # gain and bias
        flops, shape = ELEMENTWISE["norm"] * self.T[1] * width[1], (self.T, width)
        self.add(
            key, "norm", title, shape, shape, weights=weights, flops=flops, opens=opens or key, step="norm",
            detail=NORM_NAMES[self.config.norm_kind],
        )  # fmt: skip

    # --- a layer

    def encoder_layer(self, layer: int) -> None:
        """Attention and FFN, each with its residual connection and its norm."""
        config = self.config
        weights_of = [config.weights_of_layer(index) for index in range(config.n_layers)]
        first = weights_of.index(weights_of[layer])
        self.layer, self.owner = layer, None if first == layer else first
        entering: str = self.last
        for part in ("attention", "ffn"):
            self.group, start, shape = part, self.last, (self.T, self.D)
            has_norm = part == "ffn" or config.has_attention_norm(layer)
            before, after = (has_norm and config.norm_placement == place for place in ("pre", "post"))
            key = f"layers.{layer}.{part}_norm"
            if config.parallel and part == "ffn":
                self.last = entering  # both sublayers read the same residual stream
            if before:
                self.norm(key, "Norm", self.D)
            if part == "attention":
                self.attention(f"layers.{layer}")
            else:
                self.feed_forward(f"layers.{layer}")
            if config.output_norms:
                self.norm(f"layers.{layer}.{part}_out_norm", "Norm", self.D, opens=f"layers.{layer}.{part}_out")
            added = self.add(
                f"layers.{layer}.{part}_add", "add", "Add", shape, shape, flops=self.T[1] * self.D[1],
                opens=f"{key}.input" if after else f"layers.{layer}.after_{part}",
                step="norm", detail="x + output of the sublayer",
            )  # fmt: skip
            self.edges.append(ArchitectureEdge(start, added, residual=True))
            if after:
                self.norm(key, "Norm", self.D)

    def attention(self, name: str) -> None:
        """Queries, keys, values, scores, softmax, weighted sum, W_O."""
        config, T, D, H, K = self.config, self.T, self.D, self.H, self.K
        inner, start = H[1] * K[1], self.last
        biased = {"q": config.qkv_bias, "k": config.key_bias, "v": config.qkv_bias}
        changed = ", normalised" if config.qk_norm != "none" else ""
        changed += ", turned by position" if config.position == "rotary" else ""
        widths = {"q": inner, "k": config.n_kv_heads * K[1], "v": config.n_kv_heads * K[1]}
        gains = {
            which: 0
            if config.qk_norm == "none"
            else (1 + config.norm_bias) * (K[1] if config.qk_norm == "head" else widths[which])
            for which in "qk"
        } | {"v": 0}
        q, k, v = (
            self.add(
                f"{name}.{which}", which, title, (T, D), (H, T, K), sources=(start,),
                weights=(D[1] + bool(biased[which])) * widths[which] + gains[which],
                flops=2 * T[1] * D[1] * widths[which], opens=f"{name}.{which}", step="qkv",
                detail=f"x W_{which.upper()}{'' if which == 'v' else changed}{'' if which == 'q' else sharing(config)}",
            )
            for which, title in (("q", "Queries"), ("k", "Keys"), ("v", "Values"))
        )  # fmt: skip
        owner, self.owner = self.owner, None  # the table of relative biases belongs to layer 0
        self.add(
            f"{name}.scores", "scores", "Scores", (H, T, K), (H, T, T), sources=(q, k),
            weights=self.score_weights(), flops=2 * T[1] ** 2 * inner,
            opens=f"{name}.scores", step="scores", detail=_score_detail(config, self.layer or 0),
        )  # fmt: skip
        self.owner = owner
        softmax = self.add(
            f"{name}.attention", "softmax", "Softmax", (H, T, T), (H, T, T), opens=f"{name}.attention",
            flops=ELEMENTWISE["softmax"] * H[1] * T[1] ** 2, step="softmax", detail="each row sums to 1",
        )  # fmt: skip
        self.add(
            f"{name}.z", "mixing", "Weighted sum of values", (H, T, T), (H, T, K), sources=(softmax, v),
            flops=2 * T[1] ** 2 * inner, opens=f"{name}.z", step="mixing", detail="weights × values",
        )  # fmt: skip
        self.add(
            f"{name}.attention_out", "projection", "Output projection W_O", (H, T, K), (T, D), detail="z W_O",
            weights=inner * D[1] + (D[1] if config.attention_bias else 0), flops=2 * T[1] * inner * D[1],
            opens=f"{name}.attention_out", step="mixing",
        )  # fmt: skip

    def score_weights(self) -> int:
        """Learned numbers of the scores: tables of biases, and DeBERTa's vectors of distances with their own maps."""
        config, first = self.config, self.layer == 0
        table = config.table_rows * config.n_heads
        count = table if first or config.relative_per_layer else 0
        shape = config.disentangled
        if shape is None:
            return count
        width, inner = config.d_model, config.n_heads * config.d_head
        if first:
            count += 2 * shape.span * width + shape.norm * (1 + config.norm_bias) * width
        if not shape.shared:
            count += shape.to_position * (width + shape.key_bias) * inner + shape.to_content * (width + 1) * inner
        return count

    def feed_forward(self, name: str) -> None:
        """Up-projection with its activation, down-projection."""
        config, T, D, F = self.config, self.T, self.D, self.F
        maps, products = (2 if config.gated else 1), D[1] * F[1]
        activation = NAMES[config.activation]
        elementwise = (ELEMENTWISE[config.activation] + maps - 1) * T[1] * F[1]
        self.add(
            f"{name}.ffn.hidden", "ffn", "FFN up-projection", (T, D), (T, F), opens=f"{name}.ffn.hidden", step="ffn",
            weights=maps * (products + (F[1] if config.ffn_in_bias else 0)),
            flops=2 * maps * T[1] * products + elementwise,
            detail=f"{activation}(x W_in)" + (" × x W_gate" if config.gated else ""),
        )  # fmt: skip
        self.add(
            f"{name}.ffn_out", "projection", "FFN down-projection", (T, F), (T, D), opens=f"{name}.ffn_out",
            weights=products + (D[1] if config.ffn_bias else 0), flops=2 * T[1] * products, step="ffn",
            detail="h W_out",
        )  # fmt: skip

    # --- after the layers

    def output(self) -> None:
        """The final norm, the output and what is made of it."""
        config, T, D = self.config, self.T, self.D
        self.group, self.layer, self.owner = "output", None, None
        if config.final_norm:
            self.norm("final_norm", "Final norm", D, opens="output")
        self.add(
            "output", "output", "Output", (T, D), (T, D), opens="output", step="output", detail="one vector per token"
        )
        self.add(
            "pooling", "pooling", "Pooling", (T, D), (D,), flops=T[1] * D[1], opens="pooled", step="output",
            detail="one vector for the text",
        )  # fmt: skip
        if config.pooler:
            self.add(
                "pooler", "projection", "Pooler", (D,), (D,), sources=("output",), weights=D[1] ** 2 + D[1],
                flops=2 * D[1] ** 2, step="output", detail="tanh layer on [CLS]; not part of the embedding",
            )  # fmt: skip


def sharing(config: EncoderConfig) -> str:
    """Words about heads that share keys and values; "" where each has its own."""
    if config.n_kv_heads == config.n_heads:
        return ""
    return f", {config.n_kv_heads} for {config.n_heads} heads of queries"


def _score_detail(config: EncoderConfig, layer: int) -> str:
    usual = abs(config.score_scale - config.d_head**-0.5) < 1e-9
    words = ["q · k / √K" if usual else "q · k × scale"]
    if config.score_cap is not None:
        words.append(f"at most {config.score_cap:g}")
    if config.disentangled is not None:
        words.append("content and distance")
    if config.relative_grid:
        words.append("bias by rows and columns")
    elif config.relative_buckets or config.position == "alibi":
        words.append("bias by offset")
    if config.causal:
        words.append("causal mask")
    window = config.window_of_layer(layer)
    if window is not None:
        words.append(f"{window} tokens each way")
    return ", ".join(words)
