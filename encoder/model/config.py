"""EncoderConfig: every difference between two encoders is one of its fields. No subclass, no family name.

Shapes: B batch, L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from encoder.errors import ConfigError
from encoder.model.boxes import Boxes
from encoder.model.checks import LARGEST, MAX_LAYERS, MOST, check_kinds, check_whole, settle_eps, settle_factors
from encoder.model.conformer import Conformer
from encoder.model.disentangled import Disentangled
from encoder.model.distances import DistanceKeys
from encoder.model.experts import Experts
from encoder.model.paths import Paths
from encoder.model.rotary import RotaryScaling
from encoder.model.sound_shapes import Convolutions, Frames, SpectrogramPatches

__all__ = [
    "ACTIVATIONS", "MAX_LAYERS", "MOST", "NORM_PLACEMENTS", "POSITION_KINDS", "Activation", "EncoderConfig",
    "NormPlacement", "Patches", "PositionKind", "check_whole",
]  # fmt: skip

NormPlacement = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]
QKNorm = Literal["none", "head", "full"]
PositionKind = Literal["learned", "sinusoidal", "rotary", "none", "convolutional", "alibi"]
Sublayer = Literal["first_ffn", "attention", "cross", "convolution", "ffn", "adapter"]
Activation = Literal["relu", "relu2", "gelu", "gelu_tanh", "gelu_rounded", "quick_gelu", "silu"]

NORM_PLACEMENTS: tuple[NormPlacement, ...] = get_args(NormPlacement)
#: The kinds that fit any input; "convolutional" comes with a checkpoint of sound.
POSITION_KINDS = ("learned", "sinusoidal", "rotary", "none")
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)


@dataclass(frozen=True)
class Patches:
    """Image input: square images, cut into square patches (ViT); or the frames of a video, each such an image."""

    #: Pixels of a side.
    image_size: int
    #: Pixels of a side of a patch.
    patch_size: int
    #: Numbers of a pixel: 3 for red, green and blue.
    channels: int = 3
    #: Whether a second special token, DeiT's, follows [CLS].
    distillation: bool = False
    #: Special tokens after it that have no position (Darcet et al. 2024).
    registers: int = 0
    #: Whether there is a [CLS] (SigLIP: False).
    cls: bool = True
    #: Whether the patches' linear map has a bias.
    bias: bool = True
    #: Special tokens that find one object each, after those, with positions at the end of the table (YOLOS).
    detection: int = 0
    #: Rows and columns of patches in the table of positions, which is scaled to the image's; None: they are equal.
    table: tuple[int, int] | None = None
    #: Whether an RMSNorm follows the patches' linear map, before the positions (AIMv2).
    norm: bool = False
    #: Frames of a video; 0: the input is one image.
    frames: int = 0
    #: Frames whose patches at one place are one token, a tubelet (VideoMAE).
    tubelet: int = 1

    def __post_init__(self) -> None:
        check_whole("registers", self.registers, 0, MAX_LAYERS)
        check_whole("detection", self.detection, 0)
        for length in self.table or ():
            check_whole("table", length, 1)
        check_whole("image_size", self.image_size, 1)
        check_whole("patch_size", self.patch_size, 1, int(self.image_size))
        check_whole("channels", self.channels, 1)
        check_whole("frames", self.frames, 0)
        check_whole("tubelet", self.tubelet, 1, max(1, self.frames))
        check_whole("the number of patches", self.count, 1)
        if self.norm and any(self.special.values()):
            raise ConfigError("Only patches without special tokens have a norm of their own: set norm to False.")
        if not self.cls and (self.distillation or self.registers or self.detection):
            raise ConfigError("Images without [CLS] have no other special tokens: set their numbers to 0.")
        if self.frames and (self.cls or self.norm or self.table):
            raise ConfigError("Videos have tubelets only: set cls and norm to False, and table to None.")

    @property
    def count(self) -> int:
        """Number of patches of one image, or of tubelets of one video."""
        return self.steps * self.side**2

    @property
    def steps(self) -> int:
        """Time steps, of `tubelet` frames each; a rest of frames belongs to none. 1 for an image."""
        return self.frames // self.tubelet if self.frames else 1

    @property
    def side(self) -> int:
        """Patches side by side."""
        return self.image_size // self.patch_size

    @property
    def n_positions(self) -> int:
        """Rows of the table of positions: of [CLS], DeiT's token, the patches and the detection tokens."""
        rows, columns = self.table or (self.side, self.side)
        return self.steps * rows * columns + self.cls + self.distillation + self.detection

    @property
    def n_tokens(self) -> int:
        """T: patches and special tokens of one image."""
        return self.count + sum(self.special.values())

    @property
    def special(self) -> dict[str, int]:
        """The special tokens, in order: their kind and number."""
        return {kind: int(getattr(self, kind)) for kind in ("cls", "distillation", "registers", "detection")}


