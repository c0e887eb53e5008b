"""Edits of any hook point's value: zero, scale, set, add, replace by another run's value or a mean, noise, a function.

What the classical interventions are here: a head off is Zero("z", heads=(h,)), which AblateHead names; a layer without
its attention is Zero("attention_out", layer=l), without its FFN Zero("ffn_out", layer=l); the attention of another run
with this run's values is Replace("pattern", source), the other way round Replace("v", source).

Shapes: H heads, T tokens, C components (of attention weights: keys).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from encoder import own
from encoder.edits.base import HEAD_POINTS, MAX_NUMBER, Edit, Names, Site, check_point, width
from encoder.errors import EncoderError, quoted
from encoder.model.config import EncoderConfig
from encoder.model.hooks import LAYER_POINTS
from encoder.own import check_name

#: Hook points in words; any other has its own name.
POINTS = {
    "z": "z (what a head passes on)",
    "attention_out": "attention's output",
    "ffn_out": "the FFN's output",
    "after_attention": "the residual stream after attention",
    "after_ffn": "the residual stream after the FFN",
    "first_ffn_out": "the first FFN's output",
    "after_first_ffn": "the residual stream after the first FFN",
    "convolution_out": "the convolution's output",
    "after_convolution": "the residual stream after the convolution",
    "convolution.hidden": "channels of the convolution",
    "adapter_out": "the adapter's output",
    "after_adapter": "the residual stream after the adapter",
    "embedding": "the embeddings",
    "q": "queries",
    "k": "keys",
    "v": "values",
    "pattern": "attention",
    "ffn.hidden": "FFN neurons",
    "cross.z": "z of cross-attention",
    "cross.q": "queries of cross-attention",
    "cross.k": "keys of cross-attention",
    "cross.v": "values of cross-attention",
    "cross.pattern": "cross-attention",
    "cross_out": "cross-attention's output",
    "after_cross": "the residual stream after cross-attention",
    "memory": "the vectors of the input",
}


@dataclass(frozen=True, kw_only=True)
class _Placed(Edit):
    """Where a value edit holds. None: every layer, head, token, component."""

    layer: int | None = None
    heads: tuple[int, ...] | None = None
    positions: tuple[int, ...] | None = None
    components: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ValueEdit(_Placed):
    """Base: an edit of the value at the hook point `point` for chosen layers, heads, positions and components.

    At "pattern" (attention weights) positions are queries and components are keys; rows are not renormalised. Raises
    EncoderError for an unknown point, heads where the point has none, a layer outside the layers, and for "scores",
    which have edits of their own.
    """

    point: str
    needs_whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_point(self._name, self.point)
        if self.point in ("scores", "cross.scores"):
            raise EncoderError("Scores have edits of their own: use MaskKeys, SetScore, Temperature or CausalMask.")
        if self.point in ("pattern", "cross.pattern") and self.needs_whole:
            raise EncoderError(f"{self._name} cannot edit attention weights: use SetWeight or Replace.")
        if self.heads is not None and self.point not in HEAD_POINTS:
            raise EncoderError(f"{self.point} has no heads: leave heads out, or choose from {', '.join(HEAD_POINTS)}.")
        if self.layer is not None and self.point not in LAYER_POINTS:
            raise EncoderError(f"{self.point} lies outside the layers: leave layer out.")

    def describe(self, names: Names) -> str:
        words = self._what(names) + self._where()
        if self.positions is not None:
            words += " at " + ", ".join(map(names.token, self.positions))
        if self.components is not None:
            kind = "neuron" if self.point == "ffn.hidden" else "component"
            count = len(self.components)
            words += f", {kind} {self.components[0]}" if count == 1 else f", {count} {kind}s"
        return words

    @property
    def _point(self) -> str:
        return POINTS.get(self.point, self.point)

    def _what(self, names: Names, **more: str) -> str:
        return super()._what(names, point=self._point, **more)

    def at(self, point: str, layer: int | None) -> bool:
        return point == self.point and self.layer in (None, layer)

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        widths = self._widths(config, n_tokens, n_memory)
        if not widths:
            where = "" if self.layer is None else f" in layer {self.layer}"
            raise EncoderError(f"This model has no {self.point}{where}: choose another hook point.")
        for component in self.components or ():
            if component >= min(widths):
                self._refuse("component", component, min(widths))

    def _widths(self, config: EncoderConfig, n_tokens: int, n_memory: int) -> set[int]:
        """The numbers of components in its layers: several where only some layers have experts."""
        layers: Sequence[int | None] = [None]
        if self.point in LAYER_POINTS:
            layers = range(config.n_layers) if self.layer is None else [self.layer]
        widths = (width(config, self.point, one, n_tokens, n_memory) for one in layers)
        return {one for one in widths if one is not None}

    def apply(self, value: Tensor, site: Site) -> Tensor:
        """The value [..., T, C] or [..., H, T, C] of the point -> a new tensor of the same shape."""
        changed = self._changed(value, site).to(value)
        chosen = site.chosen(value, self.heads, self.positions, self.components)
        return changed.expand_as(value).clone() if chosen is None else torch.where(chosen, changed, value)

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        """What replaces the value, as if the edit held everywhere; broadcasts to `value`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Zero(ValueEdit):
    """Set the value to zero. Zero("attention_out", layer=3) leaves out the attention of layer 3."""

    code: ClassVar[str] = "zero"
    words: ClassVar[str] = "{point} left out"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return value.new_zeros(())


