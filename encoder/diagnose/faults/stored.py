"""Faults of finished vectors on their way into a store: whole numbers, a mean that is subtracted, moved components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from encoder.diagnose.comparing import SAME
from encoder.diagnose.faults.base import EVERY_INPUT, Clues, Fault, refuse_unless, register
from encoder.diagnose.finishing import (
    MIDDLE,
    OF_BITS,
    PACKED,
    STEPS,
    Codes,
    Finish,
    Form,
    Moved,
    Reordered,
    fitted_offset,
    fitted_order,
    fitted_ranges,
    principal,
    ranges_of,
)
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.inputs.layout import InputKind

#: The texts whose vectors decide a range or a mean.
Of = Literal["these texts", "other texts"]
#: Forms in words.
IN_WORDS: dict[Form, str] = {
    "int8": "in int8, as one of 256 steps from the lowest to the highest number of each component over {of}",
    "int8 cut towards 0": "in int8, cut towards 0, in 256 steps from the lowest to the highest number of each "
    "component over {of}",
    "uint8": "in uint8, as one of 256 steps from the lowest to the highest number of each component over {of}",
    "int8 of 127": "in int8: scaled to norm 1, times 127, rounded",
    "binary": "as signs, eight in one int8 number",
    "ubinary": "as signs, eight in one uint8 number",
    "signs": "as signs, -1 or 1",
    "bits": "as signs, 0 or 1",
}
#: Directions that are removed with the mean, at most.
MOST_DIRECTIONS = 3
#: Components that a sentence names.
MOST_NAMED = 3


def finished(pipeline: Pipeline, finish: Finish) -> Pipeline:
    """The pipeline with one more step after the vector. Raises EncoderError where it has one."""
    refuse_unless(pipeline.end.finish is None and pipeline.end.stored == "float32", "changes finished vectors")
    return pipeline.with_end(finish=finish)


@register
@dataclass(frozen=True)
class Quantised(Fault):
    """Vectors are stored as whole numbers or signs, as `quantize_embeddings` of sentence-transformers makes them."""

    form: Form
    of: Of | Literal[""] = ""
    low: np.ndarray | None = field(default=None, repr=False, compare=False)
    step: np.ndarray | None = field(default=None, repr=False, compare=False)
    name: ClassVar[str] = "quantised-vectors"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "stores each vector {form}"
    remedy: ClassVar[str] = (
        "Compare the vectors before they are quantised. Steps over the texts of a request change with these texts: set "
        "fixed ranges, or calibration texts."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        theirs, ours = clues.vectors, clues.ours
        if ours is None or not np.array_equal(theirs, np.rint(theirs)):
            return []
        packed = -(-ours.shape[1] // 8)
        if theirs.shape[1] == packed:
            return [cls(one) for one in PACKED]
        if theirs.shape != ours.shape:
            return []
        low, step = ranges_of(ours)
        forms: tuple[Form, ...] = ("int8", "int8 cut towards 0", "uint8")
        found = [cls(one) for one in OF_BITS[2:]] + [cls(one, "these texts", low, step) for one in forms]
        found.append(cls("int8 of 127"))
        if any(np.array_equal(Codes(one, low, step).settled(ours, theirs), theirs) for one in forms):
            return found  # other ranges would be the same ones
        for form, least in (("int8", MIDDLE), ("uint8", 0)):
            levels = theirs + least
            inside = levels.min() >= 0 and levels.max() <= STEPS
            ranges = fitted_ranges(ours, levels) if inside else None
            found += [] if ranges is None else [cls(form, "other texts", *ranges)]  # type: ignore[arg-type]
        return found

    @property
    def unlikely(self) -> int:
        return self.rank + (self.of == "other texts")

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return finished(pipeline, Codes(self.form, self.low, self.step))

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(form=IN_WORDS[self.form].format(of=self.of))


@register
@dataclass(frozen=True)
class MeanRemoved(Fault):
    """One vector is subtracted from all, as centring does; with it, directions of large variance may be removed."""

    of: Of
    directions: int = 0
    scales: bool = False
    offset: np.ndarray | None = field(default=None, repr=False, compare=False)
    removed: np.ndarray | None = field(default=None, repr=False, compare=False)
    #: The cosine of the offset with the mean of these texts.
    cosine: float = field(default=1.0, repr=False, compare=False)
    name: ClassVar[str] = "mean-removed"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 6
    said: ClassVar[str] = "subtracts {what}{then}"
    remedy: ClassVar[str] = (
        "Leave the subtraction out, or do the same to the reference with one mean that is stored: a mean of each "
        "request depends on its texts."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        theirs, ours = clues.vectors, clues.ours
        if ours is None or ours.shape != theirs.shape or fitted_offset(ours, theirs, scaled=False) is None:
            return []
        mean = ours.mean(axis=0, dtype=np.float64)
        most = principal(ours, MOST_DIRECTIONS)
        found = [
            cls("these texts", number, scales, mean, most[:number])
            for number in range(min(MOST_DIRECTIONS, len(ours) - 2) + 1)
            for scales in (False, True)
        ]
        for scales in (False, True):
            offset = fitted_offset(ours, theirs, scaled=scales)
            if offset is not None and np.linalg.norm(offset - mean) > SAME * np.linalg.norm(mean):
                cosine = float(offset @ mean / max(float(np.linalg.norm(offset) * np.linalg.norm(mean)), 1e-12))
                found.append(cls("other texts", 0, scales, offset, most[:0], cosine))
        return found

    @property
    def unlikely(self) -> int:
        return self.rank + (self.of == "other texts")

    def apply(self, pipeline: Pipeline) -> Pipeline:
        assert self.offset is not None, "candidates have it"
        assert self.removed is not None, "candidates have it"
        return finished(pipeline, Moved(self.offset, self.removed, self.scales))

    def _said(self, parameters: dict[str, Any]) -> str:
        what = "the mean of the vectors of these texts"
        if self.of == "other texts" and self.offset is not None:
            size = np.linalg.norm(self.offset)
            what = f"one vector from all (norm {size:.2g}, cosine with the mean of these texts: {self.cosine:.2f})"
        number = f"{self.directions} directions" if self.directions > 1 else "direction"
        then = f", removes the {number} of their largest variance" if self.directions else ""
        return self.said.format(what=what, then=f"{then}{', and scales to norm 1' if self.scales else ''}")


@register
@dataclass(frozen=True)
class DimensionOrder(Fault):
    """The components of each vector are in another order."""

    #: The place of each component in the model's vector.
    order: tuple[int, ...]
    name: ClassVar[str] = "dimension-order"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 6
    said: ClassVar[str] = "gives the components of each vector in another order: {moved}"
    remedy: ClassVar[str] = (
        "Look for a transposed or reshaped array, or sorted names of columns, where it stores vectors."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        order = None if clues.ours is None else fitted_order(clues.ours, clues.vectors)
        if order is None or np.array_equal(order, np.arange(len(order))):
            return []
        return [cls(tuple(order.tolist()))]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(len(self.order) == pipeline.width, "has another width")
        return finished(pipeline, Reordered(np.array(self.order)))

    def _said(self, parameters: dict[str, Any]) -> str:
        moved = [(place, source) for place, source in enumerate(self.order) if place != source]
        some = ", ".join(f"{place} is the model's {source}" for place, source in moved[:MOST_NAMED])
        more = len(moved) - MOST_NAMED
        return self.said.format(moved=f"{some}{f', and {more:,} more' if more > 0 else ''}, counted from 0")
