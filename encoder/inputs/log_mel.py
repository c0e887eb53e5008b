"""From samples to what a model of sound accepts: each family's log-mel spectrogram, or normalised samples.

Each preparation is a frozen value with the settings of a checkpoint. Formulas: Davis and Mermelstein 1980 for the mel
filters, Kaldi's and librosa's variants as transformers' feature extractors use them; tests compare the numbers.

Shapes: N samples, S frames, M mel bands, W bins of the Fourier transform.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

#: Kaldi's frames: 25 ms every 10 ms at 16 kHz, with a Fourier transform of 512 samples.
KALDI_FRAME, KALDI_HOP, KALDI_FFT = 400, 160, 512
#: The smallest power before the logarithm: float32's epsilon in Kaldi, 1e-10 in Whisper.
KALDI_FLOOR, WHISPER_FLOOR = 1.192092955078125e-07, 1e-10


@dataclass(frozen=True)
class KaldiMel:
    """AST's features: a log-mel spectrogram in Kaldi's way, of `n_frames` frames, shifted and scaled.

    n_mels: M; n_frames: S, short sounds are filled with zeros before scaling; mean, std: (x - mean) / (2 std), or None.
    """

    rate: int = 16_000
    n_mels: int = 128
    n_frames: int = 1024
    mean: float | None = -4.2677393
    std: float = 4.5689974

    @property
    def seconds(self) -> float:
        """The length of sound that the frames cover."""
        return ((self.n_frames - 1) * KALDI_HOP + KALDI_FRAME) / self.rate

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [S, M]."""
        found = self.log_mel(samples)[: self.n_frames]
        filled = np.zeros((self.n_frames, self.n_mels), dtype=np.float32)
        filled[: len(found)] = found
        if self.mean is not None:
            filled = ((filled - self.mean) / (2 * self.std)).astype(np.float32)
        return filled

    def log_mel(self, samples: Array) -> Array:
        """Samples [N] -> the natural logarithm of each band's power [frames of this sound, M]."""
        return kaldi_log_mel(samples, self.rate, self.n_mels, np.hanning(KALDI_FRAME)).astype(np.float32)


@dataclass(frozen=True)
class WhisperMel:
    """Whisper's features: a log-mel spectrogram of `seconds` of sound, silence added; n_fft: W = n_fft / 2 + 1."""

    rate: int = 16_000
    n_mels: int = 80
    n_fft: int = 400
    hop: int = 160
    seconds: int = 30

    @property
    def n_frames(self) -> int:
        """S"""
        return self.seconds * self.rate // self.hop

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [M, S], from about -1 to 1."""
        n_samples = self.seconds * self.rate
        filled = np.zeros(n_samples)
        filled[: len(samples)] = samples[:n_samples]
        filled = np.pad(filled, self.n_fft // 2, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(filled, self.n_fft)[:: self.hop][: self.n_frames]
        window = np.hanning(self.n_fft + 1)[:-1]  # periodic
        power = np.abs(np.fft.rfft(frames * window)) ** 2  # [S, W]
        mel = slaney_filters(self.rate, self.n_mels, self.n_fft).T @ power.T
        log = np.log10(np.maximum(WHISPER_FLOOR, mel))
        return ((np.maximum(log, log.max() - 8.0) + 4.0) / 4.0).astype(np.float32)


@dataclass(frozen=True)
class Samples:
    """Wav2Vec2's and HuBERT's input: the samples. normalised: with mean 0 and variance 1; seconds: the most."""

    rate: int = 16_000
    normalised: bool = True
    seconds: float = 30.0
    hop: ClassVar[int] = 1

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [N], cut at `seconds`."""
        x: Array = samples[: int(self.seconds * self.rate)].astype(np.float32)
        if self.normalised:
            x = ((x - x.mean()) / np.sqrt(x.var() + 1e-7)).astype(np.float32)
        return x

    def n_steps(self, n_samples: int) -> int:
        """Numbers of so many samples that the model accepts."""
        return n_samples

    def least(self, n_steps: int) -> int:
        """The least number of samples for so many."""
        return n_steps


