"""Faults after the encoder: pooling, dense maps, normalisation, dimensions, the order of the vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from encoder.diagnose.comparing import SAME
from encoder.diagnose.faults.base import EVERY_INPUT, Clues, Fault, refuse_unless, register
from encoder.diagnose.pipeline import Pipeline, Stage, Step, by_length
from encoder.inputs.layout import InputKind
from encoder.model.pooling import Dense, DenseActivation

#: Ways of pooling, those of tokens and more of `pipeline.End`, in words.
IN_WORDS = {
    "cls": "the vector of the first token ([CLS])",
    "mean": "the mean of the vectors of all tokens",
    "last": "the vector of the last token",
    "max": "the largest of each number over all tokens",
    "pooler": "the vector of the first token after BERT's pooler, a layer with tanh",
    "mean_of_words": "the mean without the vectors of special tokens",
    "mean_sqrt_len": "the sum of the vectors, divided by the square root of their number",
    "weighted_mean": "a mean in which later tokens weigh more",
    "after_first": "the mean without the vector of the first token",
    "first_two": "the mean of the vectors of the first two tokens",
    "attention": "a sum of the vectors that is weighted by attention",
}
#: Vectors of other texts that a sentence names.
MOST_MOVED = 3
#: Those that are tried.
WAYS = ("cls", "mean", "last", "max", "pooler", "mean_of_words", "mean_sqrt_len", "weighted_mean", "after_first")


def in_words(pooling: str) -> str:
    """A way of pooling in words, of "cls+mean" both."""
    return " and ".join(IN_WORDS.get(one, one) for one in pooling.split("+"))


@register
@dataclass(frozen=True)
class OtherPooling(Fault):
    """Another way to make one vector of those of the tokens."""

    pooling: str
    #: The model's own.
    own: str = field(default="", repr=False, compare=False)
    name: ClassVar[str] = "pooling"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    most_together: ClassVar[int] = 9
    stage: ClassVar[Stage] = "pooling"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "takes {pooling}"
    remedy: ClassVar[str] = (
        "Set the pooling to that of 1_Pooling/config.json; it has an older form (pooling_mode_mean_tokens) and a newer "
        "one (pooling_mode)."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        own = pipeline.end.pooling
        joined = [one for one in own.split("+") if "+" in own]
        return [cls(one, own) for one in (*joined, *WAYS) if one != own]

    @property
    def unlikely(self) -> int:
        return self.rank if self.pooling in WAYS[:5] else 6

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.end.pooling != self.pooling, "pools in this way")
        refuse_unless(pipeline.end.last == "real", "takes another token")
        return pipeline.with_end(pooling=self.pooling)

    def _said(self, parameters: dict[str, Any]) -> str:
        said = self.said.format(pooling=in_words(self.pooling))
        return f"{said}; the model takes {in_words(self.own)}" if self.own else said


@register
@dataclass(frozen=True)
class PromptPooled(Fault):
    """The prompt's tokens are pooled where the model leaves them out, or the other way round."""

    name: ClassVar[str] = "prompt-pooled"
    stage: ClassVar[Stage] = "pooling"
    said: ClassVar[str] = "pools the prompt's tokens where the model leaves them out, or the other way round"
    remedy: ClassVar[str] = "Read include_prompt of 1_Pooling/config.json."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.prompt, "has no prompt")
        return pipeline.with_end(pools_prompt=not pipeline.end.pools_prompt)


