"""config.json -> EncoderConfig: which field of ours each family writes under which name, with which default."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from encoder.errors import LoadError, quoted
from encoder.model.config import MAX_LAYERS, EncoderConfig

#: Names of activation functions in config.json -> ours. GELU's tanh forms differ only in how they are computed.
ACTIVATIONS = {
    "relu": "relu",
    "relu2": "relu2",
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

#: A pad_token_id that says: no padding token.
NO_PADDING = -1
#: The largest number of float32.
MOST_NUMBER = 3.4e38


class Fields(dict[str, Any]):
    """config.json, or another `file`. Each method raises LoadError for a value of another kind."""

    file = "config.json"

    @classmethod
    def of(cls, file: str, fields: dict[str, Any]) -> Fields:
        """Those of another file."""
        found = cls(fields)
        found.file = file
        return found

    def wrong(self, key: str, value: Any, why: str) -> LoadError:
        """The error for a field that is not supported."""
        return unsupported(key, value, why, self.file)

    def integer(self, key: str, default: int | None = None, low: int | None = None, high: int | None = None) -> int:
        """A whole number, within bounds. Raises LoadError for a missing field without a default, too."""
        value = self.get(key, default)
        if value is None:
            raise LoadError(f"{self.file} has no {key}, which an encoder needs: add it.")
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, value, "specify a whole number")
        if not (low is None or value >= low) or not (high is None or value <= high):
            raise self.wrong(key, value, f"specify a whole number from {low:,} to {high:,}")
        return value

    def unless_null(self, key: str, otherwise: int) -> int:
        """A whole number; null, too, means `otherwise`."""
        return otherwise if self.get(key) is None else self.integer(key)

    def layers(self, key: str = "num_hidden_layers") -> int:
        """The number of layers. Raises LoadError for more than MAX_LAYERS, which would take forever to build."""
        value = self.integer(key)
        if not 1 <= value <= MAX_LAYERS:
            raise unsupported(key, value, f"choose 1 to {MAX_LAYERS} layers")
        return value

    def number(self, key: str, default: float, most: float = MOST_NUMBER) -> float:
        """A number of at most this size."""
        value = self.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= most:
            raise self.wrong(key, value, f"specify a number up to {most:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "specify true or false")
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
            raise self.wrong(key, value, why)

    def pad_id(self, default: int = 0) -> int:
        """Id of the padding token; null, or -1 for no such token (Llama), means the default."""
        found = self.unless_null("pad_token_id", default)
        return default if found == NO_PADDING else found

    @property
    def tied(self) -> bool:
        """Whether the masked-word head uses the encoder's token table."""
        return self.flag("tie_word_embeddings", True)


def unsupported(key: str, value: Any, why: str, file: str = "config.json") -> LoadError:
    """The error for a field of config.json that is not supported."""
    return LoadError(f"This checkpoint is not supported because of {file}'s {key}={quoted(value)}: {why}.")


@dataclass(frozen=True)
class Key:
    """A field of config.json. default: its value where it is left out, whose kind it has; None: it is a whole number
    and must be there."""

    name: str
    default: Any = None

    def read(self, ours: str, fields: Fields) -> Any:
        """The value for the field `ours` of EncoderConfig."""
        if ours == "n_layers":
            return fields.layers(self.name)
        if ours == "pad_id":
            return fields.pad_id(self.default)
        if isinstance(self.default, str):
            return fields.activation(self.name, self.default)
        if isinstance(self.default, bool):
            return fields.flag(self.name, self.default)
        if isinstance(self.default, float):
            return fields.number(self.name, self.default)
        return fields.integer(self.name, self.default)


