"""What a person sees of a run: its sequence, the answers, where attention looks. Symbols rather than ids.

Shapes: T tokens, L layers, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoder.train.loop import Frame, TaskRun, hits


@dataclass(frozen=True)
class Answers:
    """One sequence of T symbols: what stands there, what is right, what the encoder says."""

    shown: tuple[str, ...]
    expected: tuple[str, ...]
    predicted: tuple[str, ...]

    @property
    def right(self) -> int:
        """How many of the T answers are right."""
        return sum(a == b for a, b in zip(self.expected, self.predicted, strict=True))


def answers(run: TaskRun, frame: Frame) -> Answers:
    """The sample sequence of a run, with what the encoder answered at the time of `frame`."""
    task = run.task
    return Answers(
        tuple(task.text(run.inputs[0]).split()),
        tuple(task.classes[int(answer)] for answer in run.answers[0]),
        tuple(task.classes[int(answer)] for answer in frame.predicted),
    )


def attention(frame: Frame, layer: int, head: int, mean: bool) -> np.ndarray:
    """[T, T]: one head's map on the sample sequence, or its mean over the held-out sequences."""
    return (frame.mean if mean else frame.sample)[layer, head]


def right_looks(run: TaskRun, frame: Frame, layer: int, head: int) -> int | None:
    """Rows of the sample's map that look most at the token with the answer; None where a task has no single one."""
    source = run.task.source
    return None if source is None else hits(frame.sample[layer, head], source(run.inputs[:1] - run.task.offset)[0])


def best_head(run: TaskRun, frame: Frame) -> tuple[int, int] | None:
    """(layer, head) that looks at the right token most often; None where a task has no single right one."""
    if run.task.source is None:
        return None
    shape = frame.sample.shape[:2]
    counts = [[right_looks(run, frame, layer, head) or 0 for head in range(shape[1])] for layer in range(shape[0])]
    layer, head = np.unravel_index(np.array(counts).argmax(), shape)
    return int(layer), int(head)


def sample_text(run: TaskRun) -> str:
    """The sample sequence as a person types it: "3 1 4"."""
    return run.task.text(run.inputs[0])
