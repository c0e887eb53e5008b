"""What a family of checkpoints is, and the words in which the families' tables are written.

A table maps our parameter names to the names on disk; "{l}" stands for the layer. Both ways are strict: a weight of
ours that is not on disk is an error, and so is one on disk that is in no table and matches no pattern of `dropped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from encoder.config import EncoderConfig
from encoder.errors import LoadError
from encoder.mlm import MLMHeadConfig

Fields = Mapping[str, Any]

#: Names of activation functions in config.json -> ours. The tanh forms of GELU differ in how they are computed only.
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}


@dataclass(frozen=True)
class Part:
    """A weight of ours that is a part of one on disk: the `index`-th of `of` equal blocks of rows.

    unwrap: on disk it has a first axis of length 1 that ours has not.
    """

    name: str
    index: int = 0
    of: int = 1
    unwrap: bool = False


@dataclass(frozen=True)
class HeadNames:
    """A masked-word head on disk.

    config: config.json -> MLMHeadConfig, tied as the file says; dense, norm: the modules; bias: where the bias of the
    words may stand, the one that is used first; table: the word vectors, where they are saved for themselves.
    """

    config: Callable[[Fields], MLMHeadConfig]
    dense: str
    norm: str
    bias: tuple[str, ...]
    table: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that belongs to this head."""
        modules = (f"{module}.{kind}" for module in (self.dense, self.norm) for kind in ("weight", "bias"))
        return (*modules, *self.bias, self.table)


@dataclass(frozen=True)
class Family:
    """A family of checkpoints.

    config: its config.json -> EncoderConfig; names: our parameter -> its name (or a Part of it) on disk; prefixes: what
    may stand before those names; head: its masked-word head; dropped: pattern of a name -> what it is, for weights that
    are no part of the encoder ("" where nobody misses them); renamed: (pattern, replacement) for other spellings on
    disk; images: whether it reads pixels rather than text.
    """

    config: Callable[[Fields], EncoderConfig]
    names: Mapping[str, str | Part]
    prefixes: tuple[str, ...] = ("",)
    head: HeadNames | None = None
    dropped: Mapping[str, str] = field(default_factory=dict)
    renamed: tuple[tuple[str, str], ...] = ()
    images: bool = False


def both(ours: str, theirs: str) -> dict[str, str | Part]:
    """Weight and bias of a linear map or a norm."""
    return {f"{ours}.weight": f"{theirs}.weight", f"{ours}.bias": f"{theirs}.bias"}


def blocks(ours: tuple[str, ...], theirs: str) -> dict[str, str | Part]:
    """Weight and bias of several linear maps that are one on disk, one below the other."""
    return {
        f"{name}.{kind}": Part(f"{theirs}.{kind}", index, len(ours))
        for index, name in enumerate(ours)
        for kind in ("weight", "bias")
    }


MAX_LAYERS = 1024

#: Spellings from TensorFlow's days.
OLD_NORMS = ((r"(.*LayerNorm)\.gamma", r"\1.weight"), (r"(.*LayerNorm)\.beta", r"\1.bias"))

CLASSIFICATION = "a classification head"
QUESTIONS = "a question-answering head"
#: What stands on top of many families.
HEADS_DROPPED = {
    r"classifier\.(dense\.|out_proj\.)?(weight|bias)": CLASSIFICATION,
    r"qa_outputs\.(weight|bias)": QUESTIONS,
    r"embeddings\.(position_ids|token_type_ids)": "",
}


# --- reading config.json ---------------------------------------------------------------------------------------------


def unsupported(key: str, value: Any, why: str) -> LoadError:
    """The error for a field of config.json that is the reason why a checkpoint cannot be loaded."""
    return LoadError(f"This checkpoint is not supported because of config.json's {key}={value!r}: {why}.")


def integer(fields: Fields, key: str, default: int | None = None) -> int:
    """A whole number. Raises LoadError naming a field that is missing (and has no default) or is something else."""
    value = fields.get(key, default)
    if value is None:
        raise LoadError(f"config.json has no {key}, which an encoder cannot do without.")
    if not isinstance(value, int) or isinstance(value, bool):
        raise unsupported(key, value, "a whole number is needed")
    return value


def layers(fields: Fields, key: str = "num_hidden_layers") -> int:
    """The number of layers. Raises LoadError for one that no encoder has: it would be built for ever."""
    value = integer(fields, key)
    if not 1 <= value <= MAX_LAYERS:
        raise unsupported(key, value, f"1 to {MAX_LAYERS} layers are what is taken here")
    return value


def number(fields: Fields, key: str, default: float) -> float:
    """A number. Raises LoadError naming a field that is something else."""
    value = fields.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise unsupported(key, value, "a number is needed")
    return float(value)


def flag(fields: Fields, key: str, default: bool) -> bool:
    """True or false. Raises LoadError naming a field that is something else."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise unsupported(key, value, "true or false is needed")
    return value


def activation(fields: Fields, key: str, default: str = "gelu") -> Any:
    """Our name of an activation function. Raises LoadError naming the field."""
    value = fields.get(key, default)
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise unsupported(key, value, f"known are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[value]


def only(fields: Fields, key: str, wanted: Any, why: str) -> None:
    """Raise LoadError unless the field is missing, null or what is `wanted`."""
    value = fields.get(key)
    if value is not None and value != wanted:
        raise unsupported(key, value, why)


def check_is_encoder(fields: Fields) -> None:
    """Raise LoadError for what no family here can be: a decoder, a pruned or a quantised model."""
    only(fields, "is_decoder", False, "this is a decoder, and encoders are what is shown here")
    only(fields, "is_encoder_decoder", False, "only encoders by themselves are shown here")
    only(fields, "add_cross_attention", False, "an encoder by itself has no cross-attention")
    only(fields, "pruned_heads", {}, "layers with different numbers of heads are not known")
    only(fields, "quantization_config", None, "quantised weights are not read; take the checkpoint in float32 or 16")
    only(fields, "position_embedding_type", "absolute", "of BERT's kinds of positions only absolute ones are known")


def pad_id(fields: Fields, default: int = 0) -> int:
    """Id of the padding token; null stands for the default."""
    return integer(fields, "pad_token_id", default) if fields.get("pad_token_id") is not None else default


def tied(fields: Fields) -> bool:
    """Whether the masked-word head takes the encoder's own token table."""
    return flag(fields, "tie_word_embeddings", True)
