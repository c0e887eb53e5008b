"""Fault: one way in which a program makes other vectors, as a frozen value that changes a pipeline.

A new fault is one class: a frozen dataclass over `Fault` with its name, its words, the values that it may have for a
model (`candidates`) and what it changes (`apply`), and one line `@register`. The search, the documents, the command
line and the page list it from `FAULTS`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from encoder.diagnose.pipeline import Pipeline, Stage, by_length
from encoder.edits import Edit
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import InputKind

#: Inputs of the faults that are in every encoder.
EVERY_INPUT: tuple[InputKind, ...] = ("text", "image", "sound")
#: Texts of a file that are tried as one batch.
MOST_TOGETHER = 256
#: The sizes of batches that are tried where the other program's is not known, the likeliest first.
USUAL_BATCHES = (32, 16, 8, 4, 64, 2)
#: Stage -> the part of the picture of the model that shows it, as `encoder.views.model_parts` names it.
PARTS: dict[Stage, str] = {
    "text": "ids",
    "tokens": "ids",
    "embedding": "embedding",
    "pooling": "output",
    "dense": "output",
    "vector": "output",
}


@dataclass(frozen=True, eq=False)
class Clues:
    """What is known before the search: what faults choose their candidates from."""

    #: The texts.
    texts: Sequence[str]
    #: The other program's vectors, [N, D'].
    vectors: np.ndarray
    #: Texts in a batch of the other program; None: not known.
    batch: int | None = None
    #: Lengths at which files of the model cut texts, or pad them.
    lengths: tuple[int, ...] = ()
    #: Models that the other program may have opened in place of this one, or whose tokenizers it may use.
    others: tuple[TextEncoder | SignalEncoder, ...] = ()
    #: The vectors of the right pipeline, [N, D']; None: not yet known.
    ours: np.ndarray | None = None
    #: Texts whose vectors are right, by their places; None: not yet known.
    right: frozenset[int] | None = field(default=None)
    #: The tokens of each text, before it is cut.
    tokens: tuple[int, ...] = ()
    #: Where the right pipeline cuts a text.
    limit: int = sys.maxsize
    #: The folder of the model, where it has one.
    folder: Path | None = None

    @cached_property
    def batches(self) -> list[Batching]:
        """How the other program may have batched the texts: as it says, or all together, or as is usual; those whose
        padding fits the texts that differ come first."""
        n_texts = len(self.texts)
        together = [n_texts] if n_texts <= MOST_TOGETHER else []
        sizes = [*together, *USUAL_BATCHES] if self.batch is None else [self.batch]
        found = [Batching(n_texts)] if any(size >= n_texts for size in sizes) and (together or self.batch) else []
        found += [Batching(size, sorts) for size in sizes if size < n_texts for sorts in (True, False)]
        return sorted(found, key=self._misfits)

    def _misfits(self, batching: Batching) -> int:
        """The texts with padding that are right, and without padding that are not; 0 where none is right."""
        if not self.right or not self.tokens:
            return 0
        tokens = [min(one, self.limit) for one in self.tokens]
        padded: set[int] = set()
        for group in batching.groups(self.texts):
            width = max(tokens[place] for place in group)
            padded.update(place for place in group if tokens[place] < width)
        return sum((place in padded) == (place in self.right) for place in range(len(tokens)))


@dataclass(frozen=True)
class Batching:
    """Texts in a batch, and whether they are sorted by length first, as sentence-transformers does."""

    size: int
    sorts: bool = False

    def groups(self, texts: Sequence[str]) -> list[list[int]]:
        """The places of the texts of each batch."""
        places = by_length(texts) if self.sorts else list(range(len(texts)))
        return [places[first : first + self.size] for first in range(0, len(places), self.size)]

    def of(self, pipeline: Pipeline, **changes: Any) -> Pipeline:
        """The pipeline with these batches and other fields of its front."""
        front = pipeline.front
        refuse_unless(front.batch in (None, self.size) and front.sorts in (False, self.sorts), "has other batches")
        refuse_unless(front.fill_to is None, "pads every text to one length")
        return pipeline.with_front(batch=self.size, sorts=self.sorts, **changes)


@dataclass(frozen=True)
class Fault:
    """Base of every fault. Its fields are its parameters."""

    #: The name in JSON, in documents and on the command line.
    name: ClassVar[str] = ""
    #: What goes into the pipelines that may have it.
    takes: ClassVar[tuple[InputKind, ...]] = ("text",)
    #: Where in the pipeline it is.
    stage: ClassVar[Stage] = "text"
    #: The part of the picture of the model where it is; empty: that of its stage.
    part: ClassVar[str] = ""
    #: "Your program ...": what it does, with parameters in braces.
    said: ClassVar[str] = ""
    #: What to do about it.
    remedy: ClassVar[str] = ""
    #: Whether it shows in a batch only.
    of_batches: ClassVar[bool] = False
    #: Whether its vectors are reproduced up to rounding of a coarse type, and not to the last digits.
    noisy: ClassVar[bool] = False
    #: The smaller, the sooner it is tried, and the sooner it is named where two faults give the same vectors.
    rank: ClassVar[int] = 5
    #: Of its candidates, how many are tried together with other faults.
    most_together: ClassVar[int] = 2

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        """The values that are worth a try for this model and these vectors, the likeliest first."""
        return [cls()]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the fault. Raises EncoderError where it cannot have it."""
        raise NotImplementedError

    @property
    def unlikely(self) -> int:
        """Which of equal explanations is named: the one with the smaller sum."""
        return self.rank

    @property
    def shown_at(self) -> str:
        """The part of the picture of the model where it is; empty: the whole picture."""
        return self.part or PARTS.get(self.stage, "")

    @property
    def at_end(self) -> bool:
        """Whether it changes only what follows the encoder."""
        return self.stage in ("pooling", "dense", "vector") and not self.of_batches

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields by name, as JSON has them; a field without `repr` is none."""
        return {one.name: _plain(getattr(self, one.name)) for one in dataclasses.fields(self) if one.repr}

    @property
    def sentence(self) -> str:
        """What the program does: "Your program leaves out the second Dense layer."."""
        return f"Your program {self._said(self.parameters)}."

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(**parameters)

    def edits(self, model: TextEncoder) -> tuple[Edit, ...]:
        """The edits of a trace that show the same fault, where it is one: the picture of the model then has it."""
        return ()

    def about(self) -> dict[str, Any]:
        """The fault as JSON."""
        return {"name": self.name, "said": self.sentence, "remedy": self.remedy, "parameters": self.parameters}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return {"batch": value.size, "sorted": value.sorts} if isinstance(value, Batching) else value


Kind = TypeVar("Kind", bound=type[Fault])
#: Every fault by its name.
FAULTS: dict[str, type[Fault]] = {}


def register(kind: Kind) -> Kind:
    """Make a fault known to the search, the documents and the page. Raises EncoderError for a name that is taken."""
    if not kind.name or kind.name in FAULTS:
        raise EncoderError(f"The fault's name {kind.name!r} is empty or taken: choose another.")
    FAULTS[kind.name] = kind
    return kind


def refuse_unless(fits: object, why: str) -> None:
    """Raise EncoderError where a pipeline cannot have a fault."""
    if not fits:
        raise EncoderError(f"This pipeline {why}, so it cannot have this fault.")


def edited(pipeline: Pipeline, *edits: Edit) -> Pipeline:
    """The pipeline with more edits of its forward pass: a fault that is an edit."""
    return pipeline.with_front(edits=(*pipeline.front.edits, *edits))


#: Makes candidates one after the other, each the first time only.
def unique(values: Iterable[Any], make: Callable[[Any], Any]) -> list[Any]:
    """`make` of each value, without those that come again."""
    return [make(one) for one in dict.fromkeys(values)]
