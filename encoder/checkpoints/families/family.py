"""A family of checkpoints: how its config.json is read, what its weights and heads are called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor, nn

from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import Fields, Reader
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHeadConfig
from encoder.model.pooling import Pooling


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
class LMNames:
    """The head that predicts the next token, on disk.

    table: its map; bias: of each token, a row [1, V], "" for none; config: config.json -> fields of LMHeadConfig. Where
    a file has no map, or the same as the token table, the head is tied.
    """

    table: str = "lm_head.weight"
    bias: str = ""
    config: Callable[[Fields], dict[str, Any]] = lambda fields: {}


@dataclass(frozen=True)
class Family:
    """A family of checkpoints."""

    # The encoder
    #: config.json -> EncoderConfig.
    config: Reader
    #: Our parameter -> its name (or a Part of it) on disk.
    names: Mapping[str, str | Part]
    #: Possible prefixes of those names.
    prefixes: tuple[str, ...] = ("",)

    # Heads
    #: Its masked-word head.
    head: HeadNames | None = None
    #: Kind -> classification head.
    classifiers: Mapping[str, ClassifierNames] = field(default_factory=dict)

    # Other weights and spellings
    #: Pattern of a name -> what it is, for weights outside the encoder ("" for those without a note).
    dropped: Mapping[str, str] = field(default_factory=dict)
    #: (pattern, replacement) for other spellings on disk.
    renamed: tuple[tuple[str, str], ...] = ()

    #: A sentence for people about what it was compared with, where that is not a class of transformers.
    note: str = ""

    # Inputs and their one vector
    #: Whether it accepts images, or videos, and not text.
    images: bool = False
    #: Whether it accepts sound and not text.
    sounds: bool = False
    #: What makes one vector of an input.
    vector: VectorNames | None = None
    #: How one vector of a text is made before `vector`.
    pooling: Pooling | None = None
    #: The token with which a causal text ends, whose vector counts: "eos", that of eos_token_id, or of CLIP's 2 the
    #: largest id; "largest", the largest id; "exact", that of eos_token_id, whatever it is.
    end: Literal["eos", "largest", "exact"] = "eos"
    #: Whether texts are filled up to the longest length.
    filled: bool = False
    #: How images or sounds are prepared where preprocessor_config.json says nothing.
    preparation: Mapping[str, Any] = field(default_factory=dict)

    # The decoder
    #: The head of its decoder.
    lm: LMNames | None = None
    #: Config and names of the decoder that reads the encoder's vectors; None where the encoder itself may be one.
    decoder: Family | None = None
    #: Makes a table of positions that is not saved, of so many rows and numbers.
    sines: Callable[[int, int], Tensor] | None = None

    # config.json
    #: The family with the names that follow from config.json, where not all checkpoints have the same.
    of: Callable[[Fields], Family] | None = None
    #: What config.json says of a saved model.
    saved: Mapping[str, Any] = field(default_factory=dict)

    def but(self, names: Mapping[str, str | Part] | None = None, **changes: Any) -> Family:
        """A family that differs in these names and fields."""
        return dataclasses.replace(self, names={**self.names, **(names or {})}, **changes)
