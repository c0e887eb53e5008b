"""How well images and texts fit in a JointEncoder: the steps from cosines to probabilities, and words over patches.

Shapes: I images, N texts, E width of the vectors, T tokens of a text, R x C patches.
"""

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.encoders.joint import JointEncoder
from encoder.measure import patches
from encoder.trace.trace import Trace

#: Unit vectors of images or texts, [..., E].
Vectors = Tensor


@dataclass(frozen=True)
class Scores:
    """Numbers of I images and N texts, each [I, N]: cosine, logit = scale x cosine + bias, and probability."""

    cosines: Tensor
    logits: Tensor
    probabilities: Tensor
    scale: float
    bias: float


def scores(model: JointEncoder, image_vectors: Tensor, text_vectors: Tensor, times: float = 1.0) -> Scores:
    """Unit vectors of images [I, E] and texts [N, E] -> their scores. times: a factor of the trained scale."""
    used = dataclasses.replace(model, scale=model.scale * times)
    logits = used.logits(image_vectors, text_vectors).cpu()
    cosines = (image_vectors @ text_vectors.T).cpu()
    return Scores(cosines, logits, used.probabilities_of(logits), used.scale, used.bias)


def token_patches(model: JointEncoder, image: Trace, text: Trace) -> Tensor:
    """[T, R, C]: the cosine of each token of a text with each patch of an image, both projected.

    The model was trained on whole images and texts only (`JointEncoder.projected_tokens`).
    """
    cosines = model.projected_tokens(text) @ model.projected_tokens(image).T
    return patches.over_image(image, cosines).cpu()


def by_template(model: JointEncoder, image_vector: Tensor, text_vectors: Tensor, times: float = 1.0) -> Tensor:
    """An image [E] and M templates of N texts each [M, N, E] -> probabilities [M, N] among the texts of a template."""
    rows = [scores(model, image_vector[None], vectors, times).probabilities[0] for vectors in text_vectors]
    return torch.stack(rows)
