"""AnyEncoder: an encoder of texts, images or sounds that may name classes. What all three have, written once.

Shapes: n inputs, T tokens, D d_model, D' width of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.model.pooling import Pooling, pool
from encoder.trace.capture import ON_REQUEST
from encoder.trace.trace import Trace

AnyEncoder = TextEncoder | ImageEncoder | AudioEncoder


def vectors(model: AnyEncoder, outputs: Tensor) -> Tensor:
    """Outputs [n, T, D] of whole inputs -> the vector of each input, [n, D'] in float32.

    A text is pooled as its checkpoint says, and so is an image without a classification head; else see `pooling_of`.
    """
    mask = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
    if isinstance(model, TextEncoder):
        return model.pool(outputs, mask).float()
    if isinstance(model, ImageEncoder) and model.classifier is None:
        return model.pool(outputs).float()
    return pool(outputs, mask, pooling_of(model)).float()


def pooling_of(model: ImageEncoder | AudioEncoder) -> Pooling:
    """How an image's or a sound's vector is made: as the classification head reads it; without a head, of [CLS], or the
    mean of all tokens where there is none.
    """
    if model.classifier is not None and model.classifier.config.kind == "sequence":
        return model.classifier.config.pooling
    return "cls" if model.layout.before else "mean"


def with_inputs(model: ImageEncoder | AudioEncoder, edits: Sequence[Edit], find: Callable[[str], Any]) -> list[Edit]:
    """The edits with the images or sounds run that they take values from, by name.

    find: name -> what `model.trace` takes. A model of texts needs none of this: it runs the texts itself.
    """

    def run(name: str, points: tuple[str, ...]) -> Trace:
        return model.trace(find(name), request=tuple(point for point in points if point in ON_REQUEST))

    return [edit.resolve(run) for edit in edits]