@dataclass(frozen=True)
class EncoderConfig:
    """The architecture of an encoder. Frozen: change one with `config.replace(...)`.

    Raises ConfigError when fields contradict each other.
    """

    # Sizes
    #: Rows of the token table (0 for images).
    vocab_size: int
    #: D, the width of the residual stream.
    d_model: int
    #: L; 0 for a table of tokens only (static embeddings).
    n_layers: int
    #: H, the heads of queries.
    n_heads: int
    #: F, the neurons of the feed-forward layer.
    d_ffn: int
    #: K, the width of a head, by default D / H.
    d_head: int = 0
    #: Heads of keys and values, by default H. With fewer, consecutive heads of queries share one (grouped-query
    #: attention, Ainslie et al. 2023).
    n_kv_heads: int = 0
    #: Rows of the table of positions; without a table, the longest input in tokens.
    max_positions: int = 512
    #: The longest input in tokens, where it is not what the positions allow.
    longest: int | None = None
    #: E, the width of the tables where it is not D (ELECTRA, ALBERT). It is then projected to D.
    embedding_width: int = 0
    #: Rows of the segment table (0: none).
    n_segments: int = 0

    # Vectors of tokens
    #: Factor of the tokens' vectors (Gemma: sqrt D).
    embedding_scale: float = 1.0
    #: Tokens with this id have the vector 0, and the others are scaled by 0.88 / (1 - share of such tokens) (ESM-2).
    #: None: no such token.
    mask_id: int | None = None

    # Norms
    #: "layer": LayerNorm; "rms": RMSNorm.
    norm_kind: NormKind = "layer"
    #: "post": x = norm(x + f(x)) (Vaswani et al. 2017); "pre": x = x + f(norm(x)).
    norm_placement: NormPlacement = "post"
    #: Whether a norm follows the embeddings.
    embedding_norm: bool = True
    #: False where layer 0 has no attention norm (ModernBERT).
    first_norm: bool = True
    #: Whether one more norm is applied to what each sublayer adds (Gemma 2).
    output_norms: bool = False
    #: Whether the FFN reads the same residual stream as attention (GPT-NeoX).
    parallel: bool = False
    #: Whether a norm follows the last layer, by default only for "pre".
    final_norm: bool | None = None
    #: Added to the variance.
    norm_eps: float = 1e-12
    #: Whether norms have a learned bias.
    norm_bias: bool = True
    #: False where norms have no learned gain (nanochat).
    norm_gain: bool = True

    # Positions
    #: The kind of positional encoding.
    position: PositionKind = "learned"
    #: Whether sines come first and then cosines (M2M100), and not in turn.
    sine_halves: bool = False
    #: The row of the first token in a learned table (RoBERTa: 2).
    position_offset: int = 0
    #: The row of all padding in that table; None: padding counts on.
    pad_position: int | None = None
    #: The base of the wavelengths, one number or one for each layer.
    rotary_base: float | tuple[float, ...] = 10_000.0
    #: Numbers of a head that rotate, by default all K.
    rotary_width: int = 0
    #: Whether neighbours rotate together (GPT-J), and not the two halves.
    rotary_interleaved: bool = False
    #: Whether q and k turn by minus their angle.
    rotary_reversed: bool = False
    #: How wavelengths are stretched for longer inputs, one way or one for each layer.
    rotary_scaling: RotaryScaling | tuple[RotaryScaling | None, ...] | None = None
    #: Whether angles follow a patch's row and column (DINOv3), of a tubelet also its time step (V-JEPA 2).
    rotary_grid: bool = False
    #: Whether the vector that q and k are made of turns, in H parts, and not q and k (Wav2Vec2-Conformer).
    rotary_input: bool = False
    #: Whether sines and cosines are a table of the weights, with a row for each position (RoFormer), not of angles.
    rotary_table: bool = False

    # Attention: which keys, and what is added to the scores
    #: The largest |i - j| that attends, one number (None: no limit) or one for each layer.
    attention_window: int | tuple[int | None, ...] | None = None
    #: Tokens of a block, whose tokens attend to each other only; 0: there are no blocks (Granite Speech).
    attention_block: int = 0
    #: Rows of the table of a learned bias by distance, which is added to the scores (MPNet, T5); 0: none.
    relative_buckets: int = 0
    #: Where the last of these rows begins.
    relative_max_distance: int = 128
    #: Whether all rows are of earlier tokens (T5's decoder).
    relative_one_sided: bool = False
    #: Whether each layer has a table of its own.
    relative_per_layer: bool = False
    #: Whether the bias is one by rows and columns between patches (BEiT).
    relative_grid: bool = False
    #: Whether a query's biases are multiplied by a gate of its input (WavLM).
    relative_gate: bool = False
    #: DeBERTa's terms; None: none.
    disentangled: Disentangled | None = None
    #: Products with keys of distances; None: none.
    distance_keys: DistanceKeys | None = None
    #: Scores are cap x tanh(score / cap) before the mask; None: as they are.
    score_cap: float | None = None

    # Attention: the rest
    #: A norm on each head's q and k ("head") or on all heads together ("full"), before the rotation, or "none".
    qk_norm: QKNorm = "none"
    #: Whether that norm has a gain, by default as norm_gain.
    qk_norm_gain: bool | None = None
    #: Whether token i attends only to j <= i.
    causal: bool = False
    #: Width of the vectors that a decoder's cross-attention reads; 0: no cross-attention.
    memory_width: int = 0
    #: Whether each head has a learned score that takes part in every softmax and has no value, so that weights sum to
    #: less than 1 (gpt-oss).
    attention_sinks: bool = False
    #: Whether each head's z is multiplied by sigmoid(x . w) of its token (Qiu et al. 2025).
    output_gate: bool = False
    #: Factor of q . k, by default 1 / sqrt(K).
    attention_scale: float | None = None

    # Feed-forward
    #: The activation function.
    activation: Activation = "gelu"
    #: Whether the hidden layer is act(x W_in) * (x W_gate), and not act(x W_in).
    gated: bool = False
    #: A router that chooses some experts for each token, in all layers or in some (`of_layer`); d_ffn is the width of
    #: all experts of a layer together. None: no experts.
    experts: Experts | None = None
    #: Neurons of a second, narrower feed-forward layer, a sublayer of its own after the first (X-MOD, Pfeiffer et al.
    #: 2022); 0: none.
    adapter: int = 0
    #: A Conformer's sublayers: one more feed-forward layer before attention, a convolution after it, and a norm at the
    #: end of the layer; None: none.
    conformer: Conformer | None = None

    # Biases of linear maps
    #: Whether attention's linear maps have a bias.
    attention_bias: bool = True
    #: The same for q, k and v, by default as attention_bias (some ViT have none there).
    qkv_bias: bool | None = None
    #: The same for k only, by default as qkv_bias (Whisper: False).
    key_bias: bool | None = None
    #: Whether the FFN's linear maps have a bias.
    ffn_bias: bool = True
    #: The same for the maps into the hidden layer, by default as ffn_bias (GTE: False).
    ffn_in_bias: bool | None = None

    # Weights, training, padding
    #: The number of distinct layers where layers share weights (ALBERT: 1); None: all differ.
    layer_groups: int | None = None
    #: Whether the weights include BERT's tanh layer on [CLS].
    pooler: bool = False
    #: Share of numbers that are dropped after a sublayer, in training only.
    dropout: float = 0.0
    #: Share of attention weights that are dropped, in training only.
    attention_dropout: float = 0.0
    #: The id of the padding token.
    pad_id: int = 0

    # Inputs that are not text
    #: Image or video input; None: neither.
    patches: Patches | None = None
    #: Sound input as patches of a spectrogram; None: none.
    spectrogram: SpectrogramPatches | None = None
    #: Sound input through convolutions over time; None: none.
    convolutions: Convolutions | None = None
    #: Sound input as frames of a spectrogram; None: none.
    frames: Frames | None = None

    #: Whether the input is vectors of tokens, which other modules made (of pages, by ModernVBERT).
    vectors: bool = False

    # Positions of such inputs
    #: Time steps that the convolution of "convolutional" positions sees (Wav2Vec2).
    position_kernel: int = 0
    #: Groups of channels of that convolution.
    position_groups: int = 1
    #: The number of such convolutions with norms between them (Data2Vec); 0: one without norms.
    position_layers: int = 0
    #: Whether each layer but the first adds a table of positions to its input (YOLOS).
    layer_positions: bool = False

    #: Words at places of a page (LayoutLM) or of its tree (MarkupLM); None: the order of the tokens is all.
    places: Boxes | Paths | None = None
    #: The image of the page that words with boxes are on, whose patches may follow them (LayoutLMv3); None: no image.
    page: Patches | None = None
    #: Whether an image is there, and its patches are the last tokens of every text.
    reads_page: bool = False

    def __post_init__(self) -> None:
        fill = object.__setattr__  # how a frozen dataclass sets its own fields
        self._check_sizes()
        if not self.d_head and self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model={self.d_model} cannot be split among n_heads={self.n_heads}: choose a multiple of "
                f"{self.n_heads}, or specify d_head."
            )
        for name, (blank, derive, _) in DERIVED.items():
            if getattr(self, name) == blank:
                fill(self, name, derive(self))
        self._check_choices()
        self._check_per_layer()

    def _check_sizes(self) -> None:
        check_whole("n_layers", self.n_layers, 0 if self.takes_text else 1, MAX_LAYERS)
        for name in ("d_model", "n_heads", "d_ffn", "max_positions", "relative_max_distance"):
            check_whole(name, getattr(self, name), 1)
        for name in (
            "d_head",
            "n_kv_heads",
            "embedding_width",
            "n_segments",
            "position_offset",
            "relative_buckets",
            "pad_id",
            "rotary_width",
            "memory_width",
            "adapter",
            "attention_block",
        ):
            check_whole(name, getattr(self, name), 0)
        check_whole("vocab_size", self.vocab_size, 1 if self.takes_text else 0)
        check_whole("n_heads x d_head", self.n_heads * (self.d_head or 1), 1)
        if self.longest is not None:
            check_whole("longest", self.longest, 1)
        if self.position == "learned":
            check_whole("position_offset", self.position_offset, 0, self.max_positions - 1)
        if self.pad_position is not None:
            check_whole("pad_position", self.pad_position, 0, self.max_positions - 1)
            if not self.takes_text:
                raise ConfigError("Only texts have padding with a position of its own: leave pad_position out.")
        if self.mask_id is not None:
            check_whole("mask_id", self.mask_id, -MOST)  # one of no token hides nothing
            if not self.takes_text:
                raise ConfigError("Only texts have tokens to hide: leave mask_id out.")
        if self.relative_buckets:  # a quarter of them are exact distances, which end before the largest one
            check_whole("relative_buckets", self.relative_buckets, 4, max(4, 4 * (self.relative_max_distance - 1)))
        for name in ("dropout", "attention_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name}={getattr(self, name)} is out of range: choose 0 or more, and less than 1.")
        settle_eps(self, "norm_eps")

    def _check_choices(self) -> None:
        check_kinds(self)
        if self.experts is not None:
            self.experts.check(self.d_ffn, bool(self.ffn_in_bias))
            if self.experts.layers is not None and self.layer_groups is not None:
                raise ConfigError(
                    "Layers that share weights are alike: set layer_groups or the experts' layers to None."
                )
        if self.places is not None and (not self.takes_text or self.causal):
            raise ConfigError("Only an encoder of texts has words at places of a page: leave places out.")
        if self.boxes is not None:
            self.boxes.widths(self.embedding_width)
            if self.boxes.shrink:
                self._check_beside(self.boxes.shrink)
        if self.position == "convolutional":
            self._check_position_kernel()
        self._check_heads()
        if self.position == "sinusoidal" and self.embedding_width % 2:
            raise ConfigError(
                f"Sinusoidal positions are pairs, but the width {self.embedding_width} is odd: choose an even width."
            )
        if self.layer_groups is not None and not 1 <= self.layer_groups <= self.n_layers:
            raise ConfigError(
                f"layer_groups={self.layer_groups} is out of range: choose 1 to n_layers={self.n_layers}."
            )

    def _check_beside(self, shrink: int) -> None:
        """A stream of boxes, whose heads share the weights of those of the text."""
        if any(getattr(self, name) % shrink for name in ("d_model", "d_head", "d_ffn")):
            raise ConfigError(
                f"shrink={shrink} does not divide d_model={self.d_model}, d_head={self.d_head} and d_ffn={self.d_ffn}: "
                "choose a divisor of all three."
            )
        plain = (self.position == "learned" and self.qk_norm == "none" and self.n_kv_heads == self.n_heads
                 and self.embedding_width == self.d_model)  # fmt: skip
        more = (self.parallel, self.output_norms, self.memory_width, self.adapter, self.experts, self.output_gate)
        if not plain or any(more) or self.attention_sinks or self.disentangled or self.score_cap is not None:
            raise ConfigError("A stream of boxes fits plain layers with learned positions only: set shrink to 0.")
        if self.attention_scale == 0:
            raise ConfigError(
                "attention_scale=0 and a stream of boxes: its scores are next to none. Choose another scale."
            )

    def _check_heads(self) -> None:
        """Heads that share keys and values, and what rotates."""
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"n_heads={self.n_heads} cannot share n_kv_heads={self.n_kv_heads}: choose a divisor of {self.n_heads}."
            )
        if self.parallel and self.norm_placement == "post":
            raise ConfigError("Parallel sublayers have their norms before them: set norm_placement to pre.")
        if self.position == "rotary" and self.rotary_width % 2:
            raise ConfigError(
                f"Rotary positions rotate pairs of numbers, but {self.rotary_width} of d_head={self.d_head} rotate: "
                "choose an even width."
            )
        check_whole("rotary_width", self.rotary_width, 1, self.d_head)
        if (self.rotary_grid or self.relative_grid or self.layer_positions) and self.patches is None:
            raise ConfigError("Only images have rotary_grid, relative_grid and layer_positions: set them to False.")
        if self.memory_width and (self.parallel or self.output_norms or not self.takes_text):
            raise ConfigError(
                "Only a decoder of text, with its sublayers in turn, has cross-attention: set memory_width to 0."
            )
        if self.adapter and (self.parallel or self.output_norms or self.memory_width):
            raise ConfigError("Only an encoder with its sublayers in turn has adapters: set adapter to 0.")
        if self.conformer is not None and (
            self.parallel or self.output_norms or self.memory_width or self.adapter or self.experts or self.causal
        ):
            raise ConfigError("A Conformer's layer has its own four sublayers only: set conformer to None.")
        if self.rotary_input and (self.position != "rotary" or self.n_heads * self.d_head != self.d_model):
            raise ConfigError(
                "Vectors turn in parts of d_head numbers, by rotary positions: set rotary_input to False."
            )
        if self.rotary_table and (
            self.position != "rotary" or self.rotary_grid or self.rotary_reversed or self.rotary_scaling is not None
        ):
            raise ConfigError("A table of rotations has the angles of rotary positions: set rotary_table to False.")
        if self.distance_keys is not None and (
            self.disentangled or self.n_kv_heads != self.n_heads or self.d_model % 2
        ):
            raise ConfigError(
                "Keys of distances need a key for each head, an even width and no DeBERTa terms: set distance_keys to "
                "None."
            )
        if self.rotary_grid and self.patches is not None and self.patches.frames:
            if self.rotary_width % 6:
                raise ConfigError(
                    f"Time, rows and columns need pairs each: rotary_width={self.rotary_width} is not a multiple of 6."
                )
        elif self.rotary_grid and self.d_head % 4:
            raise ConfigError(f"Rotary rows and columns need four numbers each, and d_head={self.d_head}.")
        if self.relative_grid and self.patches is not None and self.patches.frames:
            raise ConfigError("A bias by rows and columns is of one image: set relative_grid to False.")
        if self.relative_grid and self.relative_buckets:
            raise ConfigError("A bias by rows and columns has no buckets: set relative_buckets to 0.")
        if self.relative_gate and (not self.relative_buckets or self.convolutions is None):
            raise ConfigError("Only a sound's bias by distance has a gate: set relative_gate to False.")
        settle_factors(self, "score_cap", "embedding_scale")

    def _check_position_kernel(self) -> None:
        check_whole("position_kernel", self.position_kernel, 1, 10_000)
        check_whole("position_groups", self.position_groups, 1, self.embedding_width)
        check_whole("position_layers", self.position_layers, 0, 16)
        if self.position_layers and self.merged_steps > 1:
            raise ConfigError("Several convolutions of positions have one step for each token: set merged to 1.")
        if self.embedding_width % self.position_groups:
            raise ConfigError(
                f"The width {self.embedding_width} cannot be split among position_groups={self.position_groups}: "
                "choose a divisor."
            )

    def _check_per_layer(self) -> None:
        for name in ("rotary_base", "attention_window", "rotary_scaling"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != self.n_layers:
                raise ConfigError(
                    f"{name} has {len(value)} entries for n_layers={self.n_layers}: specify one for each layer."
                )
            for one in value if isinstance(value, tuple) else (value,):
                if name == "attention_window" and one is not None:
                    check_whole(name, one, 0)
                elif name == "rotary_base" and not 0.0 < one <= LARGEST:
                    raise ConfigError(f"rotary_base={one} is out of range: choose a finite number above 0.")
        if self.attention_scale is not None and not abs(self.attention_scale) <= LARGEST:
            raise ConfigError(f"attention_scale={self.attention_scale} is out of range: choose a finite number.")

    def replace(self, **changes: Any) -> EncoderConfig:
        """A copy with some fields changed. Fields that depend on them are derived again."""
        for name, (blank, _, sources) in DERIVED.items():
            if name not in changes and any(source in changes for source in sources):
                changes[name] = blank
        return dataclasses.replace(self, **changes)

    @property
    def takes_text(self) -> bool:
        """Whether the input is ids of tokens, and not an image, a sound or vectors."""
        signals = (self.patches, self.spectrogram, self.convolutions, self.frames)
        return not self.vectors and all(one is None for one in signals)

    @property
    def sublayers(self) -> tuple[Sublayer, ...]:
        """The sublayers of a layer, in order: a decoder that reads an input has cross-attention."""
        if self.adapter:
            return "attention", "ffn", "adapter"
        if self.conformer is not None:
            return "first_ffn", "attention", "convolution", "ffn"
        return ("attention", "cross", "ffn") if self.memory_width else ("attention", "ffn")

    @property
    def after_layer(self) -> str:
        """The hook point of the residual stream after a layer."""
        return f"after_{self.sublayers[-1]}"

    @property
    def merged_steps(self) -> int:
        """Steps of the convolutions of a sound whose mean is one token."""
        return 1 if self.convolutions is None else self.convolutions.merged

    @property
    def max_tokens(self) -> int:
        """The longest input in tokens, special tokens included."""
        if self.patches is not None:
            return self.patches.n_tokens
        rows = self.max_positions - (self.position_offset if self.position == "learned" else 0)
        return rows if self.longest is None else min(rows, self.longest)

    def of_layer(self, layer: int) -> EncoderConfig:
        """The same, of one layer's kind where only some have experts: with them, or with a plain feed-forward layer as
        wide as one of them."""
        experts = self.experts
        if experts is None or experts.layers is None:
            return self
        if layer in experts.layers:
            return self.replace(experts=dataclasses.replace(experts, layers=None), ffn_in_bias=False)
        return self.replace(experts=None, d_ffn=self.d_ffn // experts.count)

    @property
    def used_ffn(self) -> int:
        """Neurons that work for one token: F, or those of its experts."""
        return self.d_ffn if self.experts is None else self.d_ffn // self.experts.count * self.experts.chosen

    @property
    def n_distinct_layers(self) -> int:
        """Number of layers with different weights: L, or the number of groups where layers share weights."""
        return self.layer_groups or self.n_layers

    def weights_of_layer(self, layer: int) -> int:
        """Index of the weights of `layer` (in ALBERT, the layers of a group share them)."""
        return layer * self.n_distinct_layers // self.n_layers

    def window_of_layer(self, layer: int) -> int | None:
        """Largest |i - j| that attends in `layer`; None: no limit."""
        window = self.attention_window
        return window[layer] if isinstance(window, tuple) else window

    def rotary_base_of_layer(self, layer: int) -> float:
        """Base of the rotary wavelengths in `layer`."""
        base = self.rotary_base
        return base[layer] if isinstance(base, tuple) else base

    def rotary_of_layer(self, layer: int) -> tuple[float, RotaryScaling | None]:
        """Base and scaling of the rotary frequencies in `layer`."""
        scaling = self.rotary_scaling
        return self.rotary_base_of_layer(layer), scaling[layer] if isinstance(scaling, tuple) else scaling

    @property
    def rotary_sign(self) -> int:
        """The factor of a position in its angle."""
        return -1 if self.rotary_reversed else 1

    def first_layers(self) -> list[int]:
        """The first layer of each kind of rotary frequencies."""
        return list({self.rotary_of_layer(layer): layer for layer in reversed(range(self.n_layers))}.values())

    def kv_head(self, head: int) -> int:
        """The head of keys and values that this head of queries uses."""
        return head * self.n_kv_heads // self.n_heads

    @property
    def has_positions(self) -> bool:
        """Whether a vector, a rotation or a score depends on where a token is: what edits of positions change."""
        in_scores = self.table_rows > 0 or self.disentangled is not None or self.distance_keys is not None
        return self.position != "none" or in_scores

    @property
    def table_rows(self) -> int:
        """Rows of a table of biases: buckets of distances, or differences of rows and columns; 0: no table."""
        if self.relative_grid and self.patches is not None:
            return (2 * self.patches.side - 1) ** 2 + 3
        return self.relative_buckets

    @property
    def score_scale(self) -> float:
        """The factor of q . k in the scores: attention_scale, which a config always has once it is made."""
        assert self.attention_scale is not None
        return float(self.attention_scale)

    @property
    def letters_layer(self) -> int | None:
        """The layer to which the letters of the middle one are added; None: there are none."""
        middle = self.n_layers // 2
        return middle if middle and self.conformer is not None and self.conformer.letters else None

    @property
    def n_page_tokens(self) -> int:
        """The last tokens of every text, which are of the image of a page; 0 without an image."""
        return self.page.n_tokens if self.page is not None and self.reads_page else 0

    @property
    def boxes(self) -> Boxes | None:
        """Its places, where they are boxes."""
        return self.places if isinstance(self.places, Boxes) else None

    @property
    def beside(self) -> EncoderConfig | None:
        """The layers of the stream of boxes next to that of the text (LiLT); None: there is none."""
        if self.boxes is None or not self.boxes.shrink:
            return None
        widths = {name: getattr(self, name) // self.boxes.shrink for name in ("d_model", "d_head", "d_ffn")}
        return self.replace(**widths, places=None)

    @property
    def cross(self) -> EncoderConfig:
        """The same heads without mask, positions and bias: what cross-attention has of a decoder's config."""
        return dataclasses.replace(
            self,
            causal=False,
            position="none",
            relative_buckets=0,
            attention_window=None,
            attention_block=0,
            disentangled=None,
            distance_keys=None,
            attention_sinks=False,
            output_gate=False,
            score_cap=None,
            qk_norm="none",
        )

    def has_attention_norm(self, layer: int) -> bool:
        """Whether `layer` has an attention norm (ModernBERT's first layer has none)."""
        return self.first_norm or layer > 0


def _scale(config: EncoderConfig) -> float:
    """1 / sqrt(K), or with DeBERTa's terms 1 / sqrt(K x their number)."""
    terms = 1 if config.disentangled is None else config.disentangled.n_terms
    return float((config.d_head * terms) ** -0.5)


#: A field that is derived where it is blank -> (blank, how, the fields whose change derives it again), in this order.
DERIVED: dict[str, tuple[int | None, Callable[[EncoderConfig], Any], tuple[str, ...]]] = {
    "d_head": (0, lambda config: config.d_model // config.n_heads, ("d_model", "n_heads")),
    "n_kv_heads": (0, lambda config: config.n_heads, ("n_heads",)),
    "rotary_width": (0, lambda config: config.d_head, ("d_head", "d_model", "n_heads")),
    "embedding_width": (0, lambda config: config.d_model, ("d_model",)),
    "qkv_bias": (None, lambda config: config.attention_bias, ("attention_bias",)),
    "key_bias": (None, lambda config: config.qkv_bias, ("attention_bias", "qkv_bias")),
    "qk_norm_gain": (None, lambda config: config.norm_gain, ("norm_gain",)),
    "ffn_in_bias": (None, lambda config: config.ffn_bias, ("ffn_bias",)),
    "final_norm": (None, lambda config: config.norm_placement == "pre", ()),
    "attention_scale": (None, _scale, ("d_head", "d_model", "n_heads", "disentangled")),
}
