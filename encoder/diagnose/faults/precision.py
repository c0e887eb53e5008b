"""Faults of rounding: coarser number types of weights, of the whole computation, or of the stored vectors."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from encoder.diagnose.faults.base import EVERY_INPUT, Clues, Fault, refuse_unless, register
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.inputs.layout import InputKind

#: The largest relative difference of vectors that a number type explains.
TOLERANCES = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 5e-2, "int8": 3e-1}
#: Fewer levels keep sums of products within 16 bits, and some processors have only these.
SEVEN_BITS = 127


@dataclass(frozen=True)
class Grid:
    """How a program stores numbers in 8 bits: matrices of weights, activations, and tables of embeddings."""

    #: For weights around 0, to this many steps each way; None: from the lowest to the highest, in 255 steps.
    steps: float | None = 127.0
    #: One scale for each output of a matrix.
    per_channel: bool = False
    #: Steps from the lowest to the highest activation.
    activations: int = 255
    #: Whether tables of embeddings are rounded, too.
    embeddings: bool = True


#: Kind -> its grid: three of ONNX Runtime's `quantize_dynamic`, and `quantize_dynamic` of torch.
GRIDS = {
    "int8": Grid(),
    "int8 per channel": Grid(per_channel=True),
    "uint8": Grid(steps=None),
    "int8 by torch": Grid(steps=127.5, activations=SEVEN_BITS, embeddings=False),
}
#: What is rounded: every number, the weights only, or the finished vectors.
Of = Literal["computation", "weights", "vectors"]


@register
@dataclass(frozen=True)
class Precision(Fault):
    """Numbers are rounded to a coarser type."""

    kind: str
    of: Of
    name: ClassVar[str] = "precision"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "layers"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "rounds {of} to {kind}"
    remedy: ClassVar[str] = (
        "Choose the unquantised file (model.onnx, not model_quantized.onnx), or dtype float32; otherwise expect this "
        "difference, and store all vectors of an index in the same way."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        computed = [cls(kind, "computation") for kind in ("bfloat16", "float16", *GRIDS)]
        return [
            *(cls(kind, "vectors") for kind in ("float16", "bfloat16", "int8")),
            *(cls(kind, "weights") for kind in ("bfloat16", "float16", *GRIDS)),
            *computed,
        ]

    @property
    def noisy(self) -> bool:  # type: ignore[override]
        """Whether other kernels round differently."""
        return self.of == "computation"

    @property
    def at_end(self) -> bool:
        return self.of == "vectors"

    def apply(self, pipeline: Pipeline) -> Pipeline:
        if self.of == "vectors":
            refuse_unless(pipeline.end.stored == "float32", "rounds vectors")
            return pipeline.with_end(stored=self.kind)
        front = pipeline.front
        refuse_unless(front.precision == "float32", "rounds numbers")
        kind = f"{self.kind} of {self.of}"
        changed = pipeline.with_front(encoder=rounded_module(front.encoder, self.kind, self.of), precision=kind)
        end = pipeline.end
        if self.kind in GRIDS:  # the scale of activations depends on the batch
            return changed if front.batch is not None else changed.with_front(batch=1)
        dense = tuple(rounded_module(one, self.kind, self.of) for one in end.dense)
        attention = None if end.attention is None else rounded_module(end.attention, self.kind, self.of)
        return changed.with_end(dense=dense, attention=attention)

    def _said(self, parameters: dict[str, Any]) -> str:
        what = {"computation": "all numbers", "weights": "the weights", "vectors": "the finished vectors"}[self.of]
        return self.said.format(of=what, kind=self.kind.replace("by torch", "as torch does"))


def tolerance_of(kind: str) -> float:
    """The relative difference that a number type explains."""
    return TOLERANCES["int8" if kind in GRIDS else kind]


def rounded_module(module: Any, kind: str, of: Of) -> Any:
    """A copy of a module whose weights, and with "computation" whose arithmetic, are of a coarser type."""
    made = copy.deepcopy(module)
    if kind in GRIDS:
        return _on_grid(made, GRIDS[kind], of)
    number_type = getattr(torch, kind)
    if of == "computation":
        return made.to(number_type)
    for parameter in made.parameters():
        parameter.data = parameter.data.to(number_type).to(parameter.dtype)
    return made


def _on_grid(module: Any, grid: Grid, of: Of) -> Any:
    for part in module.modules():
        if isinstance(part, nn.Linear):
            part.weight.data = quantised(part.weight.data, grid)
            if of == "computation":
                part.register_forward_pre_hook(partial(_with_quantised_input, grid.activations))
        elif isinstance(part, nn.Embedding) and grid.embeddings:
            part.weight.data = _between(part.weight.data, 255)
    return module


def quantised(weight: Tensor, grid: Grid) -> Tensor:
    """A matrix [out, in] as 8-bit whole numbers x scale, with one scale in all or one for each row."""
    if grid.steps is None:
        return _between(weight, 255)
    top = weight.abs().amax(dim=-1, keepdim=True) if grid.per_channel else weight.abs().amax()
    scale = (top / grid.steps).clamp(min=1e-12)
    return (weight / scale).round().clamp(-math.ceil(grid.steps), 127) * scale


def _between(x: Tensor, steps: int) -> Tensor:
    """Numbers in equal steps from the lowest to the highest, where 0 is whole."""
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = ((high - low) / steps).clamp(min=1e-12)
    zero = (-low / scale).round()
    return ((x / scale).round() + zero).clamp(0, steps).sub(zero) * scale


def _with_quantised_input(steps: int, _: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Activations as whole numbers, with the scale of what is given (dynamic quantisation)."""
    return (_between(given[0], steps), *given[1:])
