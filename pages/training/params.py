"""The values of the page “Train a small encoder” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.config import NORM_PLACEMENTS, POSITION_KINDS
from encoder.train.tasks import TASKS
from pages.core.params import Param, choice, flag, number, several, whole_number
from pages.core.url_state import state

#: Smallest and largest of what is offered; larger runs take minutes rather than seconds.
BOUNDS = {
    "length": (4, 32), "symbols": (2, 16), "train_layers": (1, 12), "train_heads": (1, 8), "train_width": (8, 128),
    "rise": (1, 1000), "steps": (20, 3000),
}  # fmt: skip
LOWEST_RATE, HIGHEST_RATE = 1e-5, 10.0
WARM = ("with", "without")


@state.register
@dataclass(frozen=True)
class Params:
    """What is trained, and what is watched of it."""

    task: Param[str] = choice("reverse", TASKS)
    norms: Param[list[str]] = several(["pre", "post"], NORM_PLACEMENTS, url="train_norm")
    warm: Param[list[str]] = several(["with"], WARM)
    encodings: Param[list[str]] = several(["learned"], POSITION_KINDS)
    rate: Param[float] = number(3e-3, LOWEST_RATE, HIGHEST_RATE)
    rise: Param[int] = whole_number(50, *BOUNDS["rise"])
    steps: Param[int] = whole_number(400, *BOUNDS["steps"])
    length: Param[int] = whole_number(16, *BOUNDS["length"])
    symbols: Param[int] = whole_number(10, *BOUNDS["symbols"])
    layers: Param[int] = whole_number(1, *BOUNDS["train_layers"], url="train_layers")
    heads: Param[int] = whole_number(1, *BOUNDS["train_heads"], url="train_heads")
    width: Param[int] = whole_number(32, *BOUNDS["train_width"], url="train_width")
    seed: Param[int] = whole_number(0, 0, 999_999, url="train_seed")
    # What is watched: a head, on the sample sequence or as a mean over the held-out ones.
    watch_layer: Param[int] = whole_number(0)
    watch_head: Param[int] = whole_number(0)
    watch_mean: Param[bool] = flag()
