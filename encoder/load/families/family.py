"""A family of checkpoints, and what its table is made of.

A table maps our parameter names to the names on disk; "{l}" is the layer. Both directions are strict. A weight of ours
that is not on disk is an error. So is a weight on disk that is in no table and matches no pattern of `dropped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from encoder.errors import LoadError, quoted
from encoder.model.config import MAX_LAYERS, EncoderConfig
from encoder.model.mlm import MLMHeadConfig
from encoder.model.pooling import Pooling

#: Names of activation functions in config.json -> ours. GELU's tanh forms differ only in how they are computed.
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "silu": "silu",
    "swish": "silu",
}

#: The largest number of float32.
MOST_NUMBER = 3.4e38


class Fields(dict[str, Any]):
    """config.json. Each method raises LoadError for a value of another kind."""

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number. Raises LoadError for a missing field without a default, too."""
        value = self.get(key, default)
        if value is None:
            raise LoadError(f"config.json has no {key}, which an encoder needs: add it.")
        if not isinstance(value, int) or isinstance(value, bool):
            raise unsupported(key, value, "specify a whole number")
        return value

    def layers(self, key: str = "num_hidden_layers") -> int:
        """The number of layers. Raises LoadError for more than MAX_LAYERS, which would take forever to build."""
        value = self.integer(key)
        if not 1 <= value <= MAX_LAYERS:
            raise unsupported(key, value, f"choose 1 to {MAX_LAYERS} layers")
        return value

    def number(self, key: str, default: float) -> float:
        """A number."""
        value = self.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= MOST_NUMBER:
            raise unsupported(key, value, "specify a finite number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise unsupported(key, value, "specify true or false")
        return value

    def activation(self, key: str, default: str = "gelu") -> Any:
        """Our name of an activation function."""
        value = self.get(key, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise unsupported(key, value, f"choose one of {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[value]

    def only(self, key: str, wanted: Any, why: str) -> None:
        """Raise LoadError unless the field is missing, null or `wanted`."""
        value = self.get(key)
        if value is not None and value != wanted:
            raise unsupported(key, value, why)

    def check_is_encoder(self, with_decoder: bool = False) -> None:
        """Raise LoadError for a decoder with cross-attention, a pruned or a quantised model. with_decoder: whether a
        decoder next to the encoder is left out."""
        self.only("is_decoder", False, "this is a decoder; choose an encoder")
        if not with_decoder:
            self.only("is_encoder_decoder", False, "this model has a decoder; choose an encoder")
        self.only("add_cross_attention", False, "this model has cross-attention; choose an encoder")
        self.only("pruned_heads", {}, "its layers differ in their number of heads; choose a model that is not pruned")
        self.only("quantization_config", None, "its weights are quantised; choose the checkpoint in float32 or float16")
        self.only("position_embedding_type", "absolute", "choose a BERT with absolute positions")

    def pad_id(self, default: int = 0) -> int:
        """Id of the padding token; null means the default."""
        return self.integer("pad_token_id", default) if self.get("pad_token_id") is not None else default

    @property
    def tied(self) -> bool:
        """Whether the masked-word head uses the encoder's token table."""
        return self.flag("tie_word_embeddings", True)


def unsupported(key: str, value: Any, why: str) -> LoadError:
    """The error for a field of config.json that is not supported."""
    return LoadError(f"This checkpoint is not supported because of config.json's {key}={quoted(value)}: {why}.")


@dataclass(frozen=True)
class Part:
    """A weight of ours that is a part of a weight on disk: the `index`-th of `of` equal blocks of rows.

    unwrap: on disk it has an additional first axis of length 1; wrap: it lacks so many first axes of length 1; scale: a
    vector on disk by which its rows are multiplied (layer scale); transpose: on disk it is [in, out]; per_head: each
    head's rows are such blocks; offset: added to each number (Gemma's gains); plus: tables on disk whose first row is
    added to every row, one entry for each time.
    """

    name: str
    index: int = 0
    of: int = 1
    unwrap: bool = False
    wrap: int = 0
    scale: str = ""
    transpose: bool = False
    per_head: bool = False
    offset: float = 0.0
    plus: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadNames:
    """A masked-word head on disk.

    config: config.json -> MLMHeadConfig, tied as the file says; dense, norm: the modules; bias: names of the words'
    bias, in the order in which they are tried; table: the word vectors, if they are saved separately.
    """

    config: Callable[[Fields], MLMHeadConfig]
    dense: str
    norm: str
    bias: tuple[str, ...]
    table: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of this head."""
        modules = (f"{module}.{kind}" for module in (self.dense, self.norm) for kind in ("weight", "bias"))
        return (*modules, *self.bias, self.table)


@dataclass(frozen=True)
class ClassifierNames:
    """A classification head on disk: its modules, "{encoder}" for the encoder's prefix.

    out: the map to the classes; dense, norm: what comes before it, if anything does; layer_weights: those of a sum over
    the layers; options: config.json -> fields of ClassifierConfig, such as the activation.
    """

    out: str = "classifier"
    dense: str | None = None
    norm: str | None = None
    layer_weights: str | None = None
    options: Callable[[Fields], dict[str, Any]] = lambda fields: {}

    def modules(self, prefix: str) -> list[str]:
        """The names of its modules on disk."""
        return [name.replace("{encoder}", prefix) for name in (self.out, self.dense, self.norm) if name is not None]


@dataclass(frozen=True)
class VectorNames:
    """What makes the one vector of an input in an encoder of images and texts: a Dense or a VectorHead, on disk.

    build: config.json -> the module without its weights; names: our parameter -> its place, "{encoder}" for the
    encoder's prefix. A checkpoint has all of them or none.
    """

    build: Callable[[Fields, EncoderConfig], nn.Module]
    names: Mapping[str, str | Part]


@dataclass(frozen=True)
class Family:
    """A family of checkpoints.

    config: its config.json -> EncoderConfig; names: our parameter -> its name (or a Part of it) on disk; prefixes:
    possible prefixes of those names; head: its masked-word head; classifiers: kind -> classification head;
    dropped: pattern of a name -> what it is, for weights outside the encoder ("" for those without a note); renamed:
    (pattern, replacement) for other spellings on disk; images, sounds: whether it accepts these and not text; vector:
    what makes one vector of an input; pooling: of a text before it; filled: whether texts are filled up to the longest
    length; preparation: of images, where preprocessor_config.json says nothing.
    """

    config: Callable[[Fields], EncoderConfig]
    names: Mapping[str, str | Part]
    prefixes: tuple[str, ...] = ("",)
    head: HeadNames | None = None
    classifiers: Mapping[str, ClassifierNames] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    renamed: tuple[tuple[str, str], ...] = ()
    images: bool = False
    sounds: bool = False
    vector: VectorNames | None = None
    pooling: Pooling | None = None
    filled: bool = False
    preparation: Mapping[str, Any] = field(default_factory=dict)


#: The head of Wav2Vec2, HuBERT and Whisper: the mean over time, mapped to another width.
SOUND_CLASSIFIER = ClassifierNames(
    dense="projector",
    layer_weights="layer_weights",
    options=lambda fields: {"pooling": "mean", "dense_width": fields.integer("classifier_proj_size", 256)},
)


def with_defaults(config: Callable[[Fields], Any], **defaults: Any) -> Callable[[Fields], Any]:
    """A reader of config.json in which fields that are left out have these values, as in transformers."""
    return lambda fields: config(Fields({**defaults, **fields}))


def both(ours: str, theirs: str) -> dict[str, str | Part]:
    """Weight and bias of a linear map or a norm."""
    return {f"{ours}.weight": f"{theirs}.weight", f"{ours}.bias": f"{theirs}.bias"}


def blocks(ours: tuple[str, ...], theirs: str) -> dict[str, str | Part]:
    """Weight and bias of several linear maps that are stacked as one on disk."""
    return {
        f"{name}.{kind}": Part(f"{theirs}.{kind}", index, len(ours))
        for index, name in enumerate(ours)
        for kind in ("weight", "bias")
    }


#: TensorFlow's spellings.
OLD_NORMS = ((r"(.*LayerNorm)\.gamma", r"\1.weight"), (r"(.*LayerNorm)\.beta", r"\1.bias"))

#: Heads of many families.
HEADS_DROPPED = {
    r"(pre_)?classifier\.[\w.]+": "a classification head",
    r"qa_outputs\.(weight|bias)": "a question-answering head",
    r"embeddings\.(position_ids|token_type_ids)": "",
}
