"""Edit: what every change to a forward pass has in common, and the hook points that a change can have.

An edit is a frozen, hashable value, so it can be part of a cache key, of a Trace and of a link. `at` says which hook
points it changes, `check` refuses places that do not exist, `resolve` runs the other texts that it needs, and `apply`
returns the changed value. Layers, heads, positions and components count from 0.

Shapes: H heads, T tokens (queries i, keys j), K width of a head, D d_model, E width of the tables, F width of the FFN.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor

from encoder.errors import EncoderError, quoted
from encoder.model.config import EncoderConfig
from encoder.model.hooks import LAYER_POINTS, OTHER_POINTS

#: The hook points whose values have an axis of heads.
HEAD_POINTS = tuple(f"{where}{name}" for where in ("", "cross.") for name in ("q", "k", "v", "scores", "pattern", "z"))
#: The hook points whose tokens are those of the input that a decoder reads.
MEMORY_POINTS = ("memory", "cross.k", "cross.v")
#: The fields of edits by the kind of their values.
INDEX = ("layer", "head", "query", "key", "seed")
FLAGS = ("cross",)
INDICES = ("heads", "positions", "components", "keys", "order")
#: Seeds are below this number.
SEEDS = 2**31
#: The largest number that an edit can have: float32 and bfloat16 both end at 3.4e38.
MAX_NUMBER = 3e38


class Run(Protocol):
    """A forward pass whose values replace others: a Trace."""

    @property
    def values(self) -> Mapping[str, Tensor]: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def config(self) -> EncoderConfig: ...
    def layer_attention(self, layer: int, queries: slice | None = None) -> Tensor: ...


#: Runs a text and records further hook points: (text, points) -> Run.
Runner = Callable[[str, tuple[str, ...]], Run]


@dataclass(frozen=True)
class Names:
    """How a description of an edit names a token by its position, and quotes a typed text."""

    token: Callable[[int], str] = "token {}".format
    text: Callable[[str], str] = "“{}”".format


@dataclass(frozen=True)
class Site:
    """The part of a hook point's value that an edit gets: these heads, and these tokens (of attention: queries).

    The value's last axes are [heads, tokens, components], or [tokens, components] where the point has no heads.
    """

    point: str
    layer: int | None
    heads: range
    tokens: range

    def chosen(
        self,
        value: Tensor,
        heads: tuple[int, ...] | None,
        tokens: tuple[int, ...] | None,
        components: tuple[int, ...] | None,
    ) -> Tensor | None:
        """bool, broadcasts to `value`: True at the places that an edit names; None where it names every place."""
        found: Tensor | None = None
        last = range(value.shape[-1])
        for axis, given, here in ((3, heads, self.heads), (2, tokens, self.tokens), (1, components, last)):
            if given is not None:
                known = frozenset(given)
                inside = torch.tensor([index in known for index in here], dtype=torch.bool, device=value.device)
                inside = inside.view(-1, *[1] * (axis - 1))
                found = inside if found is None else found & inside
        return found


class Edit:
    """Base of every edit. Subclasses are frozen dataclasses; a field that is None means every layer, head or place."""

    #: The name in links.
    code: ClassVar[str] = ""
    #: What changes, with fields of the edit in braces: "{value:g}", and "{query}" for its token; "": the class's name.
    words: ClassVar[str] = ""
    #: The smallest and the largest `value`.
    bounds: ClassVar[tuple[float, float]] = (-MAX_NUMBER, MAX_NUMBER)
    #: Whether the edit draws random numbers for every token, so that it depends on the number of tokens.
    drawn: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if field.name in FLAGS and not isinstance(value, bool):
                raise EncoderError(f"{self._name} has {field.name}={quoted(value)}: specify True or False.")
            if field.name in INDEX:
                value = self._index(field.name, value)
            elif field.name in INDICES:
                if isinstance(value, str) or not hasattr(value, "__iter__"):
                    raise EncoderError(f"{self._name} has {field.name}={quoted(value)}: specify a tuple such as (3,).")
                value = tuple(self._index(field.name.removesuffix("s"), one) for one in value)
            elif field.name == "value":
                value = self._number(value, *self.bounds)
            object.__setattr__(self, field.name, value)

    def at(self, point: str, layer: int | None) -> bool:
        """Whether the edit changes the value of this hook point."""
        raise NotImplementedError

    def apply(self, value: Tensor, site: Site) -> Tensor:
        """The value [..., heads, tokens, components] of a hook point -> a new tensor of the same shape."""
        raise NotImplementedError

    def resolve(self, run: Runner) -> Self:
        """The same edit with its texts run. Raises EncoderError where the model cannot run them."""
        return self

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        """Raise EncoderError where the model or the text has no such layer, head, position or key.

        n_memory: tokens of the input that a decoder reads.
        """
        point, cross = getattr(self, "point", ""), getattr(self, "cross", False)
        if cross and not config.memory_width:
            raise EncoderError("This model has no cross-attention to edit: choose its decoder, or another model.")
        counts = {"layer": config.n_layers, "head": config.n_heads, "heads": config.n_heads, "query": n_tokens}
        counts |= dict.fromkeys(("key", "keys"), n_memory if cross else n_tokens)
        counts["positions"] = n_memory if point in MEMORY_POINTS else n_tokens
        for name, count in counts.items():
            value = getattr(self, name, None)
            for one in value if isinstance(value, tuple) else (value,):
                if one is not None and one >= count:
                    self._refuse(name.removesuffix("s"), one, count)

    def describe(self, names: Names) -> str:
        """The edit in a few words, such as "L1 H3 off"."""
        return self._what(names) + self._where()

    def _what(self, names: Names, **more: str) -> str:
        """What changes, without its layer and heads. more: further words for the braces of `words`."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        tokens = {name: names.token(fields[name]) for name in ("query", "key") if fields.get(name) is not None}
        return self.words.format(**fields | tokens | more) or self._name

    def _where(self) -> str:
        """ " in L1 H3", " in L1", " in H3 of every layer", or nothing for every layer and head."""
        layer, head = getattr(self, "layer", None), getattr(self, "head", None)
        where = " of cross-attention" if getattr(self, "cross", False) else ""
        heads = getattr(self, "heads", None) if head is None else (head,)
        some = "" if heads is None else " ".join(f"H{one}" for one in heads)
        if layer is None:
            return f" in {some} of every layer{where}" if some else where.replace(" of", " in")
        return f" in L{layer} {some}".rstrip() + where

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _refuse(self, name: str, value: int, count: int) -> None:
        where = "model" if name in ("layer", "head", "component") else "input"
        raise EncoderError(f"No {name} {value} in this {where} to edit: choose 0 to {count - 1}.")

    def _index(self, name: str, value: object) -> int:
        """`value` as an int. numpy's integers are fine; True, 1.5 and "0" are mistakes."""
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
            raise EncoderError(f"{self._name} has {name}={quoted(value)}: specify a whole number from 0 on.")
        index = int(value)
        if name == "seed" and index >= SEEDS:
            raise EncoderError(f"{self._name} has seed={index}: choose 0 to {SEEDS - 1}.")
        return index

    def _number(self, value: Any, low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> float:
        """`value` as a float in this range, rounded to a finite number."""
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or math.isnan(value):
            raise EncoderError(f"{self._name} cannot use {quoted(value)}: specify a number from {low:g} to {high:g}.")
        return float(value)


def width(config: EncoderConfig, point: str, layer: int | None, n_tokens: int, n_memory: int = 0) -> int | None:
    """Number of components of a hook point's value in this model; None where the model does not have the point."""
    if "cross" in point or point == "memory":
        if not config.memory_width:
            return None
        if point == "memory":
            return config.memory_width
        point, n_tokens = point.removeprefix("cross."), n_memory
    if "adapter" in point and not config.adapter:
        return None
    if config.conformer is None and any(part in point for part in ("first_ffn", "convolution", "end_norm")):
        return None
    if point in ("q", "k", "v", "z"):
        return config.d_head
    if point in ("scores", "pattern"):
        return n_tokens
    if point in ("ffn.hidden", "first_ffn.hidden"):
        return config.d_ffn if layer is None else config.of_layer(layer).d_ffn
    if point == "adapter.hidden":
        return config.adapter
    missing = {
        "attention_norm.input": layer is not None and not config.has_attention_norm(layer),
        "final_norm.input": not config.final_norm,
        "embedding_norm.input": not config.embedding_norm,
        "embedding.segments": not config.n_segments or config.reads_page,
        "embedding.places": config.places is None or config.beside is not None or config.reads_page,
        "embedding.position": config.position not in ("learned", "sinusoidal", "convolutional") or config.reads_page,
    }
    if missing.get(point):
        return None
    in_tables = point == "embedding_norm.input" or point.startswith("embedding.")
    return config.embedding_width if in_tables else config.d_model


def check_point(name: str, point: object) -> None:
    """Raise EncoderError for what is not a hook point."""
    if point not in LAYER_POINTS + OTHER_POINTS:
        points = ", ".join(LAYER_POINTS + OTHER_POINTS)
        raise EncoderError(f"{name} edits {quoted(point)}, which is not a hook point: choose from {points}.")
