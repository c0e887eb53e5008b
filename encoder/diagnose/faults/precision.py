"""Faults of rounding: coarser number types of weights, of the whole computation, or of the stored vectors."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from encoder.diagnose.faults.base import EVERY_INPUT, Clues, Fault, refuse_unless, register
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.inputs.layout import InputKind

#: The largest relative difference of vectors that a number type explains.
TOLERANCES = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 5e-2, "int8": 3e-1}
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
        computed = [cls(kind, "computation") for kind in ("bfloat16", "float16", "int8", "int8 per channel")]
        return [
            *(cls(kind, "vectors") for kind in ("float16", "bfloat16", "int8")),
            *(cls(kind, "weights") for kind in ("bfloat16", "float16", "int8", "int8 per channel")),
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
        if self.kind.startswith("int8") and front.batch is None:  # the scale of activations depends on the batch
            changed = changed.with_front(batch=1)
        end = pipeline.end
        if self.kind.startswith("int8"):
            return changed
        dense = tuple(rounded_module(one, self.kind, self.of) for one in end.dense)
        attention = None if end.attention is None else rounded_module(end.attention, self.kind, self.of)
        return changed.with_end(dense=dense, attention=attention)

    def _said(self, parameters: dict[str, Any]) -> str:
        what = {"computation": "all numbers", "weights": "the weights", "vectors": "the finished vectors"}[self.of]
        return self.said.format(of=what, kind=self.kind)


def tolerance_of(kind: str) -> float:
    """The relative difference that a number type explains."""
    return TOLERANCES[kind.split(" ")[0]]


def rounded_module(module: Any, kind: str, of: Of) -> Any:
    """A copy of a module whose weights, and with "computation" whose arithmetic, are of a coarser type."""
    made = copy.deepcopy(module)
    if kind.startswith("int8"):
        for part in made.modules():
            if isinstance(part, nn.Linear):
                part.weight.data = quantised(part.weight.data, per_channel="channel" in kind)
                if of == "computation":
                    part.register_forward_pre_hook(_with_quantised_input)
            elif isinstance(part, nn.Embedding):
                part.weight.data = quantised(part.weight.data, per_channel=False, signed=False)
        return made
    number_type = getattr(torch, kind)
    if of == "computation":
        return made.to(number_type)
    for parameter in made.parameters():
        parameter.data = parameter.data.to(number_type).to(parameter.dtype)
    return made


def quantised(weight: Tensor, *, per_channel: bool, signed: bool = True) -> Tensor:
    """A matrix [out, in] as 8-bit whole numbers x scale, with one scale in all or one for each row.

    signed: symmetric around 0, to 127; otherwise 0 to 255 with a whole zero point, as ONNX Runtime has activations.
    """
    if not signed:
        return _quantised_asymmetric(weight)
    top = weight.abs().amax(dim=-1, keepdim=True) if per_channel else weight.abs().amax()
    scale = (top / 127).clamp(min=1e-12)
    return (weight / scale).round().clamp(-127, 127) * scale


def _quantised_asymmetric(x: Tensor) -> Tensor:
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-12)
    zero = (-low / scale).round()
    return ((x / scale).round() + zero).clamp(0, 255).sub(zero) * scale


def _with_quantised_input(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Activations as 8-bit whole numbers, with the scale of what is given (dynamic quantisation)."""
    return (_quantised_asymmetric(given[0]), *given[1:])
