"""JointEncoder: an encoder of texts and one of images or sounds whose vectors are compared (CLIP, SigLIP).

    model = encoder.load("folder/of/a/clip")
    model.probabilities([image], ["a photo of a cat", "a photo of a dog"])
    trace = model.image.trace(image)            # each tower is an encoder of its own, for every page and measure
    model.image_vector(trace) @ model.projected_tokens(model.text.trace("a cat")).T

Shapes: I images or sounds, N texts, T tokens, E width of the vectors that are compared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.named import moved_to
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.layout import InputKind
from encoder.inputs.sound import Sound
from encoder.model.shown import Shown
from encoder.trace.trace import Trace

Signal = ImageEncoder | AudioEncoder
#: What makes probabilities of the logits: over all texts of an image (CLIP), or for each pair by itself (SigLIP).
#: "MaxSim": tokens are compared, and not one vector of each input (`encoder.similarity.page_interaction`).
Compares = Literal["softmax", "sigmoid", "MaxSim"]


@dataclass(frozen=True, eq=False, repr=False)
class JointEncoder(Shown):
    """Two towers, each an encoder with traces of its own, and how their vectors are compared.

    text, other: the towers, of texts and of images or sounds. The end of each, its `pool`, makes its vector: pooling
    and projection; the towers take the name of the whole. scale: factor of the cosine, 1 / temperature; bias: added to
    it (SigLIP);
    compares: what makes probabilities of the logits; notes: sentences about how it was loaded; origin: as of
    NamedEncoder.
    Raises EncoderError for vectors of different widths, and for numbers that are not finite.
    """

    name: str
    text: TextEncoder
    other: Signal
    scale: float = 1.0
    bias: float = 0.0
    compares: Compares = "softmax"
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    origin: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if self.text.width_of_vectors != self.other.width_of_vectors:
            raise EncoderError(
                f"The vectors of texts have {self.text.width_of_vectors} numbers and those of {self.other.takes}s "
                f"{self.other.width_of_vectors}: specify projections to one width."
            )
        if not (math.isfinite(self.scale) and math.isfinite(self.bias)):
            raise EncoderError(f"scale={self.scale} and bias={self.bias} must be finite numbers.")
        if self.compares not in get_args(Compares):
            raise EncoderError(
                f"compares={quoted(self.compares)} is unknown: choose one of {', '.join(get_args(Compares))}."
            )
        for field_name, tower in (("text", self.text), ("other", self.other)):
            renamed = dataclasses.replace(tower, name=f"{self.name} ({tower.takes})")
            object.__setattr__(self, field_name, renamed)

    def __repr__(self) -> str:
        return (
            f"<JointEncoder {self.name}: {self.text!r}, {self.other!r}, {self.compares} of {self.scale:.4g} x cosine>"
        )

    @property
    def towers(self) -> dict[InputKind, TextEncoder | Signal]:
        """What a tower takes -> the tower."""
        return {"text": self.text, self.other.takes: self.other}

    def to(self, device: str = "auto", dtype: str | None = None) -> JointEncoder:
        """A copy of both towers on another device, or in another number type (`NamedEncoder.to`)."""
        return moved_to(self, device, dtype)

    @property
    def image(self) -> ImageEncoder:
        """The tower of images. Raises EncoderError for a pair of sound and text."""
        if not isinstance(self.other, ImageEncoder):
            raise EncoderError(f"{self.name} accepts sound and text: use its towers sound and text.")
        return self.other

    @property
    def sound(self) -> AudioEncoder:
        """The tower of sounds. Raises EncoderError for a pair of images and text."""
        if not isinstance(self.other, AudioEncoder):
            raise EncoderError(f"{self.name} accepts images and text: use its towers image and text.")
        return self.other

    @property
    def device(self) -> torch.device:
        """The device of the weights and traces."""
        return self.text.device

    @property
    def n_parameters(self) -> int:
        """Number of the weights of both towers, projections included."""
        own = [self.text.encoder, *self.text.dense, self.other.encoder, *self.other.heads.values()]
        classes = () if self.other.classifier is None else self.other.classifier.parameters()
        counted = {id(one): one for module in own for one in module.parameters()}  # towers may share them
        return sum(one.numel() for one in counted.values()) - sum(one.numel() for one in classes)

    def trace(self, input: Any, **options: Any) -> Trace:
        """A trace of the tower that takes the input: of `text` for a str, else of `other`. options: of its `trace`."""
        return (self.text if isinstance(input, str) else self.other).trace(input, **options)

    # --- vectors ------------------------------------------------------------------------------------------------------

    def embed_texts(self, texts: Sequence[str] | str, batch_size: int = 32) -> Tensor:
        """Texts -> [N, E], each of norm 1. A single text gives [1, E]. Raises TextError."""
        return _unit(self.text.embed(texts, batch_size))

    def embed_images(self, images: Sequence[Any], batch_size: int = 8) -> Tensor:
        """Images of any size (`ImageEncoder.prepare`) -> [I, E], each of norm 1. Raises ImageError."""
        return _unit(self.image.embed(images, batch_size))

    def embed(self, inputs: Sequence[Any], batch_size: int = 8) -> Tensor:
        """What the tower `other` takes -> [I, E], each of norm 1."""
        return _unit(self.other.embed(inputs, batch_size))

    def embed_sounds(self, sounds: Sequence[Sound], batch_size: int = 8) -> Tensor:
        """Sounds -> [I, E], each of norm 1. Raises SoundError."""
        return _unit(self.sound.embed(sounds, batch_size))

    @torch.no_grad()
    def text_vector(self, trace: Trace) -> Tensor:
        """A trace of the tower `text` -> [E], of norm 1: what `embed_texts` gives for its text, edits included."""
        return _unit(self.text.vector_of(trace))

    @torch.no_grad()
    def other_vector(self, trace: Trace) -> Tensor:
        """A trace of the tower `other` -> [E], of norm 1: what `embed_images` or `embed_sounds` gives, with edits."""
        return _unit(self.other.vector_of(trace))

    image_vector = other_vector

    @torch.no_grad()
    def projected_tokens(self, trace: Trace) -> Tensor:
        """[T, E], each of norm 1: the vector of the input if pooling took this token only.

        CLIP: each token's output, projected. SigLIP's images: the learned query attends to this token only. No model
        is trained on the vectors of single tokens, so a map of their cosines only suggests what a patch shows.
        """
        alone = trace.output.unsqueeze(1)  # [T, 1, D]
        return _unit(self.text.vectors(alone) if trace.kind == "text" else self.other.pool(alone))

    # --- comparison ---------------------------------------------------------------------------------------------------

    def logits(self, image_vectors: Tensor, text_vectors: Tensor) -> Tensor:
        """Unit vectors [I, E] and [N, E] -> [I, N]: scale x cosine + bias.

        Raises EncoderError for a model that compares tokens.
        """
        self.check_vectors()
        return self.scale * (image_vectors @ text_vectors.T) + self.bias

    def check_vectors(self) -> None:
        """Raise EncoderError for a model that compares tokens, and not one vector of each input."""
        if self.compares == "MaxSim":
            raise EncoderError(
                f"{self.name} compares each token of a query with each patch of a page, and has no vector of the "
                "whole: use encoder.similarity.page_interaction(model, query, page)."
            )

    def probabilities_of(self, logits: Tensor) -> Tensor:
        """Logits [I, N] -> [I, N]: softmax over the texts of each image, or the sigmoid of each pair by itself."""
        return logits.softmax(dim=-1) if self.compares == "softmax" else logits.sigmoid()

    def similarities(self, images: Sequence[Any], texts: Sequence[str]) -> Tensor:
        """Images (or sounds) and texts -> logits [I, N]. Raises EncoderError for one that is in no list."""
        if isinstance(texts, str) or not (isinstance(images, Sequence) or getattr(images, "ndim", 0) == 4):
            raise EncoderError('Specify lists: probabilities([image], ["a photo of a cat", "a photo of a dog"]).')
        return self.logits(self.embed(images), self.embed_texts(texts))

    def probabilities(self, images: Sequence[Any], texts: Sequence[str]) -> Tensor:
        """Images and texts -> [I, N] (`probabilities_of`)."""
        return self.probabilities_of(self.similarities(images, texts))


def _unit(vectors: Tensor) -> Tensor:
    """[..., E] -> [..., E] in float32, each of norm 1."""
    return torch.nn.functional.normalize(vectors.float(), dim=-1)
