"""The time of one layer at several lengths, measured on this machine, next to the formula of `encoder.explain.cost`."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from encoder.errors import EncoderError, OutOfMemory
from encoder.explain.cost import crossover, curve
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder

#: Each length runs again until it has taken this many seconds, at most REPEATS times.
POINT_SECONDS = 0.2
REPEATS = 20


@dataclass(frozen=True)
class Timing:
    """One measured length. layer, between: seconds of one layer, and of its attention between tokens (scores, softmax,
    weighted sum); done, total: number of lengths measured and asked for."""

    n_tokens: int
    layer: float
    between: float
    done: int
    total: int

    @property
    def rest(self) -> float:
        """Seconds of the layer without the attention between tokens: the part that grows with n."""
        return max(self.layer - self.between, 0.0)


def default_lengths(config: EncoderConfig, longest: int | None = None) -> tuple[int, ...]:
    """Lengths around the crossover, each √2 times the one before, at most `longest`."""
    limit = longest or int(1.5 * crossover(config).n_tokens)
    steps = [round(64 * 2 ** (exponent / 2)) for exponent in range(24)]
    return tuple(n for n in steps if n <= max(limit, 128))


def time_layer(encoder: Encoder, lengths: Sequence[int], layer: int = 0) -> Iterator[Timing]:
    """Measure one layer of the encoder on its device, at each length in turn.

    The input is random vectors, since the time does not depend on their values. So lengths beyond the model's limit can
    be measured, too. A generator: closing it ends the measurement. Raises EncoderError for a length below 1 and
    OutOfMemory for a length that does not fit.
    """
    if any(n < 1 for n in lengths):
        raise EncoderError(f"lengths={list(lengths)}: choose lengths of at least 1 token.")
    for done, n in enumerate(lengths, start=1):
        try:
            with torch.no_grad():
                whole, between = _time_once(encoder, n, layer)
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise OutOfMemory(
                f"{n:,} tokens do not fit into the memory of {encoder.device}: choose shorter lengths."
            ) from error
        yield Timing(n, whole, between, done, len(lengths))


def _time_once(encoder: Encoder, n: int, layer: int) -> tuple[float, float]:
    """Seconds of the layer and of its attention between tokens."""
    config, device, dtype = encoder.config, encoder.device, encoder.dtype
    x = torch.randn(1, n, config.d_model, device=device, dtype=dtype)
    block, context = encoder.block(layer), encoder.attention_contexts(x, None)[layer]
    q, k, v = (torch.randn(1, config.n_heads, n, config.d_head, device=device, dtype=dtype) for _ in range(3))
    return (
        _seconds(lambda: block(x, context), device),
        _seconds(lambda: context.fused(q, k, v), device),
    )


def _seconds(run: Callable[[], object], device: torch.device) -> float:
    """The shortest of a few runs: other work on the machine only makes a run longer."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    run()  # the first run allocates memory and selects kernels
    wait()
    times: list[float] = []
    while len(times) < REPEATS and (not times or sum(times) < POINT_SECONDS):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass(frozen=True)
class Fit:
    """The formula fitted to the measured times: FLOPs divided by a speed. linear, quadratic: FLOPs per second of each
    kind; seconds [N]: by the formula; crossover: the length at which the measured times cross, or None."""

    linear: float
    quadratic: float
    seconds: NDArray[np.float64]
    crossover: float | None


def fit(config: EncoderConfig, timings: Sequence[Timing]) -> Fit:
    """The speed of the machine on both kinds of work, from the longest lengths, which have the least overhead."""
    if not timings:
        raise EncoderError("Nothing was measured: measure at least one length.")
    flops = curve(config, [timing.n_tokens for timing in timings])
    between = np.array([timing.between for timing in timings])
    rest = np.array([timing.rest for timing in timings])
    tail = slice(-max(1, len(timings) // 2), None)
    speed = {
        "linear": flops["linear"][tail].sum() / max(rest[tail].sum(), 1e-12),
        "quadratic": flops["quadratic"][tail].sum() / max(between[tail].sum(), 1e-12),
    }
    seconds = flops["linear"] / speed["linear"] + flops["quadratic"] / speed["quadratic"]
    return Fit(speed["linear"], speed["quadratic"], seconds, _crossing(timings))


def _crossing(timings: Sequence[Timing]) -> float | None:
    """The length from which attention between tokens takes longer than the rest, interpolated in log-log axes."""
    for before, after in itertools.pairwise(timings):
        low, high = math.log(before.between / max(before.rest, 1e-12)), math.log(after.between / max(after.rest, 1e-12))
        if low < 0 <= high:
            share = -low / (high - low)
            return before.n_tokens * (after.n_tokens / before.n_tokens) ** share
    return None
