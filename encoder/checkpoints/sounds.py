"""preprocessor_config.json: how a checkpoint's sound is prepared."""

import dataclasses
from pathlib import Path

from encoder.checkpoints.families import Fields
from encoder.errors import LoadError
from encoder.inputs.json_file import read_json
from encoder.inputs.log_mel import KaldiMel, Preparation, Samples, WhisperMel
from encoder.inputs.sound import HIGHEST_RATE, LOWEST_RATE, MOST_SECONDS
from encoder.model.config import EncoderConfig

FILE = "preprocessor_config.json"


def read_sound_preparation(folder: Path, config: EncoderConfig) -> Preparation:
    """The folder's preparation; without the file, the family's. Raises LoadError, which names a wrong setting."""
    path = folder / FILE
    fields = Fields.of(FILE, read_json(path) if path.is_file() else {})
    rate = fields.integer("sampling_rate", 16_000, LOWEST_RATE, HIGHEST_RATE)
    if config.spectrogram is not None:
        shape = config.spectrogram
        fields.only("num_mel_bins", shape.n_mels, f"config.json makes it {shape.n_mels}")
        fields.only("max_length", shape.n_frames, f"config.json makes it {shape.n_frames}")
        usual = KaldiMel()
        normalised = fields.flag("do_normalize", True)
        mean, std = fields.number("mean", usual.mean or 0.0, 1e6), fields.number("std", usual.std, 1e6)
        if not std >= 1e-6:  # smaller ones make the spectrogram infinite
            raise fields.wrong("std", std, "specify a number from 1e-06 on")
        return KaldiMel(rate, shape.n_mels, shape.n_frames, mean if normalised else None, std)
    front = config.convolutions
    assert front is not None, "a model of sound has patches or convolutions"
    if front.channels == 1:
        return Samples(rate, fields.flag("do_normalize", True), MOST_SECONDS)
    fields.only("feature_size", front.channels, f"config.json makes it {front.channels}")
    hop = fields.integer("hop_length", 160, 1, rate)
    prepared = WhisperMel(
        rate=rate,
        n_mels=front.channels,
        n_fft=fields.integer("n_fft", 400, 2, 65_536),
        hop=hop,
        seconds=fields.integer("chunk_length", max(1, (front.length or 0) * hop // rate), 1, int(MOST_SECONDS)),
    )
    if prepared.n_frames != front.length:
        raise LoadError(f"{FILE} gives {prepared.n_frames} frames, but config.json needs {front.length}: correct it.")
    return prepared


def check_sound(found: Preparation, config: EncoderConfig) -> None:
    """Raise LoadError for a preparation of our own files that makes another input than the model accepts."""
    seconds = Fields(dataclasses.asdict(found)).number("seconds", found.seconds)
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
