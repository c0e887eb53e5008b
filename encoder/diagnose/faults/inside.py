"""Faults inside the encoder: which tokens attend to which, positions, norms, the activation, the order of its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from encoder.diagnose.faults.base import EVERY_INPUT, Clues, Fault, edited, refuse_unless, register, unique
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.edits import CausalMask, DropPositions, Edit, Zero
from encoder.encoders.text import TextEncoder
from encoder.inputs.layout import InputKind
from encoder.model.config import Activation, EncoderConfig
from encoder.model.encoder import Encoder

#: Constants that programs write into their code.
USUAL_EPS = (1e-12, 1e-6, 1e-5, 1e-8, 1e-7, 1e-3)
USUAL_BASES = (10_000.0, 1_000_000.0, 160_000.0, 500_000.0, 100_000.0, 1_000.0, 20_000.0)
USUAL_SCALES = (2.0, 4.0, 8.0)


@dataclass(frozen=True)
class _OfConfig(Fault):
    """Base: another architecture over the same weights."""

    stage: ClassVar[Stage] = "layers"

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        """The fields of the config that change. Raises EncoderError where the fault does not fit."""
        raise NotImplementedError

    def apply(self, pipeline: Pipeline) -> Pipeline:
        changes, config = self.changes(pipeline.front.config), pipeline.front.config
        refuse_unless(any(getattr(config, name) != value for name, value in changes.items()), "is like this already")
        return dataclasses.replace(pipeline, front=pipeline.front.varied(changes))


@dataclass(frozen=True)
class _OfEdits(Fault):
    """Base: a fault that is an edit of the forward pass."""

    stage: ClassVar[Stage] = "layers"
    does: ClassVar[tuple[Edit, ...]] = ()

    def edits(self, model: TextEncoder) -> tuple[Edit, ...]:
        return self.does

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return edited(pipeline, *self.does)


# --- attention ------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class Causal(_OfEdits):
    """Tokens attend only to earlier ones in a model that was trained in both directions."""

    name: ClassVar[str] = "causal"
    part: ClassVar[str] = "softmax"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "computes attention causally, in one direction only"
    remedy: ClassVar[str] = "Use the bidirectional class of the model (is_causal=False), or a version that knows it."
    does: ClassVar[tuple[Edit, ...]] = (CausalMask(),)

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(not pipeline.front.config.causal, "is causal")
        return super().apply(pipeline)


@register
@dataclass(frozen=True)
class Bidirectional(_OfConfig):
    """Tokens attend in both directions in a causal model."""

    name: ClassVar[str] = "bidirectional"
    part: ClassVar[str] = "softmax"
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "computes attention in both directions, without the causal mask"
    remedy: ClassVar[str] = "Use the causal class of the model (is_causal=True), as its config.json says."

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"causal": False}


@register
@dataclass(frozen=True)
class Window(_OfConfig):
    """Another attention window, or none."""

    window: tuple[int | None, ...]
    name: ClassVar[str] = "window"
    part: ClassVar[str] = "softmax"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "uses other attention windows than config.json says: {window}"
    remedy: ClassVar[str] = "Give each layer the mask of its own kind (layer_types, sliding_window)."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        own = tuple(config.window_of_layer(layer) for layer in range(config.n_layers))
        size = next((one for one in own if one is not None), None)
        if size is None:
            return []
        all_wide, all_narrow = (None,) * len(own), (size,) * len(own)
        swapped = tuple(None if one is not None else size for one in own)
        other = [tuple(change(one) if one is not None else None for one in own) for change in WINDOW_CHANGES]
        return unique([one for one in (all_wide, all_narrow, swapped, *other) if one != own], cls)

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"attention_window": self.window}

    def _said(self, parameters: dict[str, Any]) -> str:
        kinds = dict.fromkeys("none" if one is None else str(one) for one in self.window)
        return self.said.format(window=" and ".join(kinds))


#: Readings of a window's size: whole and half, with and without the token itself.
WINDOW_CHANGES: tuple[Callable[[int], int], ...] = (
    lambda one: one - 1,
    lambda one: one + 1,
    lambda one: 2 * one,
    lambda one: max(1, one // 2),
)


@register
@dataclass(frozen=True)
class AttentionScale(_OfConfig):
    """Scores are scaled by another factor."""

    scale: float
    name: ClassVar[str] = "attention-scale"
    part: ClassVar[str] = "scores"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    said: ClassVar[str] = "multiplies attention scores by {scale:.6g}"
    remedy: ClassVar[str] = "Use the factor of config.json, or 1 / sqrt(width of a head)."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        usual = (config.d_head**-0.5, config.d_model**-0.5, 1.0, 1.0 / config.d_head)
        return unique([one for one in usual if one != config.attention_scale], cls)

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"attention_scale": self.scale}


@register
@dataclass(frozen=True)
class HeadOrder(Fault):
    """The numbers of q, k and v are split into heads in another order."""

    how: Literal["interleaved", "reversed"]
    name: ClassVar[str] = "head-order"
    part: ClassVar[str] = "heads"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "splits or joins attention heads in another order ({how})"
    remedy: ClassVar[str] = "Split q, k and v as [heads, width of a head], and join the heads in the same order."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls("interleaved"), cls("reversed")] if pipeline.front.config.n_heads > 1 else []

    def apply(self, pipeline: Pipeline) -> Pipeline:
        encoder = pipeline.front.encoder
        config = encoder.config
        found: dict[str, Tensor] = {}
        for name, weight in encoder.state_dict().items():
            kind = name.split("attention.")[-1].split(".")[0] if ".attention." in name else ""
            if kind == "w_o" and name.endswith("weight"):
                found[name] = weight[:, self.order(config.n_heads, config.d_head)]
            elif self.how == "interleaved" and kind in ("w_q", "w_k", "w_v"):
                found[name] = weight[self.order(len(weight) // config.d_head, config.d_head)]
        return pipeline.with_front(encoder=pipeline.front.varied({}, found).encoder)

    def order(self, heads: int, width: int) -> Tensor:
        """The places of the numbers in the other order."""
        places = torch.arange(heads * width)
        if self.how == "reversed":
            return places.view(heads, width).flip(0).flatten()
        return places.view(width, heads).T.flatten()


# --- positions ------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class PositionsMissing(_OfEdits):
    """No positions are added, and nothing rotates."""

    name: ClassVar[str] = "positions-missing"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "embedding"
    said: ClassVar[str] = "leaves out the positional encodings"
    remedy: ClassVar[str] = "Pass position_ids, and load the table of positions."
    does: ClassVar[tuple[Edit, ...]] = (DropPositions(),)


@register
@dataclass(frozen=True)
class PositionOffset(_OfConfig):
    """Positions begin at another row of the table."""

    first: int
    name: ClassVar[str] = "position-offset"
    stage: ClassVar[Stage] = "embedding"
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "gives the first token position {first}"
    remedy: ClassVar[str] = (
        "RoBERTa's positions begin at padding_idx + 1 and BERT's at 0: compute position_ids as the model's class does."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        if config.position != "learned":
            return []
        return [cls(first) for first in (0, 1, 2, 3) if first != config.position_offset]

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"position_offset": self.first}


def _bases(config: EncoderConfig) -> tuple[float, ...]:
    return tuple(config.rotary_base_of_layer(layer) for layer in range(config.n_layers))


@register
@dataclass(frozen=True)
class RotaryBase(_OfConfig):
    """Another base of the rotary wavelengths, or one base where the model has two."""

    base: float
    name: ClassVar[str] = "rotary-base"
    part: ClassVar[str] = "scores"
    stage: ClassVar[Stage] = "embedding"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "uses the rotary base {base:,.6g} in every layer"
    remedy: ClassVar[str] = "Read rope_theta of config.json (and the local base of its layers), not a constant."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        own = set(_bases(config))
        if config.position != "rotary" or config.rotary_table:
            return []
        return unique([one for one in (*own, *USUAL_BASES) if {one} != own], cls)

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"rotary_base": self.base}


@register
@dataclass(frozen=True)
class RotaryScaling(_OfConfig):
    """The scaling of the rotary wavelengths is left out."""

    name: ClassVar[str] = "rotary-scaling"
    part: ClassVar[str] = "scores"
    stage: ClassVar[Stage] = "embedding"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "leaves out the rotary scaling of config.json"
    remedy: ClassVar[str] = "Read rope_scaling of config.json, with its rope_type and all of its fields."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls()] if pipeline.front.config.rotary_scaling is not None else []

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"rotary_scaling": None}


@register
@dataclass(frozen=True)
class RotaryPairs(_OfConfig):
    """Neighbours rotate together in place of the two halves, or the other way round."""

    name: ClassVar[str] = "rotary-pairs"
    part: ClassVar[str] = "scores"
    stage: ClassVar[Stage] = "embedding"
    said: ClassVar[str] = "rotates other pairs of numbers (neighbours for halves, or halves for neighbours)"
    remedy: ClassVar[str] = "Rotate the pairs that the model's class rotates, or permute q and k when you convert them."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls()] if pipeline.front.config.position == "rotary" else []

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"rotary_interleaved": not config.rotary_interleaved}


# --- the embedding --------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class Segments(Fault):
    """The segments' vectors are left out, or those of the second text are used."""

    how: Literal["missing", "second"]
    name: ClassVar[str] = "segments"
    stage: ClassVar[Stage] = "embedding"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "{what}"
    remedy: ClassVar[str] = "Pass token_type_ids of 0 for a single text, and add their vectors."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        n_segments = pipeline.front.config.n_segments
        found = [cls("missing")] if n_segments else []
        return [*found, cls("second")] if n_segments > 1 else found

    def edits(self, model: TextEncoder) -> tuple[Edit, ...]:
        return (Zero("embedding.segments"),) if self.how == "missing" else ()

    def apply(self, pipeline: Pipeline) -> Pipeline:
        if self.how == "missing":
            return edited(pipeline, *self.edits(pipeline.model))
        return pipeline.with_front(segment=1)

    def _said(self, parameters: dict[str, Any]) -> str:
        return {
            "missing": "leaves out the vectors of segments (token_type_ids)",
            "second": "gives every token the segment 1",
        }[self.how]


