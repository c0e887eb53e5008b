"""What a page shows of a run: its sequence, the answers, and which token each head attends to most.

Shapes: T tokens, L layers, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.train.run_view import Frame, HeldOut


@dataclass(frozen=True)
class Answers:
    """One sequence of T symbols: the symbols, the right answers, and the answers of the encoder."""

    shown: tuple[str, ...]
    expected: tuple[str, ...]
    predicted: tuple[str, ...]

    @property
    def right(self) -> int:
        """How many of the T answers are right."""
        return sum(a == b for a, b in zip(self.expected, self.predicted, strict=True))


def answers(held_out: HeldOut, frame: Frame) -> Answers:
    """The sample, with the answers of the encoder at the time of `frame`."""
    task = held_out.task
    return Answers(
        tuple(task.text(held_out.inputs[0]).split()),
        tuple(task.classes[int(answer)] for answer in held_out.answers[0]),
        tuple(task.classes[int(answer)] for answer in frame.predicted),
    )


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
