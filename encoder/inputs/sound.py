"""Sound: samples of one channel at a rate, as a frozen value; resampling; the limits of what is read.

Shapes: N samples.
"""

from __future__ import annotations

import hashlib
import numbers
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from encoder.errors import SoundError

#: The limits of a sound, for files, uploads, recordings and samples alike.
MOST_BYTES = 20_000_000
MOST_SECONDS = 30.0
MOST_CHANNELS = 8
LOWEST_RATE, HIGHEST_RATE = 1_000, 192_000
#: Two rates are to each other as whole numbers, of which the second is at most this.
LARGEST_STEP = 10_000


@dataclass(frozen=True, eq=False)
class Sound:
    """One channel of sound. samples [N]: float32, usually from -1 to 1; rate: samples a second.

    Two sounds with the same samples and rate are equal. Raises SoundError for no samples, for several channels, for
    numbers that are not finite, for a rate out of range, and for more than MOST_SECONDS.
    """

    samples: np.ndarray
    rate: int

    def __post_init__(self) -> None:
        check_rate(self.rate)
        samples = _as_numbers(self.samples)
        if samples.ndim != 1:
            raise SoundError(f"A sound has one channel, not samples of shape {samples.shape}: average the channels.")
        if not len(samples):
            raise SoundError("This sound has no samples: record or choose another one.")
        if len(samples) > MOST_SECONDS * self.rate:
            raise SoundError(
                f"This sound has {len(samples) / self.rate:,.1f} s: specify {MOST_SECONDS:g} s at most (cut it first)."
            )
        if not np.isfinite(samples).all():
            raise SoundError("This sound has samples that are not finite numbers: save it again in another program.")
        samples.flags.writeable = False
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "rate", int(self.rate))

    def __repr__(self) -> str:
        return f"<Sound of {self.seconds:.2f} s at {self.rate:,} Hz>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sound) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of rate and samples: the sound's name in caches."""
        return hashlib.sha256(f"{self.rate} ".encode() + self.samples.tobytes()).hexdigest()

    @property
    def seconds(self) -> float:
        """The length."""
        return len(self.samples) / self.rate

    def at(self, rate: int) -> Sound:
        """The same sound at another rate, by SciPy's polyphase filter (a Kaiser window against aliasing)."""
        if rate == self.rate:
            return self
        from scipy.signal import resample_poly

        check_rate(rate)
        # Two rates without a common factor would need a filter of millions of numbers, five seconds of work. The usual
        # rates stay exact; with others, the end of 30 s is off by 3 ms at most.
        ratio = Fraction(rate, self.rate).limit_denominator(LARGEST_STEP)
        samples = resample_poly(self.samples, ratio.numerator, ratio.denominator)
        return Sound(samples[: int(MOST_SECONDS * rate)], rate)

    def loudest_part(self, seconds: float) -> tuple[float, Sound]:
        """(start in seconds, the `seconds` with most energy): the word in a recording with silence around it."""
        length = round(seconds * self.rate)
        if len(self.samples) <= length:
            return 0.0, self
        energy = np.concatenate(([0.0], np.cumsum(np.square(self.samples, dtype=np.float64))))
        totals = energy[length:] - energy[:-length]
        best = np.flatnonzero(totals >= totals.max() * 0.999)  # in the middle of the windows with the whole word
        start = int(best[len(best) // 2])
        return start / self.rate, Sound(self.samples[start : start + length], self.rate)

    def part(self, start: float, end: float) -> Sound:
        """The seconds from `start` to `end`, or what the sound has of them. Raises SoundError where it has nothing."""
        return Sound(self.samples[max(0, round(start * self.rate)) : max(0, round(end * self.rate))], self.rate)


def _as_numbers(samples: object) -> np.ndarray:
    """A copy as float32: a frozen value must not change. Raises SoundError for what holds no real numbers."""
    try:
        given = np.asarray(samples)
        if given.dtype.kind in "fiub":
            return given.astype(np.float32)
        kind = str(given.dtype)
    except ValueError:  # lists of different lengths
        kind = type(samples).__name__
    raise SoundError(f"Samples of type {kind} are not sound: specify an array of real numbers.")


def check_rate(rate: object) -> None:
    """Raise SoundError for a rate that no recording has."""
    whole = isinstance(rate, numbers.Integral) and not isinstance(rate, bool)
    if not whole or not LOWEST_RATE <= int(rate) <= HIGHEST_RATE:  # type: ignore[call-overload]
        raise SoundError(
            f"A sound cannot have rate={str(rate)[:40]}: specify {LOWEST_RATE:,} to {HIGHEST_RATE:,} samples a second."
        )
