"""Edits that put values of other runs in place of this one's: those of one run, or the mean over several.

Shapes: H heads, T tokens, C components (of attention weights: keys).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from encoder.edits.base import MEMORY_POINTS, Edit, Names, Run, Runner, Site
from encoder.edits.values import ValueEdit
from encoder.errors import EncoderError, quoted
from encoder.model.config import EncoderConfig
from encoder.model.hooks import LAYER_POINTS

#: A reference set has at most this many texts: each is run when the edit is used.
MOST_TEXTS = 64


@dataclass(frozen=True)
class Replace(ValueEdit):
    """Replace the value by that of another run at the same places ("activation patching").

    source: a text, which the model runs unedited, or a Trace that recorded the point. Without positions, and
    always at "pattern", both runs need the same number of tokens.
    """

    source: str | Run
    code: ClassVar[str] = "replace"

    def _what(self, names: Names, **more: str) -> str:
        return f"{self._point} of {names.text(str(self.source))}"

    def resolve(self, run: Runner) -> Self:
        if not isinstance(self.source, str):
            return self
        return replace(self, source=_values_of(self.source, self, run))

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        if isinstance(self.source, str):
            return
        _check_run(self.source, config, self)
        theirs = self.source.n_tokens
        if self.point in MEMORY_POINTS:
            theirs, n_tokens = self.source.values["memory"].shape[-2], n_memory
        if theirs != n_tokens and (self.positions is None or self.point == "pattern"):
            raise EncoderError(
                f"The other text has {theirs} tokens, and this one {n_tokens}: choose texts that align, or positions."
            )
        for position in self.positions or ():
            if position >= theirs:
                raise EncoderError(f"The other text has no position {position}: choose 0 to {theirs - 1}.")

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        run = _as_run(self.source)
        if self.point == "pattern":
            assert site.layer is not None
            queries = slice(site.tokens.start, site.tokens.stop, site.tokens.step)
            return run.layer_attention(site.layer, queries)[list(site.heads)]
        theirs = run.values[_key(self.point, site.layer)]
        if theirs.shape[-2] == value.shape[-2]:
            return theirs
        n = min(theirs.shape[-2], value.shape[-2])  # `check` saw that the chosen positions are among these
        aligned = value.new_zeros(value.shape[1:] if value.dim() > theirs.dim() else value.shape)
        aligned[..., :n, :] = theirs[..., :n, :]
        return aligned


@dataclass(frozen=True)
class Mean(ValueEdit):
    """Replace the value by its mean over all tokens of reference texts ("mean ablation").

    sources: texts, which the model runs by itself and unedited, or Traces that recorded the point.
    """

    sources: tuple[str | Run, ...]
    code: ClassVar[str] = "mean"
    needs_whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.sources, str) or not hasattr(self.sources, "__iter__"):
            raise EncoderError(f"Mean has sources={quoted(self.sources)}: specify a tuple of texts.")
        object.__setattr__(self, "sources", tuple(self.sources))
        if not 1 <= len(self.sources) <= MOST_TEXTS:
            raise EncoderError(f"A mean over {len(self.sources)} texts: specify 1 to {MOST_TEXTS}.")

    def _what(self, names: Names, **more: str) -> str:
        one = len(self.sources) == 1
        return f"mean of {self._point} over {names.text(str(self.sources[0])) if one else f'{len(self.sources)} texts'}"

    def resolve(self, run: Runner) -> Self:
        runs = (_values_of(one, self, run) if isinstance(one, str) else one for one in self.sources)
        return replace(self, sources=tuple(runs))

    def check(self, config: EncoderConfig, n_tokens: int, n_memory: int = 0) -> None:
        super().check(config, n_tokens, n_memory)
        for source in self.sources:
            if not isinstance(source, str):
                _check_run(source, config, self)

    def _changed(self, value: Tensor, site: Site) -> Tensor:
        key = _key(self.point, site.layer)
        every = torch.cat([_as_run(source).values[key] for source in self.sources], dim=-2)  # [H, all tokens, C]
        return every.mean(dim=-2, keepdim=True)


RUN_EDITS: tuple[type[Edit], ...] = (Replace, Mean)


def sources(edits: Sequence[Edit]) -> tuple[str, ...]:
    """The texts that edits take values from. Each is one more forward pass."""
    found: list[str | Run] = []
    for edit in edits:
        if isinstance(edit, Replace):
            found.append(edit.source)
        elif isinstance(edit, Mean):
            found += edit.sources
    return tuple(one for one in found if isinstance(one, str))


def _key(point: str, layer: int | None) -> str:
    return point if layer is None else f"layers.{layer}.{point}"


def _values_of(text: str, edit: ValueEdit, run: Runner) -> Run:
    """The run of a text, with the values only that the edit needs. Attention weights are derived from q, k and v.

    An edited trace keeps its sources, and a whole trace of 512 tokens in MiniLM takes 40 MB.
    """
    points = ("q", "k", "v") if edit.point == "pattern" else (edit.point,)
    found: Any = run(text, () if edit.point == "pattern" else points)
    layers: Sequence[int | None] = [edit.layer]
    if edit.layer is None and edit.point in LAYER_POINTS:
        layers = range(found.config.n_layers)
    keys = [key for point in points for layer in layers if (key := _key(point, layer)) in found.values]
    return replace(found, values=MappingProxyType({key: found.values[key] for key in keys}))


def _as_run(source: str | Run) -> Run:
    if isinstance(source, str):
        raise EncoderError(
            f"The text {quoted(source)} was not run: specify the edit to `trace`, or a Trace as its source."
        )
    return source


def _check_run(run: Run, config: EncoderConfig, edit: ValueEdit) -> None:
    """Raise EncoderError for another model's run, and for one that did not record the point."""
    if not hasattr(run, "values") or not hasattr(run, "layer_attention"):
        raise EncoderError(f"{edit._name} cannot use {quoted(run)} as a source: specify a text or a Trace.")
    sizes = ("n_layers", "n_heads", "d_head", "d_model", "d_ffn", "embedding_width")
    if any(getattr(run.config, name) != getattr(config, name) for name in sizes):
        raise EncoderError("The other run is from a model of other sizes: run it with this model.")
    layer = edit.layer if edit.layer is not None or edit.point not in LAYER_POINTS else config.n_layers - 1
    if edit.point != "pattern" and _key(edit.point, layer) not in run.values:
        raise EncoderError(f"The other run did not record {edit.point}: trace it with request=({edit.point!r},).")
