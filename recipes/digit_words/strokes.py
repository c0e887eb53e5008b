"""How thick a digit is drawn: its ink, beside that of the training images of the same digit.

Shapes: N images of 8 x 8 pixels from 0 to 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from encoder.inputs.captions import Stroke

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