@dataclass(frozen=True)
class AblateHead(Edit):
    """Set z of one head to zero, so that it adds nothing to the residual stream.

    cross: of a decoder's cross-attention. Raises EncoderError for a layer or head that is not a whole number from 0 on.
    """

    layer: int
    head: int
    cross: bool = False
    code: ClassVar[str] = "ablate"

    def describe(self, names: Names) -> str:
        return f"L{self.layer} H{self.head}{' of cross-attention' * self.cross} off"

    def at(self, point: str, layer: int | None) -> bool:
        return point == ("cross.z" if self.cross else "z") and layer == self.layer

    def apply(self, value: Tensor, site: Site) -> Tensor:
        """z [..., H, T, K] of the layer -> a new tensor of the same shape."""
        return Zero("z", heads=(self.head,)).apply(value, site)


@dataclass(frozen=True)
class Scale(ValueEdit):
    """Multiply the value by a number."""

    value: float
    code: ClassVar[str] = "scale"
    words: ClassVar[str] = "{point} × {value:g}"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return value * self.value


@dataclass(frozen=True)
class SetValue(ValueEdit):
    """Set the value to a number."""

    value: float
    code: ClassVar[str] = "set"
    words: ClassVar[str] = "{point} = {value:g}"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        return value.new_full((), self.value)


@dataclass(frozen=True)
class Add(ValueEdit):
    """Add a vector: one number for each chosen component, or for each of the point's components."""

    vector: tuple[float, ...]
    code: ClassVar[str] = "add"
    words: ClassVar[str] = "vector added to {point}"
    needs_whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.vector, str) or not hasattr(self.vector, "__iter__"):
            raise EncoderError(f"Add has vector={quoted(self.vector)}: specify a tuple of numbers.")
        object.__setattr__(self, "vector", tuple(self._number(float(number)) for number in self.vector))

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        several = self._widths(config, n_tokens, n_memory) if self.components is None else {len(self.components)}
        for n in several:
            if len(self.vector) != n:
                raise EncoderError(
                    f"The vector to add has {len(self.vector)} numbers: specify {n}, one for each component."
                    if len(several) == 1
                    else f"Layers have {' or '.join(map(str, sorted(several)))} {self.point}: specify a layer."
                )

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        vector = value.new_zeros(value.shape[-1])
        places = range(len(self.vector)) if self.components is None else self.components
        vector[list(places)] = torch.tensor(self.vector).to(value)
        return value + vector


@dataclass(frozen=True)
class Noise(ValueEdit):
    """Add normal noise of standard deviation `value`. The same seed, layer and shape give the same noise."""

    value: float
    seed: int = 0
    code: ClassVar[str] = "noise"
    words: ClassVar[str] = "noise {value:g} on {point}, seed {seed}"
    bounds: ClassVar[tuple[float, float]] = (0.0, MAX_NUMBER)
    drawn: ClassVar[bool] = True
    needs_whole: ClassVar[bool] = True

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        layer = 0 if site.layer is None else site.layer + 1
        generator = torch.Generator().manual_seed(self.seed * 10_000 + layer)
        shape = value.shape[-3:] if self.point in HEAD_POINTS else value.shape[-2:]
        return value + self.value * torch.randn(shape, generator=generator).to(value)


@dataclass(frozen=True)
class Call(ValueEdit):
    """Replace the value by what a Python function makes of it.

    function: value [..., C] -> a new tensor of the same shape; it must not write to its argument; or the name of one
    that `register` knows: only a name can travel in a link, and its function must be registered where the link opens.
    """

    function: Callable[[Tensor], Tensor] | str = field(hash=True)
    code: ClassVar[str] = "call"
    needs_whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.function, str) and self.function not in FUNCTIONS:
            known = ", ".join(FUNCTIONS) or "none"
            raise EncoderError(
                f"No function {quoted(self.function)} is registered: register it first (known: {known})."
            )

    @property
    def _function(self) -> Callable[[Tensor], Tensor]:
        return FUNCTIONS[self.function] if isinstance(self.function, str) else self.function

    def _what(self, names: Names, **more: str) -> str:
        return f"{self.function if isinstance(self.function, str) else 'a function'} of {self._point}"

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        name = f"the function{f' {self.function!r}' if isinstance(self.function, str) else ''} at {self.point}"
        changed: Any = own.call(name, self._function, value)
        if not isinstance(changed, Tensor) or changed.shape != value.shape or not changed.is_floating_point():
            raise own.gave(name, self._function, changed, f"a tensor {tuple(value.shape)} of {value.dtype}")
        return changed.to(value)


#: Name -> function of `Call`.
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {}


def register(name: str, function: Callable[[Tensor], Tensor]) -> None:
    """Make a function available by its name in `Call`, and so in links and on the page Interventions."""
    check_name(name)
    FUNCTIONS[name] = function


VALUE_EDITS: tuple[type[Edit], ...] = (AblateHead, Zero, Scale, SetValue, Add, Noise, Call)


def ablates(edits: Sequence[Edit], layer: int, head: int) -> bool:
    """Whether edits set all of a head's z to zero."""
    for edit in edits:
        if isinstance(edit, AblateHead) and (edit.layer, edit.head, edit.cross) == (layer, head, False):
            return True
        whole = isinstance(edit, Zero) and edit.positions is None and edit.components is None
        if whole and edit.at("z", layer) and (edit.heads is None or head in edit.heads):  # type: ignore[attr-defined]
            return True
    return False