@dataclass(frozen=True)
class StackedMel:
    """Wav2Vec2-BERT's input: Kaldi's log-mel spectrogram with Povey's window, each band with mean 0 and variance 1, and
    `stacked` frames side by side (SeamlessM4T). n_mels: M; seconds: the most."""

    rate: int = 16_000
    n_mels: int = 80
    stacked: int = 2
    seconds: float = 30.0

    @property
    def hop(self) -> int:
        """Samples from one step to the next."""
        return self.stacked * KALDI_HOP

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [steps, stacked x M]; frames that fill no step are left out."""
        given = samples[: int(self.seconds * self.rate)] * np.float32(2**15)
        log = kaldi_log_mel(given, self.rate, self.n_mels, np.hanning(KALDI_FRAME) ** 0.85)
        log = (log - log.mean(axis=0)) / np.sqrt(log.var(axis=0, ddof=1) + 1e-7)
        whole = log[: len(log) // self.stacked * self.stacked]
        return whole.reshape(-1, self.stacked * self.n_mels).astype(np.float32)

    def n_steps(self, n_samples: int) -> int:
        """Steps of so many samples."""
        return max(0, 1 + (n_samples - KALDI_FRAME) // KALDI_HOP) // self.stacked

    def least(self, n_steps: int) -> int:
        """The least number of samples for so many steps; a variance needs two frames."""
        return KALDI_FRAME + KALDI_HOP * (max(2, n_steps * self.stacked) - 1)


@dataclass(frozen=True)
class PairedMel:
    """Granite Speech's input: a log-mel spectrogram as Whisper scales it, two frames side by side, without a last frame
    that has no pair. n_mels: M; frame: samples of the window; n_fft: W = n_fft / 2 + 1; stride: samples from a frame to
    the next; seconds: the most."""

    rate: int = 16_000
    n_mels: int = 80
    n_fft: int = 512
    frame: int = 400
    stride: int = 160
    seconds: float = 30.0

    @property
    def hop(self) -> int:
        """Samples from one step to the next."""
        return 2 * self.stride

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [steps, 2 x M]."""
        given = samples[: int(self.seconds * self.rate)].astype(np.float64)
        filled = np.pad(given, self.n_fft // 2, mode="reflect" if len(given) > self.n_fft // 2 else "constant")
        frames = np.lib.stride_tricks.sliding_window_view(filled, self.n_fft)[:: self.stride]
        before = (self.n_fft - self.frame) // 2
        window = np.pad(np.hanning(self.frame + 1)[:-1], (before, self.n_fft - self.frame - before))  # periodic
        power = np.abs(np.fft.rfft(frames * window)) ** 2  # [S, W]
        log = np.log10(np.maximum(WHISPER_FLOOR, power @ htk_filters(self.rate, self.n_mels, self.n_fft)))
        scaled = np.maximum(log, log.max() - 8.0) / 4.0 + 1.0
        whole = scaled[: len(scaled) // 2 * 2]
        return whole.reshape(-1, 2 * self.n_mels).astype(np.float32)

    def n_steps(self, n_samples: int) -> int:
        """Steps of so many samples."""
        return (1 + n_samples // self.stride) // 2

    def least(self, n_steps: int) -> int:
        """The least number of samples for so many steps."""
        return self.stride * (2 * n_steps - 1)


@dataclass(frozen=True)
class NemoMel:
    """Parakeet's input: a log-mel spectrogram of the sound with its high frequencies raised, each band with mean 0 and
    variance 1 (NeMo). n_mels: M; frame: samples of the window; n_fft: W = n_fft / 2 + 1; seconds: the most."""

    rate: int = 16_000
    n_mels: int = 80
    n_fft: int = 512
    frame: int = 400
    hop: int = 160
    preemphasis: float = 0.97
    seconds: float = 30.0

    def features(self, samples: Array) -> Array:
        """Samples [N] at `rate` -> [S, M]."""
        given = samples[: int(self.seconds * self.rate)].astype(np.float32)
        raised = np.concatenate((given[:1], given[1:] - np.float32(self.preemphasis) * given[:-1]))
        padded = np.pad(raised.astype(np.float64), self.n_fft // 2)
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.n_fft)[:: self.hop][: self.n_steps(len(given))]
        before = (self.n_fft - self.frame) // 2
        window = np.pad(np.hanning(self.frame), (before, self.n_fft - self.frame - before))
        power = np.abs(np.fft.rfft(frames * window)) ** 2  # [S, W]
        log = np.log(power @ slaney_filters(self.rate, self.n_mels, self.n_fft) + 2.0**-24)
        return ((log - log.mean(axis=0)) / (log.std(axis=0, ddof=1) + 1e-5)).astype(np.float32)

    def n_steps(self, n_samples: int) -> int:
        """S of so many samples."""
        return n_samples // self.hop

    def least(self, n_steps: int) -> int:
        """The least number of samples for so many frames; a variance needs two."""
        return max(2, n_steps) * self.hop


#: Those whose input is as long as the sound, and all of them.
AnyLength = Samples | StackedMel | PairedMel | NemoMel
Preparation = KaldiMel | WhisperMel | AnyLength


def kaldi_log_mel(samples: Array, rate: int, n_mels: int, window: NDArray[np.float64]) -> NDArray[np.float64]:
    """Samples [N] -> the natural logarithm of each band's power [frames of this sound, M]."""
    if len(samples) < KALDI_FRAME:
        return np.zeros((0, n_mels))
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), KALDI_FRAME)[::KALDI_HOP]
    frames = frames - frames.mean(axis=1, keepdims=True)
    before = np.concatenate((frames[:, :1], frames[:, :-1]), axis=1)  # the first sample is its own predecessor
    frames = (frames - 0.97 * before) * window
    power = np.abs(np.fft.rfft(frames, KALDI_FFT)) ** 2  # [S, W]
    found: NDArray[np.float64] = np.log(np.maximum(KALDI_FLOOR, power @ kaldi_filters(rate, n_mels)))
    return found


@lru_cache(maxsize=8)
def kaldi_filters(rate: int, n_mels: int) -> NDArray[np.float64]:
    """[W, M]: triangles on Kaldi's mel scale, 1127 ln(1 + f / 700), from 20 Hz to half the rate."""

    hertz = np.concatenate(([20.0, rate // 2], rate / KALDI_FFT * np.arange(KALDI_FFT // 2 + 1)))
    mels = 1127.0 * np.log(1.0 + hertz / 700.0)
    return triangles(mels[2:], np.linspace(float(mels[0]), float(mels[1]), n_mels + 2))


@lru_cache(maxsize=8)
def htk_filters(rate: int, n_mels: int, n_fft: int) -> NDArray[np.float64]:
    """[W, M]: triangles of equal height on HTK's mel scale, 2595 log10(1 + f / 700), from 0 Hz to half the rate."""
    mels = np.linspace(0.0, 2595.0 * np.log10(1.0 + rate / 2 / 700.0), n_mels + 2)
    edges = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    return triangles(np.linspace(0, rate // 2, n_fft // 2 + 1), edges)


@lru_cache(maxsize=8)
def slaney_filters(rate: int, n_mels: int, n_fft: int) -> NDArray[np.float64]:
    """[W, M]: triangles of equal area on Slaney's mel scale, 0 to 8,000 Hz: linear up to 1 kHz, then logarithmic."""
    step = np.log(6.4) / 27.0
    mels = np.linspace(0.0, 15.0 + np.log(8.0) / step, n_mels + 2)
    edges = np.where(mels < 15.0, 200.0 * mels / 3.0, 1000.0 * np.exp(step * (mels - 15.0)))
    filters = triangles(np.linspace(0, rate // 2, n_fft // 2 + 1), edges)
    area: NDArray[np.float64] = 2.0 / (edges[2:] - edges[:-2])
    return filters * area


def triangles(places: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """[W, M]: filter m rises from edges[m] to edges[m + 1] and falls to edges[m + 2]; places [W]: of the bins."""
    width = np.diff(edges)
    from_edges = edges[None, :] - places[:, None]  # [W, M + 2]
    rising, falling = -from_edges[:, :-2] / width[:-1], from_edges[:, 2:] / width[1:]
    return np.maximum(0.0, np.minimum(rising, falling))
