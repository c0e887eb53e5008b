"""The numbers of a run that a reader does not have yet, as arrays: a refresh carries new points only.

Shapes: T tokens; S new steps, P new points of the curve, F new attention maps.
"""

from dataclasses import dataclass

import numpy as np

from encoder.errors import ConfigError
from encoder.train.run_view import HeldOut, RunView


@dataclass(frozen=True)
class Seen:
    """How many losses, points and attention maps of a run a reader has. Raises ConfigError for a negative number."""

    losses: int = 0
    points: int = 0
    frames: int = 0

    def __post_init__(self) -> None:
        if min(self.losses, self.points, self.frames) < 0:
            raise ConfigError(f"{self}: specify numbers of 0 or more.")


@dataclass(frozen=True)
class WatchedHead:
    """The head whose maps are shown. mean: the mean over the held-out sequences, otherwise the map of the sample."""

    layer: int = 0
    head: int = 0
    mean: bool = False


def since(view: RunView, held_out: HeldOut, watched: WatchedHead, seen: Seen) -> dict[str, np.ndarray]:
    """The new numbers of a run.

    Returns losses float32 [S]: training loss of each step, nats; points float64 [P, 3]: step, held-out loss, held-out
    accuracy; steps int32 [F], maps float32 [F, T, T] and predicted int32 [F, T]: classes of the sample; rows int32 [F]:
    rows of the sample's map that attend most to the token with the answer, -1 where no single token has it; sinks
    float32 [F, H, 5]: `loop.sink_numbers` of the layer's heads.
    Raises ConfigError for a head that the run does not have.
    """
    settings = view.settings
    if not (0 <= watched.layer < settings.n_layers and 0 <= watched.head < settings.n_heads):
        raise ConfigError(
            f"L{watched.layer} H{watched.head}: this run has layers 0 to {settings.n_layers - 1} and heads 0 to "
            f"{settings.n_heads - 1}."
        )
    frames, size = view.frames[seen.frames :], settings.length
    maps = [(one.mean if watched.mean else one.sample)[watched.layer, watched.head] for one in frames]
    rows = [held_out.right_rows(one, watched.layer, watched.head) for one in frames]
    points = [(one["step"], one["held_out_loss"], one["accuracy"]) for one in view.curve[seen.points :]]
    return {
        "losses": np.array(view.losses[seen.losses :], dtype=np.float32),
        "points": np.array(points, dtype=np.float64).reshape(-1, 3),
        "steps": np.array([one.step for one in frames], dtype=np.int32),
        "maps": np.array(maps, dtype=np.float32).reshape(-1, size, size),
        "predicted": np.array([one.predicted for one in frames], dtype=np.int32).reshape(-1, size),
        "sinks": np.array([one.sinks[watched.layer] for one in frames], dtype=np.float32).reshape(
            -1, settings.n_heads, 5
        ),
        "rows": np.array([-1 if found is None else found for found in rows], dtype=np.int32),
    }
