"""A run at one time: its curve, its attention maps, and the sequences that both are measured on.

Shapes: T tokens, L layers, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from encoder.train.settings import TaskSettings
from encoder.train.tasks import Task

#: Sequences on which a run is measured.
N_HELD_OUT = 256


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The sequences held out from training, inputs and answers [N_HELD_OUT, T]. The first is the sample."""

    task: Task
    inputs: Tensor
    answers: Tensor

    @classmethod
    def of(cls, settings: TaskSettings) -> HeldOut:
        """Those of a run with these settings."""
        task = settings.make_task()
        return cls(task, *task.sample(N_HELD_OUT, (settings.seed, 1)))

    @property
    def source(self) -> Tensor | None:
        """[T]: the token of the sample that has each answer; None where no single token has it."""
        find = self.task.source
        return None if find is None else find(self.inputs[:1] - self.task.offset)[0]

    @property
    def sample_text(self) -> str:
        """The sample sequence as a person types it: "3 1 4"."""
        return self.task.text(self.inputs[0])

    def right_rows(self, frame: Frame, layer: int, head: int) -> int | None:
        """Rows of the sample's map that attend most to the token with the answer; None where no single token has it."""
        source = self.source
        return None if source is None else hits(frame.sample[layer, head], source)

    def best_head(self, frame: Frame) -> tuple[int, int] | None:
        """(layer, head) with the most right rows; None where no single token has the answer."""
        if self.task.source is None:
            return None
        return max(np.ndindex(*frame.sample.shape[:2]), key=lambda place: self.right_rows(frame, *place) or 0)


def hits(pattern: np.ndarray | Tensor, source: Tensor) -> int:
    """How many queries have their largest weight on the token with the answer. pattern: [T, T]; source: [T]."""
    return int((torch.as_tensor(pattern).argmax(-1) == source).sum())


@dataclass(frozen=True, eq=False)
class Frame:
    """The encoder after `step` steps. Maps leave out registers."""

    step: int
    #: [L, H, T, T]: attention on the sample sequence.
    sample: np.ndarray
    #: [L, H, T, T]: over the held-out sequences.
    mean: np.ndarray
    #: [T]: class of each token of the sample.
    predicted: np.ndarray
    #: [L, H, 5]: `sink_numbers`, over the held-out sequences.
    sinks: np.ndarray


@dataclass(frozen=True, eq=False)
class RunView:
    """A run at the time of a poll; it never changes afterwards."""

    settings: TaskSettings
    #: "ready", "waiting", "running", "done", "stopped", "diverged at step n: ..." or "failed: ...".
    status: str
    #: Whether a thread works or waits for its turn.
    active: bool
    step: int
    seconds: float
    #: Training loss of each step, in nats.
    losses: tuple[float, ...]
    #: Points with step, loss (training, mean since the last point), held_out_loss, accuracy (held-out, share of
    #: tokens), learning_rate and seconds.
    curve: tuple[dict[str, float], ...]
    #: Attention during training.
    frames: tuple[Frame, ...]

    @property
    def progress(self) -> float:
        """0 to 1."""
        return self.step / self.settings.steps

    @property
    def accuracy(self) -> float:
        """Held-out, at the last point of the curve; 0 before the first."""
        return self.curve[-1]["accuracy"] if self.curve else 0.0

    @property
    def diverged(self) -> bool:
        """Whether the loss left the range of a run that learns."""
        return self.status.startswith("diverged")

    def to_frame(self) -> pd.DataFrame:
        """The curve as a table."""
        names = ["step", "loss", "held_out_loss", "accuracy", "learning_rate", "seconds"]
        return pd.DataFrame(list(self.curve), columns=names)
