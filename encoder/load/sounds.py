"""preprocessor_config.json: how a checkpoint's sound is prepared."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.inputs.log_mel import KaldiMel, Preparation, Samples, WhisperMel
from encoder.inputs.sound import HIGHEST_RATE, LOWEST_RATE, MOST_SECONDS
from encoder.model.config import EncoderConfig

FILE = "preprocessor_config.json"


def read_sound_preparation(folder: Path, config: EncoderConfig) -> Preparation:
    """The folder's preparation; without the file, the family's. Raises LoadError, which names a wrong setting."""
    path = folder / FILE
    fields = read_json(path) if path.is_file() else {}
    rate = whole(fields, "sampling_rate", 16_000, LOWEST_RATE, HIGHEST_RATE)
    if config.spectrogram is not None:
        shape = config.spectrogram
        fits(fields, "num_mel_bins", shape.n_mels)
        fits(fields, "max_length", shape.n_frames)
        usual = KaldiMel()
        normalised = flag(fields, "do_normalize", True)
        mean, std = number(fields, "mean", usual.mean or 0.0), number(fields, "std", usual.std)
        if not std >= 1e-6:  # smaller ones make the spectrogram infinite
            raise LoadError(f"{FILE} has std={std:g}: specify a number from 1e-06 on.")
        return KaldiMel(rate, shape.n_mels, shape.n_frames, mean if normalised else None, std)
    front = config.convolutions
    assert front is not None, "a model of sound has patches or convolutions"
    if front.channels == 1:
        return Samples(rate, flag(fields, "do_normalize", True), MOST_SECONDS)
    fits(fields, "feature_size", front.channels)
    hop = whole(fields, "hop_length", 160, 1, rate)
    prepared = WhisperMel(
        rate=rate,
        n_mels=front.channels,
        n_fft=whole(fields, "n_fft", 400, 2, 65_536),
        hop=hop,
        seconds=whole(fields, "chunk_length", max(1, (front.length or 0) * hop // rate), 1, int(MOST_SECONDS)),
    )
    if prepared.n_frames != front.length:
        raise LoadError(f"{FILE} gives {prepared.n_frames} frames, but config.json needs {front.length}: correct it.")
    return prepared


def check_sound(found: Preparation, config: EncoderConfig) -> None:
    """Raise LoadError for a preparation of our own files that makes another input than the model accepts."""
    settings = dataclasses.asdict(found)
    seconds = number(settings, "seconds", found.seconds)
    if not LOWEST_RATE <= found.rate <= HIGHEST_RATE or not 0 < seconds <= MOST_SECONDS:
        raise LoadError(f"config.json's preparation has rate={found.rate} and {seconds:g} s: save the model again.")
    shape, front = config.spectrogram, config.convolutions
    if isinstance(found, KaldiMel):
        right = shape is not None and (found.n_mels, found.n_frames) == (shape.n_mels, shape.n_frames)
        right = right and found.std >= 1e-6 and abs(found.mean or 0.0) <= 1e6
    elif isinstance(found, WhisperMel):
        right = front is not None and 2 <= found.n_fft <= 65_536 and 1 <= found.hop <= found.rate
        right = right and front is not None and (found.n_mels, found.n_frames) == (front.channels, front.length)
    else:
        right = front is not None and front.channels == 1
    if not right:
        raise LoadError("config.json's preparation does not make this encoder's input: save the model again.")


def fits(fields: dict[str, Any], key: str, wanted: int) -> None:
    """Raise LoadError where the setting contradicts config.json."""
    if fields.get(key, wanted) != wanted:
        raise LoadError(f"{FILE} has {key}={quoted(fields[key])}, but config.json makes it {wanted}: correct it.")


def whole(fields: dict[str, Any], key: str, default: int, low: int, high: int) -> int:
    """A whole number in a range."""
    value = fields.get(key, default)
    if type(value) is not int or not low <= value <= high:
        raise LoadError(f"{FILE} has {key}={quoted(value)}: specify a whole number from {low:,} to {high:,}.")
    return value


def number(fields: dict[str, Any], key: str, default: float) -> float:
    """A number of a usual size."""
    value = fields.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= 1e6:
        raise LoadError(f"{FILE} has {key}={quoted(value)}: specify a number.")
    return float(value)


def flag(fields: dict[str, Any], key: str, default: bool) -> bool:
    """True or false."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise LoadError(f"{FILE} has {key}={quoted(value)}: specify true or false.")
    return value