@register
@dataclass(frozen=True)
class EmbeddingNormMissing(_OfConfig):
    """The norm after the embeddings is left out."""

    name: ClassVar[str] = "embedding-norm-missing"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "embedding"
    said: ClassVar[str] = "leaves out the LayerNorm after the embeddings"
    remedy: ClassVar[str] = "Apply embeddings.LayerNorm before the first layer."

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"embedding_norm": False}


@register
@dataclass(frozen=True)
class EmbeddingScale(_OfConfig):
    """The factor of the tokens' vectors is left out, or one is applied."""

    scale: float
    name: ClassVar[str] = "embedding-scale"
    stage: ClassVar[Stage] = "embedding"
    said: ClassVar[str] = "multiplies the vectors of tokens by {scale:.6g}"
    remedy: ClassVar[str] = "Gemma's embeddings are multiplied by the root of the width, BERT's are not."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        usual = (1.0, float(config.d_model**0.5))
        return [cls(one) for one in usual if abs(one - config.embedding_scale) > 1e-6 * one]

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"embedding_scale": self.scale}


# --- layers and norms -----------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class Layer(Fault):
    """The vectors of another layer."""

    layer: int
    normed: bool = False
    name: ClassVar[str] = "layer"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "pools the vectors after {layer} layers{normed}"
    remedy: ClassVar[str] = "Use last_hidden_state, not another entry of hidden_states."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        layers = range(config.n_layers - 1, -1, -1)
        return [cls(layer, normed) for layer in layers for normed in (False, *[True] * bool(config.final_norm))]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return pipeline.with_front(layer=self.layer, normed=self.normed)

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(layer=self.layer, normed=" and the final norm" * self.normed)


