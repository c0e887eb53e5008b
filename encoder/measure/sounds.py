"""Attention over the time of a sound, the spectrogram and the waveform that pages draw next to it.

Shapes: T tokens, C columns of time, B bands of a spectrogram, S frames, M mel bands, N samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoder.encoders.audio import AudioEncoder
from encoder.errors import EncoderError
from encoder.inputs.log_mel import KALDI_HOP, KaldiMel, NemoMel, PairedMel, Samples, StackedMel, WhisperMel
from encoder.inputs.sound import Sound
from encoder.inputs.sound_layout import SoundLayout, SpectrogramGrid
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class OverTime:
    """Weights of one query over a sound.

    starts, step: seconds; columns [C]: the weight of each time, summed over bands; bands [B, C]: of each patch, low
    frequencies first, None for time steps; special: the weight of [CLS] and the distillation token together.
    """

    starts: Numbers
    step: float
    columns: Numbers
    bands: Numbers | None
    special: float


def columns_of(layout: SoundLayout) -> tuple[Numbers, float, int]:
    """(starts [C] in seconds, seconds from one to the next, number of special tokens)."""
    if isinstance(layout, SpectrogramGrid):
        step = layout.patches.time_stride * layout.frame
        return np.arange(layout.patches.n_times, dtype=np.float32) * np.float32(step), step, len(layout.before)
    return np.arange(layout.n_steps, dtype=np.float32) * np.float32(layout.step), layout.step, 0


def over_time(weights: Tensor | NDArray[Any], layout: SoundLayout) -> OverTime:
    """Weights [T] of one query, in the sound's own shape. They sum to 1: `columns` and `special` together, too."""
    values = np.asarray(weights, dtype=np.float32)
    starts, step, special = columns_of(layout)
    if isinstance(layout, SpectrogramGrid):
        bands = values[special:].reshape(layout.patches.n_bands, layout.patches.n_times)
        return OverTime(starts, step, bands.sum(axis=0), bands, float(values[:special].sum()))
    return OverTime(starts, step, values, None, 0.0)


def all_heads_over_time(trace: Trace, query: int) -> Numbers:
    """[L, H, C]: what one query attends to over time, in every head."""
    values = trace.rows_of_token(query).cpu().numpy()  # [L, H, T]
    layout = sound_layout(trace)
    _, _, special = columns_of(layout)
    if isinstance(layout, SpectrogramGrid):
        shape = (layout.patches.n_bands, layout.patches.n_times)
        return values[..., special:].reshape(*values.shape[:2], *shape).sum(axis=2)
    return values


def written_over_time(target: DecoderTrace, head: tuple[int, int] | None = None) -> Numbers:
    """[T, S]: what each token of a decoder's output attends to of a sound: one head (layer, head), or the mean of all.

    Weights of cross-attention are not times of words: a decoder may also attend to what comes before or after.
    """
    rows = target.output_rows
    if head is not None:
        return target.cross_attention(*head)[rows].cpu().numpy()
    layers = [target.layer_cross_attention(layer)[:, rows].mean(dim=0) for layer in range(target.config.n_layers)]
    return torch.stack(layers).mean(dim=0).cpu().numpy()


def written_by_head(target: DecoderTrace, places: Sequence[int]) -> Numbers:
    """[L, H, S]: the mean of some tokens of the output, in every head."""
    rows = target.n_prompt - 1 + np.asarray(places)
    layers = [target.layer_cross_attention(layer)[:, rows].mean(dim=1) for layer in range(target.config.n_layers)]
    return torch.stack(layers).cpu().numpy()


def sound_layout(trace: Trace) -> SoundLayout:
    """What the tokens of a trace are. Raises EncoderError for the trace of a text or an image."""
    if trace.kind != "sound":
        raise EncoderError(f"This trace is of a {trace.kind}, not of a sound: choose a model that accepts sound.")
    return trace.layout  # type: ignore[return-value]


@dataclass(frozen=True)
class Piece:
    """A part of a sound and its share of a query's attention. start, end: seconds."""

    start: float
    end: float
    share: float

    def audible(self, least: float = 0.2) -> tuple[float, float]:
        """(start, end) of at least so many seconds around it: less cannot be heard."""
        more = max(0.0, least - (self.end - self.start)) / 2
        return max(0.0, self.start - more), self.end + more


