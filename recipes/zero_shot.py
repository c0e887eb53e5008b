"""Which of ten captions fits an image or a sound best: the digit that a pair names without a classification head.

Shapes: N images or sounds, E width of the vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from encoder.encoders.joint import JointEncoder
from encoder.errors import EncoderError
from encoder.inputs.captions import WORDS, filled
from encoder.inputs.digits import SIDE, dataset
from encoder.inputs.spoken_digits import held_out as recordings


@dataclass(frozen=True)
class ZeroShot:
    """The digits that a pair names for N inputs. said, truth [N]: digits."""

    said: Tensor
    truth: Tensor

    @property
    def accuracy(self) -> float:
        """The share of inputs whose digit is named."""
        return float((self.said == self.truth).float().mean())

    @property
    def counts(self) -> Tensor:
        """[10, 10]: inputs of each digit (rows) that were named as each digit (columns)."""
        return torch.bincount(10 * self.truth + self.said, minlength=100).view(10, 10)


def of_held_out(model: JointEncoder, template: str, vectors: Tensor | None = None) -> ZeroShot:
    """The digits that a model names for the held-out inputs, by a template such as "a handwritten {number}".

    vectors [N, E]: `held_out_vectors`, if they are there. Raises EncoderError for a model of other images.
    """
    _, truth = _data(model.other.takes)
    found = held_out_vectors(model) if vectors is None else vectors
    said = (found @ model.embed_texts([filled(template, word) for word in WORDS]).T).argmax(dim=-1)
    return ZeroShot(said.cpu(), truth)


def held_out_vectors(model: JointEncoder) -> Tensor:
    """The vectors of the held-out inputs, [N, E]. Raises EncoderError for a model of other images."""
    if model.other.takes == "sound":
        return model.embed_sounds(_data("sound")[0], batch_size=64)
    patches = model.image.patches
    if (patches.image_size, patches.channels) != (SIDE, 1):
        raise EncoderError(f"{model.name} accepts other images than the digits of 8 x 8 pixels: choose digit-words.")
    return model.embed_images(_data("image")[0], batch_size=64)


@cache
def _data(kind: str) -> tuple[Sequence[Any], Tensor]:
    """The held-out images of scikit-learn's data set, or the bundled recordings of held-out voices; their digits."""
    if kind == "sound":
        return [one.sound for one in recordings()], torch.tensor([one.digit for one in recordings()])
    _, _, images, truth = dataset()  # read from a file at each call
    return list(images), truth