@register
@dataclass(frozen=True)
class DenseMissing(Fault):
    """Maps after the pooling are left out."""

    which: tuple[int, ...]
    name: ClassVar[str] = "dense-missing"
    stage: ClassVar[Stage] = "dense"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "leaves out {which}"
    remedy: ClassVar[str] = (
        "Read all modules of modules.json: AutoModel, and most converters, know only the first. Apply the weights of "
        "2_Dense and its like to the pooled vector."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        everyone = tuple(range(len(pipeline.end.dense)))
        if not everyone:
            return []
        return [cls(everyone), *(cls((one,)) for one in everyone if len(everyone) > 1)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        left = tuple(step for step in pipeline.end.steps if not (step[0] == "dense" and step[1] in self.which))
        refuse_unless(left != pipeline.end.steps, "has no such map")
        return pipeline.with_end(steps=left)

    def _said(self, parameters: dict[str, Any]) -> str:
        names = [f"Dense layer {one + 1}" for one in self.which]
        return self.said.format(which="the " + " and the ".join(names) if names else "")


@register
@dataclass(frozen=True)
class DenseActivationFunction(Fault):
    """The maps after the pooling have another activation function."""

    activation: DenseActivation
    name: ClassVar[str] = "dense-activation"
    stage: ClassVar[Stage] = "dense"
    rank: ClassVar[int] = 3
    said: ClassVar[str] = "uses the activation function {activation} in the Dense layers"
    remedy: ClassVar[str] = "Read activation_function of 2_Dense/config.json: Tanh and Identity are both usual."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        own = {dense.config.activation for dense in pipeline.end.dense}
        return [cls(one) for one in get_args(DenseActivation) if own and own != {one}]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        changed = [with_activation(dense, self.activation) for dense in pipeline.end.dense]
        return pipeline.with_end(dense=tuple(changed))


def with_activation(dense: Dense, activation: DenseActivation) -> Dense:
    """The same map with another activation function."""
    made = Dense(dataclasses.replace(dense.config, activation=activation))
    made.load_state_dict(dense.state_dict(), assign=True)
    return made.eval()


@register
@dataclass(frozen=True)
class NormaliseMissing(Fault):
    """Vectors are not scaled to norm 1."""

    name: ClassVar[str] = "normalise-missing"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "does not scale vectors to norm 1"
    remedy: ClassVar[str] = "Divide each vector by its norm, or compare by cosine only."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        left = tuple(step for step in pipeline.end.steps if step[0] != "normalise")
        refuse_unless(left != pipeline.end.steps, "does not normalise")
        return pipeline.with_end(steps=left)


@register
@dataclass(frozen=True)
class NormaliseExtra(Fault):
    """Vectors are scaled to norm 1 where the model leaves them as they are."""

    name: ClassVar[str] = "normalise-extra"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "scales vectors to norm 1, which the model does not"
    remedy: ClassVar[str] = "Switch normalisation off, or compare by cosine, to which it makes no difference."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(not any(kind == "normalise" for kind, _ in pipeline.end.steps), "normalises")
        return pipeline.with_end(steps=(*pipeline.end.steps, ("normalise", 0)))


@register
@dataclass(frozen=True)
class TruncatedDimensions(Fault):
    """Only the first numbers are kept."""

    width: int
    name: ClassVar[str] = "truncated-dimensions"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "keeps the first {width:,} numbers of each vector"
    remedy: ClassVar[str] = "Set dimensions (truncate_dim) to the same number in both programs."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        width = clues.vectors.shape[1]
        return [cls(width)] if width != pipeline.width else []

    def apply(self, pipeline: Pipeline) -> Pipeline:
        steps = tuple(step for step in pipeline.end.steps if step[0] != "cut")
        return pipeline.with_end(steps=(*steps, ("cut", self.width)))


@register
@dataclass(frozen=True)
class MatryoshkaOrder(Fault):
    """Vectors are cut after they are scaled to norm 1, or before it, unlike in the reference."""

    name: ClassVar[str] = "matryoshka-order"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "{what}"
    remedy: ClassVar[str] = "Cut first and then scale to norm 1; compare by cosine where one program does not."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        steps = pipeline.end.steps
        refuse_unless(any(kind == "cut" for kind, _ in steps), "keeps all numbers")
        return pipeline.with_end(steps=self.moved(steps))

    @staticmethod
    def moved(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps with a normalisation after the cut; without it, where there is one."""
        cut = next(place for place, step in enumerate(steps) if step[0] == "cut")
        if any(kind == "normalise" for kind, _ in steps[cut:]):
            kept = tuple(step for step in steps[cut:] if step[0] != "normalise")
            return (*steps[:cut], ("normalise", 0), *kept)
        kept = tuple(step for step in steps if step[0] != "normalise")
        return (*kept, ("normalise", 0))

    def _said(self, parameters: dict[str, Any]) -> str:
        return "scales vectors to norm 1 at another place: after the cut for before it, or before for after"


@register
@dataclass(frozen=True)
class OutputScale(Fault):
    """Vectors are multiplied by a number."""

    factor: float
    name: ClassVar[str] = "output-scale"
    takes: ClassVar[tuple[InputKind, ...]] = EVERY_INPUT
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 6
    said: ClassVar[str] = "multiplies each vector by {factor:.6g}"
    remedy: ClassVar[str] = "Leave the factor out, or compare by cosine, to which it makes no difference."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in (-1.0, float(np.sqrt(pipeline.width)), 127.0, 100.0, 1_000.0)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(not any(kind == "scale" for kind, _ in pipeline.end.steps), "multiplies")
        return pipeline.with_end(steps=(*pipeline.end.steps, ("scale", self.factor)))


@register
@dataclass(frozen=True)
class TextOrder(Fault):
    """Vectors come back in another order: sorted by the texts' lengths, exchanged, moved by a place, or repeated."""

    #: The place of each vector's text; "length": from the longest text to the shortest.
    order: tuple[int, ...] | Literal["length"]
    name: ClassVar[str] = "text-order"
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "vector"
    rank: ClassVar[int] = 6
    said: ClassVar[str] = "gives the vectors in the order of the texts' lengths, the longest first"
    remedy: ClassVar[str] = "Put the vectors back into the order of the texts before you store them."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        known = [*range(len(clues.texts))], by_length(clues.texts)
        order = _nearest(clues)
        return [cls("length")] if [*order] in known else [cls("length"), cls(order)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return dataclasses.replace(pipeline, order=self.order)

    def _said(self, parameters: dict[str, Any]) -> str:
        if self.order == "length":
            return self.said
        moved = [(place + 1, source + 1) for place, source in enumerate(self.order) if source != place]
        if len(moved) == 2 and moved[0] == moved[1][::-1]:
            return f"exchanges the vectors of texts {moved[0][0]} and {moved[0][1]}"
        some = ", ".join(f"vector {place} is that of text {source}" for place, source in moved[:MOST_MOVED])
        more = len(moved) - MOST_MOVED
        return f"gives vectors to other texts: {some}{f', and {more:,} more' if more > 0 else ''}"


def _nearest(clues: Clues) -> tuple[int, ...]:
    """The text whose right vector has the largest cosine with each vector; its own, where no other's is larger."""
    own = tuple(range(len(clues.texts)))
    if clues.ours is None or clues.ours.shape != clues.vectors.shape:
        return own
    ours, theirs = (
        one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-12) for one in (clues.ours, clues.vectors)
    )
    cosines = theirs @ ours.T
    best = cosines.argmax(axis=1)
    is_own = cosines[own, own] >= cosines[own, best] - SAME
    return tuple(np.where(is_own, own, best).tolist())