@register
@dataclass(frozen=True)
class FinalNorm(_OfConfig):
    """The final norm is left out."""

    name: ClassVar[str] = "final-norm"
    part: ClassVar[str] = "final"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "leaves out the final norm"
    remedy: ClassVar[str] = "Apply the model's last norm before the pooling."

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"final_norm": False}


@register
@dataclass(frozen=True)
class NormPlacement(Fault):
    """The norms are before the sublayers in place of after them, or the other way round."""

    name: ClassVar[str] = "norm-placement"
    part: ClassVar[str] = "norm"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "applies the norms at the other end of each sublayer (pre-norm for post-norm, or reversed)"
    remedy: ClassVar[str] = "Apply each norm where the model was trained with it."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        encoder = pipeline.front.encoder
        other: Literal["pre", "post"] = "post" if encoder.config.norm_placement == "pre" else "pre"
        return pipeline.with_front(encoder=encoder.with_norm_placement(other))


@register
@dataclass(frozen=True)
class LayerOrder(Fault):
    """The layers are in another order, such as that of their names as text: 0, 1, 10, 11, 2."""

    order: tuple[int, ...]
    name: ClassVar[str] = "layer-order"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "runs the layers in the order {order}"
    remedy: ClassVar[str] = "Sort layers by their numbers, not by their names as text, and read each once."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        config = pipeline.front.config
        n_layers = config.n_layers
        if config.layer_groups is not None:
            return []
        plain = tuple(range(n_layers))
        orders = [tuple(sorted(plain, key=str)), plain[::-1], (*plain[1:], n_layers - 1), (0, *plain[:-1])]
        if n_layers <= 12:  # two neighbours that change places
            orders += [(*plain[:at], at + 1, at, *plain[at + 2 :]) for at in range(n_layers - 1)]
        return unique([one for one in orders if one != plain], cls)

    def apply(self, pipeline: Pipeline) -> Pipeline:
        front = pipeline.front
        weights = reordered(front.encoder, self.order)
        return pipeline.with_front(encoder=front.varied({}, weights).encoder)

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(order=", ".join(map(str, self.order)))


