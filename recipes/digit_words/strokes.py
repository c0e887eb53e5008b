"""How thick a digit is drawn: its ink, compared with the training images of the same digit; captions that name it.

Shapes: N images of 8 x 8 pixels from 0 to 1.
"""

import torch
from torch import Tensor

from encoder.encoders.joint import JointEncoder
from encoder.inputs.captions import WORDS
from encoder.inputs.digits import dataset
from recipes.digit_words.captions import UNSEEN_PAIRS, Stroke
from recipes.zero_shot import held_out_vectors

#: Number of a stroke in tensors; 0: neither.
STROKES: tuple[Stroke | None, ...] = (None, "thick", "thin")


def limits(images: Tensor, labels: Tensor) -> Tensor:
    """Images [N, 8, 8], labels [N] -> [10, 2]: where a third of each digit's images ends by its ink, and two thirds."""
    ink = images.sum(dim=(1, 2))
    shares = torch.tensor([1 / 3, 2 / 3])
    return torch.stack([torch.quantile(ink[labels == digit], shares) for digit in range(10)])


def strokes(images: Tensor, labels: Tensor, between: Tensor) -> Tensor:
    """Images [N, 8, 8], labels [N], `limits` [10, 2] -> places in STROKES [N]: thick has the most ink."""
    ink = images.sum(dim=(1, 2))
    low, high = between[labels].unbind(-1)
    return (ink >= high).long() + 2 * (ink <= low).long()


def accuracy_of_strokes(model: JointEncoder, *, unseen: bool) -> tuple[float, int]:
    """How often "a thick three" or "a thin three" is chosen rightly for held-out images that are thick or thin.

    unseen: for the pairs of stroke and digit that no training caption names, or for the others. Returns the share and
    the number of images.
    """
    images, labels, held_out, truth = dataset()
    thickness = strokes(held_out, truth, limits(images, labels))
    vectors = held_out_vectors(model)
    texts = [f"a {stroke} {word}" for word in WORDS for stroke in STROKES[1:]]
    fits = (vectors @ model.embed_texts(texts).T).view(-1, 10, 2)  # [N, digit, thick or thin]
    said = fits[torch.arange(len(truth)), truth].argmax(dim=-1) + 1
    asked = [
        stroke > 0 and ((STROKES[stroke], digit) in UNSEEN_PAIRS) == unseen
        for stroke, digit in zip(thickness.tolist(), truth.tolist(), strict=True)
    ]
    right = (said.cpu() == thickness)[torch.tensor(asked)]
    return float(right.float().mean()), len(right)
