"""Which of ten captions fits an image best: the digit that a pair of encoders names without a classification head.

Shapes: N images, E width of the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from encoder.encoders.joint import JointEncoder
from encoder.errors import EncoderError
from encoder.inputs.captions import WORDS, filled
from encoder.inputs.digits import SIDE, dataset


@dataclass(frozen=True)
class ZeroShot:
    """The digits that a pair names for N images. said, truth [N]: digits; images [N, 8, 8]: from 0 to 1."""

    said: Tensor
    truth: Tensor
    images: Tensor

    @property
    def accuracy(self) -> float:
        """The share of images whose digit is named."""
        return float((self.said == self.truth).float().mean())

    @property
    def counts(self) -> Tensor:
        """[10, 10]: images of each digit (rows) that were named as each digit (columns)."""
        return torch.bincount(10 * self.truth + self.said, minlength=100).view(10, 10)

    def first(self, digit: int, said: int) -> Tensor | None:
        """The first image of a digit that was named so, [8, 8]; None where there is none."""
        places = torch.nonzero((self.truth == digit) & (self.said == said))
        return self.images[int(places[0])] if len(places) else None


def of_held_out(model: JointEncoder, template: str, vectors: Tensor | None = None) -> ZeroShot:
    """The digits that a model names for the held-out images, by a template such as "a handwritten {number}".

    vectors [N, E]: `held_out_vectors`, if they are there. Raises EncoderError for a model of other images.
    """
    _, _, images, truth = _data()
    found = held_out_vectors(model) if vectors is None else vectors
    said = (found @ model.embed_texts([filled(template, word) for word in WORDS]).T).argmax(dim=-1)
    return ZeroShot(said.cpu(), truth, images)


def held_out_vectors(model: JointEncoder) -> Tensor:
    """The vectors of the held-out images, [N, E]. Raises EncoderError for a model of other images."""
    patches = model.image.patches
    if (patches.image_size, patches.channels) != (SIDE, 1):
        raise EncoderError(f"{model.name} takes other images than the digits of 8 x 8 pixels: choose digit-words.")
    return model.embed_images(list(_data()[2]), batch_size=64)


@cache
def _data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return dataset()  # the data set of scikit-learn is read from a file at each call