@dataclass(frozen=True)
class Reader:
    """config.json -> EncoderConfig."""

    #: Our field -> a Key, a function of config.json, or the value itself.
    values: Mapping[str, Any]
    #: Functions of config.json that give several of our fields, which come last.
    several: tuple[Callable[[Fields], dict[str, Any]], ...] = ()
    #: Field of config.json -> the value that it must have (or a function of config.json that gives it), and what else
    #: to do.
    only: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    #: What transformers takes where config.json has no such field.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Older name of a field -> the newer one.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: The object in config.json that has the fields; "": config.json itself.
    place: str = ""

    def but(self, *several: Callable[[Fields], dict[str, Any]], **values: Any) -> Reader:
        """The reader of a family that differs in these fields."""
        return dataclasses.replace(self, values={**self.values, **values}, several=(*self.several, *several))

    def reading(self, *several: Callable[[Fields], dict[str, Any]]) -> Reader:
        """The same, with these functions in the place of those that gave several fields."""
        return dataclasses.replace(self, several=several)

    def taking(self, **defaults: Any) -> Reader:
        """The same with other defaults."""
        return dataclasses.replace(self, defaults={**self.defaults, **defaults})

    def refusing(self, **only: tuple[Any, str]) -> Reader:
        """The same, and these fields must have one value."""
        return dataclasses.replace(self, only={**self.only, **only})

    def allowing(self, *names: str) -> Reader:
        """The same, in which these fields may have any value."""
        return dataclasses.replace(self, only={name: one for name, one in self.only.items() if name not in names})

    def renaming(self, **aliases: str) -> Reader:
        """The same, which also takes these older names of fields."""
        return dataclasses.replace(self, aliases={**self.aliases, **aliases})

    def within(self, place: str) -> Reader:
        """The same, of the fields in this object of config.json."""
        return dataclasses.replace(self, place=place)

    def __call__(self, given: Fields) -> EncoderConfig:
        """Raises LoadError, or ConfigError for fields that contradict each other."""
        inner = given.get(self.place) if self.place else given
        if not isinstance(inner, dict):
            raise unsupported(self.place, inner, f"specify the fields of the {self.place}")
        given = Fields(inner)
        newer = {name: given[old] for old, name in self.aliases.items() if old in given}
        fields = Fields({**self.defaults, **newer, **given})
        for name, (wanted, why) in self.only.items():
            fields.only(name, wanted(fields) if callable(wanted) else wanted, why)
        found: dict[str, Any] = {}
        for ours, value in self.values.items():
            if isinstance(value, Key):
                found[ours] = value.read(ours, fields)
            else:
                found[ours] = value(fields) if callable(value) else value
        for some in self.several:
            found |= some(fields)
        return EncoderConfig(**both_directions(found, fields))


def both_directions(found: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """Follow is_causal: false lets the tokens of a decoder attend to later ones, too, as transformers' masks say.

    Raises LoadError where windows or ALiBi have another meaning then, and for an encoder with is_causal: transformers
    makes it causal by its fused attention and without padding only.
    """
    is_causal = bool(found.get("causal"))
    if fields.flag("is_causal", is_causal) == is_causal:
        return found
    if not is_causal:
        raise unsupported("is_causal", True, "it makes some runs of an encoder causal; remove it")
    windows = found.get("attention_window")
    has_windows = any(one is not None for one in (windows if isinstance(windows, tuple) else (windows,)))
    if has_windows or found.get("position") == "alibi":
        raise unsupported("is_causal", False, "remove it, or choose a model without windows and ALiBi")
    return {**found, "causal": False}


#: A decoder with cross-attention, a pruned or a quantised model is refused.
ENCODERS_ONLY = {
    "is_decoder": (False, "this is a decoder; choose an encoder"),
    "is_encoder_decoder": (False, "this model has a decoder; choose an encoder"),
    "add_cross_attention": (False, "this model has cross-attention; choose an encoder"),
    "pruned_heads": ({}, "its layers differ in their number of heads; choose a model that is not pruned"),
    "quantization_config": (None, "its weights are quantised; choose the checkpoint in float32 or float16"),
}
#: What most config.json say.
STANDARD = Reader(
    {
        "vocab_size": Key("vocab_size"),
        "d_model": Key("hidden_size"),
        "n_layers": Key("num_hidden_layers"),
        "n_heads": Key("num_attention_heads"),
        "d_ffn": Key("intermediate_size"),
        "max_positions": Key("max_position_embeddings"),
        "norm_eps": Key("layer_norm_eps", 1e-12),
        "activation": Key("hidden_act", "gelu"),
        "dropout": Key("hidden_dropout_prob", 0.1),
        "attention_dropout": Key("attention_probs_dropout_prob", 0.1),
        "pad_id": Key("pad_token_id", 0),
    },
    only=ENCODERS_ONLY,
)
#: Pre-norm, with a norm at the end and none after the embeddings.
PRE: dict[str, Any] = {"norm_placement": "pre", "embedding_norm": False, "final_norm": True}
#: Encoders of images and sounds.
SIGNAL = STANDARD.but(
    vocab_size=0,
    max_positions=1,
    pad_id=0,
    dropout=Key("hidden_dropout_prob", 0.0),
    attention_dropout=Key("attention_probs_dropout_prob", 0.0),
    **PRE,
)