def reordered(encoder: Encoder, order: tuple[int, ...]) -> dict[str, Tensor]:
    """The weights of each layer from the layer that `order` names. Layers must have the same parts."""
    found = {}
    for name, weight in encoder.state_dict().items():
        if name.startswith("layers."):
            found[name] = weight
    moved = {}
    for name in found:
        _, layer, rest = name.split(".", 2)
        source = f"layers.{order[int(layer)]}.{rest}"
        refuse_unless(source in found, "has layers with different parts")
        moved[name] = found[source]
    return moved


# --- functions and constants ----------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class ActivationFunction(_OfConfig):
    """Another activation function, such as the approximation of GELU by tanh."""

    activation: Activation
    name: ClassVar[str] = "activation"
    part: ClassVar[str] = "ffn"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "uses the activation function {activation}"
    remedy: ClassVar[str] = "Read hidden_act of config.json: gelu is exact, gelu_new and gelu_pytorch_tanh are not."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        own = pipeline.front.config.activation
        usual: tuple[Activation, ...] = ("gelu", "gelu_tanh", "quick_gelu", "relu", "silu")
        return [cls(one) for one in usual if one != own]

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"activation": self.activation}


@register
@dataclass(frozen=True)
class Epsilon(_OfConfig):
    """Another constant in the norms."""

    eps: float
    name: ClassVar[str] = "epsilon"
    part: ClassVar[str] = "norm"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "adds {eps:g} to the variance in the norms"
    remedy: ClassVar[str] = "Read layer_norm_eps (or rms_norm_eps) of config.json, not a constant."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in USUAL_EPS if one != pipeline.front.config.norm_eps]

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"norm_eps": self.eps}


@register
@dataclass(frozen=True)
class QKNormMissing(_OfConfig):
    """The norms of queries and keys are left out."""

    name: ClassVar[str] = "qk-norm-missing"
    part: ClassVar[str] = "scores"
    said: ClassVar[str] = "leaves out the norms of queries and keys"
    remedy: ClassVar[str] = "Apply q_norm and k_norm, as Qwen3 and Gemma 3 need."

    def changes(self, config: EncoderConfig) -> Mapping[str, Any]:
        return {"qk_norm": "none"}


@register
@dataclass(frozen=True)
class BiasMissing(Fault):
    """The biases of q, k and v are left out."""

    name: ClassVar[str] = "bias-missing"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    said: ClassVar[str] = "leaves out the biases of queries, keys and values"
    remedy: ClassVar[str] = "Read the biases of the checkpoint: Qwen2 has them for q, k and v only."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.config.qkv_bias, "has no such biases")
        names = ("w_q.bias", "w_k.bias", "w_v.bias")
        state = pipeline.front.encoder.state_dict()
        found = {name: torch.zeros_like(value) for name, value in state.items() if name.endswith(names)}
        return pipeline.with_front(encoder=pipeline.front.varied({}, found).encoder)


@register
@dataclass(frozen=True)
class OtherRevision(Fault):
    """The weights of another revision, or of another model of the same sizes."""

    model: str
    encoder: Encoder = field(repr=False, compare=False)
    name: ClassVar[str] = "other-revision"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "uses the weights of {model}"
    remedy: ClassVar[str] = "Pin one revision of the model in both programs."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(other.name, other.encoder) for other in clues.others]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(self.encoder.config.vocab_size >= pipeline.front.config.vocab_size, "has another vocabulary")
        return pipeline.with_front(encoder=self.encoder)
