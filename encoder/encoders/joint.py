"""JointEncoder: an encoder of images and one of texts whose vectors are compared (CLIP, SigLIP).

    model = encoder.load("folder/of/a/clip")
    model.probabilities([image], ["a photo of a cat", "a photo of a dog"])
    trace = model.image.trace(image)            # each tower is an encoder of its own, for every page and measure
    model.image_vector(trace) @ model.projected_tokens(model.text.trace("a cat")).T

Shapes: I images, N texts, T tokens, E width of the vectors that are compared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.trace.trace import Trace

#: What makes probabilities of the logits: over all texts of an image (CLIP), or for each pair by itself (SigLIP).
Compares = Literal["softmax", "sigmoid"]


@dataclass(frozen=True, eq=False, repr=False)
class JointEncoder:
    """Two towers, each an encoder with traces of its own, and how their vectors are compared.

    text, image: the towers. The end of each, `text.pool` and `image.pool`, makes its vector: pooling and projection;
    the towers take the name of the whole. scale: factor of the cosine, 1 / temperature; bias: added to it (SigLIP);
    compares: what makes probabilities of the logits; notes: sentences about how it was loaded.
    Raises EncoderError for vectors of different widths, and for numbers that are not finite.
    """

    name: str
    text: TextEncoder
    image: ImageEncoder
    scale: float = 1.0
    bias: float = 0.0
    compares: Compares = "softmax"
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.text.width_of_vectors != self.image.width_of_vectors:
            raise EncoderError(
                f"The vectors of texts have {self.text.width_of_vectors} numbers and those of images "
                f"{self.image.width_of_vectors}: give projections to one width."
            )
        if not (math.isfinite(self.scale) and math.isfinite(self.bias)):
            raise EncoderError(f"scale={self.scale} and bias={self.bias} must be finite numbers.")
        if self.compares not in get_args(Compares):
            raise EncoderError(f"compares={self.compares!r} is unknown: choose one of {', '.join(get_args(Compares))}.")
        for kind, tower in self.towers.items():
            renamed = dataclasses.replace(tower, name=f"{self.name} ({kind})")
            object.__setattr__(self, kind, renamed)

    def __repr__(self) -> str:
        return (
            f"<JointEncoder {self.name}: {self.text!r}, {self.image!r}, {self.compares} of {self.scale:.4g} x cosine>"
        )

    @property
    def towers(self) -> dict[Literal["text", "image"], TextEncoder | ImageEncoder]:
        """What a tower takes -> the tower."""
        return {"text": self.text, "image": self.image}

    @property
    def text_projection(self) -> nn.Linear | None:
        """The linear map after the pooling of a text's tokens, D -> E, or None."""
        return self.text.dense[-1].linear if self.text.dense else None

    @property
    def image_projection(self) -> nn.Linear | None:
        """The linear map after the pooling of an image's tokens, D -> E, or None."""
        return None if self.image.vector_head is None else self.image.vector_head.projection

    @property
    def device(self) -> torch.device:
        """The device of the weights and traces."""
        return self.text.device

    @property
    def n_parameters(self) -> int:
        """Number of the weights of both towers, projections included."""
        heads = [*self.text.dense, *([] if self.image.vector_head is None else [self.image.vector_head])]
        ends = sum(parameter.numel() for head in heads for parameter in head.parameters())
        return self.text.n_parameters + self.image.n_parameters + ends

    def trace(self, input: Any, **options: Any) -> Trace:
        """A trace of the tower that takes the input: of `text` for a str, else of `image`. options: of its `trace`."""
        return (self.text if isinstance(input, str) else self.image).trace(input, **options)

    # --- vectors ------------------------------------------------------------------------------------------------------

    def embed_texts(self, texts: Sequence[str] | str, batch_size: int = 32) -> Tensor:
        """Texts -> [N, E], each of norm 1. A single text gives [1, E]. Raises TextError."""
        return _unit(self.text.embed(texts, batch_size))

    def embed_images(self, images: Sequence[Any], batch_size: int = 8) -> Tensor:
        """Images of any size (`ImageEncoder.prepare`) -> [I, E], each of norm 1. Raises ImageError."""
        return _unit(self.image.embed(images, batch_size))

    @torch.no_grad()
    def text_vector(self, trace: Trace) -> Tensor:
        """A trace of the tower `text` -> [E], of norm 1: what `embed_texts` gives for its text, edits included."""
        return _unit(self.text.vector_of(trace))

    @torch.no_grad()
    def image_vector(self, trace: Trace) -> Tensor:
        """A trace of the tower `image` -> [E], of norm 1: what `embed_images` gives for its image, edits included."""
        return _unit(self.image.vector_of(trace))

    @torch.no_grad()
    def projected_tokens(self, trace: Trace) -> Tensor:
        """[T, E], each of norm 1: the vector of the input if pooling took this token alone.

        CLIP: each token's output, projected. SigLIP's images: the learned query attends to this token alone. No model
        is trained on the vectors of single tokens, so a map of their cosines only suggests what a patch shows.
        """
        alone = trace.output.unsqueeze(1)  # [T, 1, D]
        if trace.kind == "image":
            return _unit(self.image.pool(alone))
        return _unit(self.text.vectors(alone))

    # --- comparison ---------------------------------------------------------------------------------------------------

    def logits(self, image_vectors: Tensor, text_vectors: Tensor) -> Tensor:
        """Unit vectors [I, E] and [N, E] -> [I, N]: scale x cosine + bias."""
        return self.scale * (image_vectors @ text_vectors.T) + self.bias

    def probabilities_of(self, logits: Tensor) -> Tensor:
        """Logits [I, N] -> [I, N]: softmax over the texts of each image, or the sigmoid of each pair by itself."""
        return logits.softmax(dim=-1) if self.compares == "softmax" else logits.sigmoid()

    def similarities(self, images: Sequence[Any], texts: Sequence[str]) -> Tensor:
        """Images and texts -> logits [I, N]. Raises EncoderError for one image or text that is in no list."""
        if isinstance(texts, str) or not (isinstance(images, Sequence) or getattr(images, "ndim", 0) == 4):
            raise EncoderError('Give lists: probabilities([image], ["a photo of a cat", "a photo of a dog"]).')
        return self.logits(self.embed_images(images), self.embed_texts(texts))

    def probabilities(self, images: Sequence[Any], texts: Sequence[str]) -> Tensor:
        """Images and texts -> [I, N] (`probabilities_of`)."""
        return self.probabilities_of(self.similarities(images, texts))


def _unit(vectors: Tensor) -> Tensor:
    """[..., E] -> [..., E] in float32, each of norm 1."""
    return torch.nn.functional.normalize(vectors.float(), dim=-1)
