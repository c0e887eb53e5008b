"""Times of several calls, measured in turn, and the ratio of their medians with its uncertainty."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: "wall": time that a person waits. "cpu": time that this process computes, which other processes change little.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Ratio:
    """median(ours) / median(theirs), with the middle 95% of resampled rounds."""

    value: float
    low: float
    high: float


def in_turn(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    seconds: float,
    least: int = 5,
    most: int = 200,
    clock: str = "wall",
) -> dict[str, list[float]]:
    """Name -> seconds of each call, at least `least` and at most `most` of them, until about `seconds` have passed.

    One round calls each contestant once. Each round starts with another one, so that no contestant always follows the
    same one. A first round does not count. Garbage is collected between rounds, never during one.
    """
    read = CLOCKS[clock]
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for call in contestants.values():
        call()
    began, collecting = time.perf_counter(), gc.isenabled()
    gc.disable()
    try:
        for number in range(most):
            if number >= least and time.perf_counter() - began > seconds:
                break
            gc.collect()
            start = number % len(names)
            for name in names[start:] + names[:start]:
                before = read()
                contestants[name]()
                times[name].append(read() - before)
    finally:
        if collecting:
            gc.enable()
    return times


def ratio(ours: Sequence[float], theirs: Sequence[float], resamples: int = 2000) -> Ratio:
    """Ratio of medians of two series from the same rounds, with a bootstrap interval over rounds."""
    rounds = np.array([ours, theirs])  # [2, n]
    picks = np.random.default_rng(0).integers(rounds.shape[1], size=(resamples, rounds.shape[1]))
    medians = np.median(rounds[:, picks], axis=-1)  # [2, resamples]
    low, high = np.quantile(medians[0] / medians[1], [0.025, 0.975])
    return Ratio(statistics.median(ours) / statistics.median(theirs), float(low), float(high))
