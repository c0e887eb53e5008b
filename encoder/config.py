"""EncoderConfig: everything in which one encoder differs from another, as fields. No subclass, no family name.

Shapes: B batch, L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from encoder.errors import ConfigError

NormPlacement = Literal["pre", "post"]
PositionKind = Literal["learned", "sinusoidal", "rotary", "none"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]

NORM_PLACEMENTS: tuple[NormPlacement, ...] = ("pre", "post")
POSITION_KINDS = ("learned", "sinusoidal", "rotary", "none")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")


@dataclass(frozen=True)
class Patches:
    """Image input: square images cut into square patches (ViT)."""

    image_size: int
    patch_size: int
    channels: int = 3

    @property
    def count(self) -> int:
        """Number of patches of one image."""
        return (self.image_size // self.patch_size) ** 2


@dataclass(frozen=True)
class EncoderConfig:
    """The architecture of an encoder. Frozen: change one with `config.replace(...)`.

    Sizes
        vocab_size: rows of the token table (0 for images); d_model: D; n_layers: L; n_heads: H; d_ffn: F;
        d_head: K, by default D / H; max_positions: the longest input in tokens;
        embedding_width: E, width of the tables where it is not D (ELECTRA, ALBERT), projected to D afterwards;
        n_segments: rows of the segment table (0: none).
    Norms (LayerNorm)
        norm_placement: "post", x = norm(x + f(x)) (Vaswani et al. 2017), or "pre", x = x + f(norm(x));
        embedding_norm: one right after the embeddings; first_norm: False where layer 0 has no attention norm
        (ModernBERT); final_norm: one after the last layer (by default just for "pre"); norm_eps; norm_bias.
    Attention
        position: kind of positional encoding; position_offset: row of the first token in a learned table (RoBERTa: 2);
        pad_position: row that padding takes there, None to count on through padding;
        rotary_base: wavelength base, one number or one a layer; attention_window: farthest |i - j| that is seen,
        one number (None: everything) or one a layer; relative_buckets / relative_max_distance: a learned bias by
        distance added to the scores (MPNet, T5); causal: token i sees only j <= i;
        attention_scale: by default 1/sqrt(K).
    Feed-forward
        activation; gated: act(x W_in) * (x W_gate) instead of act(x W_in).
    The rest
        attention_bias, ffn_bias: whether these linear maps have a bias; qkv_bias: the same for q, k and v alone, by
        default as attention_bias (some ViT have none there); layer_groups: distinct layers when they are
        shared (ALBERT: 1), None when each layer is its own; pooler: BERT's tanh layer on [CLS] is part of the weights;
        dropout, attention_dropout: used while training only; pad_id; patches: image input in place of tokens.

    Raises ConfigError when fields contradict each other.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ffn: int
    d_head: int = 0
    max_positions: int = 512
    embedding_width: int = 0
    n_segments: int = 0
    norm_placement: NormPlacement = "post"
    embedding_norm: bool = True
    first_norm: bool = True
    final_norm: bool | None = None
    norm_eps: float = 1e-12
    norm_bias: bool = True
    position: PositionKind = "learned"
    position_offset: int = 0
    pad_position: int | None = None
    rotary_base: float | tuple[float, ...] = 10_000.0
    attention_window: int | tuple[int | None, ...] | None = None
    relative_buckets: int = 0
    relative_max_distance: int = 128
    causal: bool = False
    attention_scale: float | None = None
    activation: Activation = "gelu"
    gated: bool = False
    attention_bias: bool = True
    qkv_bias: bool | None = None
    ffn_bias: bool = True
    layer_groups: int | None = None
    pooler: bool = False
    dropout: float = 0.0
    attention_dropout: float = 0.0
    pad_id: int = 0
    patches: Patches | None = None

    def __post_init__(self) -> None:
        fill = object.__setattr__  # a frozen dataclass fills in its own defaults this way
        self._check_sizes()
        if not self.d_head:
            if self.d_model % self.n_heads:
                raise ConfigError(
                    f"d_model={self.d_model} cannot be split among n_heads={self.n_heads}: "
                    f"choose a width that is a multiple of {self.n_heads}, or give d_head."
                )
            fill(self, "d_head", self.d_model // self.n_heads)
        if not self.embedding_width:
            fill(self, "embedding_width", self.d_model)
        if self.qkv_bias is None:
            fill(self, "qkv_bias", self.attention_bias)
        if self.final_norm is None:
            fill(self, "final_norm", self.norm_placement == "pre")
        if self.attention_scale is None:
            fill(self, "attention_scale", self.d_head**-0.5)
        self._check_choices()
        self._check_per_layer()

    def _check_sizes(self) -> None:
        for name in ("d_model", "n_layers", "n_heads", "d_ffn", "max_positions"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: it must be at least 1.")
        if self.vocab_size < 1 and self.patches is None:
            raise ConfigError(f"vocab_size={self.vocab_size}: an encoder of text needs at least one token.")
        for name in ("dropout", "attention_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name}={getattr(self, name)}: it must lie in 0 (inclusive) to 1 (exclusive).")
        if not 0.0 <= self.norm_eps < math.inf:  # below 0 it can make a root of a negative number
            raise ConfigError(f"norm_eps={self.norm_eps}: it must be 0 or more, and finite.")

    def _check_choices(self) -> None:
        for name, allowed in (
            ("norm_placement", NORM_PLACEMENTS),
            ("position", POSITION_KINDS),
            ("activation", ACTIVATIONS),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(allowed)}.")
        if self.position == "rotary" and self.d_head % 2:
            raise ConfigError(
                f"Rotary positions turn pairs of numbers: a head's width must be even, not {self.d_head}."
            )
        if self.position == "sinusoidal" and self.embedding_width % 2:
            raise ConfigError(
                f"Sinusoidal positions come in sine-cosine pairs: the width must be even, not {self.embedding_width}."
            )
        if self.layer_groups is not None and not 1 <= self.layer_groups <= self.n_layers:
            raise ConfigError(f"layer_groups={self.layer_groups}: choose 1 to n_layers={self.n_layers}.")

    def _check_per_layer(self) -> None:
        for name in ("rotary_base", "attention_window"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != self.n_layers:
                raise ConfigError(f"{name} has {len(value)} entries for n_layers={self.n_layers}: give one a layer.")

    def replace(self, **changes: Any) -> EncoderConfig:
        """A copy with some fields changed; fields that were derived from the changed ones are derived anew."""
        derived = {
            "d_head": ("d_model", "n_heads"),
            "embedding_width": ("d_model",),
            "attention_scale": ("d_head", "d_model", "n_heads"),
            "qkv_bias": ("attention_bias",),
        }
        blank = {"d_head": 0, "embedding_width": 0, "attention_scale": None, "qkv_bias": None}
        for name, sources in derived.items():
            if name not in changes and any(source in changes for source in sources):
                changes[name] = blank[name]
        return dataclasses.replace(self, **changes)

    @property
    def max_tokens(self) -> int:
        """The longest input in tokens, special tokens included."""
        if self.patches is not None:
            return self.patches.count + 1
        return self.max_positions - (self.position_offset if self.position == "learned" else 0)

    @property
    def n_distinct_layers(self) -> int:
        """Layers with weights of their own: L, or the number of groups when layers share weights."""
        return self.layer_groups or self.n_layers

    def weights_of_layer(self, layer: int) -> int:
        """Index of the weights that `layer` runs with (ALBERT's layers share theirs by group)."""
        return layer * self.n_distinct_layers // self.n_layers

    def window_of_layer(self, layer: int) -> int | None:
        """Farthest |i - j| that `layer` sees; None: everything."""
        window = self.attention_window
        return window[layer] if isinstance(window, tuple) else window

    def rotary_base_of_layer(self, layer: int) -> float:
        """Base of the rotary wavelengths in `layer`."""
        base = self.rotary_base
        return base[layer] if isinstance(base, tuple) else base

    def has_attention_norm(self, layer: int) -> bool:
        """Whether `layer` has a norm of its own around attention (ModernBERT's first has none)."""
        return self.first_norm or layer > 0
