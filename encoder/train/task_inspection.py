"""What a page shows of a run: its sequence, and which token each head attends to most.

Shapes: T tokens.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from encoder.train.run_view import Frame, HeldOut


def hits(pattern: np.ndarray | Tensor, source: Tensor) -> int:
    """Rows of an attention map [T, T] whose largest weight lies on the token with the answer. source: [T]."""
    return int((torch.as_tensor(pattern).argmax(-1) == source).sum())


def right_rows(held_out: HeldOut, frame: Frame, layer: int, head: int) -> int | None:
    """Rows of the sample's map that attend most to the token with the answer; None where no single token has it."""
    source = held_out.source
    return None if source is None else hits(frame.sample[layer, head], source)


def best_head(held_out: HeldOut, frame: Frame) -> tuple[int, int] | None:
    """(layer, head) with the most right rows; None where no single token has the answer."""
    if held_out.task.source is None:
        return None
    shape = frame.sample.shape[:2]
    counts = [[right_rows(held_out, frame, layer, head) or 0 for head in range(shape[1])] for layer in range(shape[0])]
    layer, head = np.unravel_index(np.array(counts).argmax(), shape)
    return int(layer), int(head)


def sample_text(held_out: HeldOut) -> str:
    """The sample sequence as a person types it: "3 1 4"."""
    return held_out.task.text(held_out.inputs[0])