def pieces(over: OverTime, count: int = 3) -> tuple[Piece, ...]:
    """The parts that get most attention, the largest first. They do not overlap.

    Each goes from one of the largest columns as far as its neighbours get half of that weight.
    """
    left, found = over.columns.copy(), []
    for _ in range(count):
        top = int(left.argmax())
        if not left[top] > 0:
            break
        first = last = top
        while first > 0 and left[first - 1] > left[top] / 2:
            first -= 1
        while last < len(left) - 1 and left[last + 1] > left[top] / 2:
            last += 1
        share = float(left[first : last + 1].sum())
        found.append(Piece(float(over.starts[first]), float(over.starts[last]) + over.step, share))
        left[first : last + 1] = 0.0
    return tuple(sorted(found, key=lambda piece: -piece.share))


def loudest(sound: Sound, layout: SoundLayout) -> int:
    """The token whose part of the sound is loudest: of a spectrogram's patches, the first special token."""
    if isinstance(layout, SpectrogramGrid):
        return 0
    starts, step, _ = columns_of(layout)
    power = [_power(sound, start, start + step) for start in starts.tolist()]
    return int(np.argmax(power)) if power else 0


def _power(sound: Sound, start: float, end: float) -> float:
    part = sound.samples[int(start * sound.rate) : int(end * sound.rate)]
    return float(np.square(part, dtype=np.float64).mean()) if len(part) else 0.0


@dataclass(frozen=True)
class Spectrogram:
    """values [M, S], low bands first; frame: seconds of each; n_real: frames before the added ones; is_read: whether
    the model processes it. A model of samples has none: then it is a log-mel spectrogram of 64 bands.
    """

    values: Numbers
    frame: float
    n_real: int
    is_read: bool


def spectrogram(model: AudioEncoder, sound: Sound) -> Spectrogram:
    """What the model processes of a sound, or would show of it."""
    prepared, heard = model.preparation, sound.at(model.rate)
    if isinstance(prepared, WhisperMel):
        n_real = min(prepared.n_frames, -(-len(heard.samples) // prepared.hop))
        return Spectrogram(prepared.features(heard.samples), prepared.hop / model.rate, n_real, True)
    frame = KALDI_HOP / model.rate
    if isinstance(prepared, StackedMel | PairedMel | NemoMel):
        values = prepared.features(heard.samples)
        values = values.reshape(-1, prepared.n_mels)  # frames that are side by side, one after another
        if not isinstance(prepared, StackedMel):
            frame = (prepared.stride if isinstance(prepared, PairedMel) else prepared.hop) / model.rate
        return Spectrogram(values.T, frame, len(values), True)
    if isinstance(prepared, KaldiMel):
        n_real = min(prepared.n_frames, len(prepared.log_mel(heard.samples)))
        return Spectrogram(prepared.features(heard.samples).T, frame, n_real, True)
    assert isinstance(prepared, Samples)
    log = KaldiMel(model.rate, n_mels=64).log_mel(prepared.features(heard.samples))
    return Spectrogram(log.T, frame, len(log), False)


def waveform(sound: Sound, seconds: float, n_bins: int = 600) -> tuple[Numbers, Numbers, Numbers]:
    """(start of each bin in seconds, lowest sample, highest sample), of the first `seconds`."""
    samples = sound.samples[: max(1, int(seconds * sound.rate))]
    edges = np.unique(np.linspace(0, len(samples), min(n_bins, len(samples)) + 1).astype(int))[:-1]
    low, high = np.minimum.reduceat(samples, edges), np.maximum.reduceat(samples, edges)
    return (edges / sound.rate).astype(np.float32), low, high


def token_at(layout: SoundLayout, column: int, band: int = 0) -> int:
    """The token of a column of time and, of a spectrogram, a band. Raises EncoderError for what does not exist."""
    starts, _, special = columns_of(layout)
    n_bands = layout.patches.n_bands if isinstance(layout, SpectrogramGrid) else 1
    if not 0 <= column < len(starts) or not 0 <= band < n_bands:
        raise EncoderError(
            f"No token at column {column}, band {band}: choose 0 to {len(starts) - 1}, 0 to {n_bands - 1}."
        )
    return special + band * len(starts) + column


def names(shown: Sequence[Piece]) -> tuple[str, ...]:
    """ "0.42-0.62 s" for each."""
    return tuple(f"{piece.start:.2f}-{piece.end:.2f} s" for piece in shown)


@dataclass(frozen=True)
class Word:
    """places: of its tokens in the output; over: the mean of their weights; most: the time with the largest ones."""

    text: str
    places: tuple[int, ...]
    over: OverTime
    most: Piece


def written_words(target: DecoderTrace, layout: SoundLayout, head: tuple[int, int] | None = None) -> list[Word]:
    """The words of a decoder's output over a sound; head as in `written_over_time`."""
    weights, found = written_over_time(target, head), []
    for text, places in target.output_words:
        over = over_time(weights[list(places)].mean(axis=0), layout)
        found.append(Word(text, places, over, pieces(over, 1)[0]))
    return found
