"""preprocessor_config.json: how a checkpoint's sound is prepared."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from encoder.checkpoints.families import Fields
from encoder.errors import LoadError
from encoder.inputs.json_file import read_json
from encoder.inputs.log_mel import KaldiMel, NemoMel, PairedMel, Preparation, Samples, StackedMel, WhisperMel
from encoder.inputs.sound import HIGHEST_RATE, LOWEST_RATE, MOST_SECONDS
from encoder.model.config import EncoderConfig

EMPTY: Mapping[str, Any] = MappingProxyType({})
FILE, JOINT_FILE = "preprocessor_config.json", "processor_config.json"


#: Its input has pairs of frames, as Wav2Vec2-BERT's; config.json does not tell them apart.
GRANITE = "GraniteSpeechFeatureExtractor"


def read_sound_preparation(folder: Path, config: EncoderConfig, by_family: Mapping[str, Any] = EMPTY) -> Preparation:
    """The folder's preparation; without the file, `by_family`. Raises LoadError for a wrong setting."""
    fields = read_fields(folder)
    fields = Fields.of(fields.file, {**by_family, **fields})
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
    if config.frames is not None:
        return of_frames(fields, config, rate)
    front = config.convolutions
    assert front is not None, "a model of sound has patches, convolutions or frames"
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


def read_fields(folder: Path) -> Fields:
    """The object in preprocessor_config.json, or in processor_config.json; {} without either."""
    if (folder / FILE).is_file():
        return Fields.of(FILE, read_json(folder / FILE))
    path = folder / JOINT_FILE
    found = read_json(path).get("feature_extractor", {}) if path.is_file() else {}
    if not isinstance(found, dict):
        raise LoadError(f"{JOINT_FILE} has a feature_extractor that is not an object: correct it.")
    return Fields.of(JOINT_FILE, found)


def of_frames(fields: Fields, config: EncoderConfig, rate: int) -> StackedMel | PairedMel | NemoMel:
    """The spectrogram of Wav2Vec2-BERT, Granite Speech or Parakeet. Raises LoadError where it does not fit."""
    shape = config.frames
    assert shape is not None, "the caller has checked it"
    found: StackedMel | PairedMel | NemoMel
    if shape.layers:
        fields.only("feature_size", shape.width, f"config.json makes it {shape.width}")
        fields.only("sampling_rate", 16_000, "its bands end at 8,000 Hz; specify 16000")
        n_fft = fields.integer("n_fft", 512, 2, 65_536)
        found = NemoMel(
            rate, shape.width, n_fft, fields.integer("win_length", 400, 1, n_fft),
            fields.integer("hop_length", 160, 1, rate), fields.number("preemphasis", 0.97, 1.0), MOST_SECONDS,
        )  # fmt: skip
    elif fields.get("feature_extractor_type") == GRANITE:
        given = fields.get("melspec_kwargs")
        mels = Fields.of(fields.file, {**fields, **given}) if isinstance(given, dict) else fields
        n_fft, n_mels = mels.integer("n_fft", 512, 2, 65_536), mels.integer("n_mels", shape.width // 2, 1, 10_000)
        if 2 * n_mels != shape.width:
            raise mels.wrong("n_mels", n_mels, f"config.json needs {shape.width} numbers, for two frames")
        frame, stride = mels.integer("win_length", 400, 1, n_fft), mels.integer("hop_length", 160, 1, rate)
        found = PairedMel(rate, n_mels, n_fft, frame, stride, MOST_SECONDS)
    else:
        stacked = fields.integer("stride", 2, 1, 100)
        n_mels = fields.integer("num_mel_bins", 80, 1, 10_000)
        if n_mels * stacked != shape.width:
            raise fields.wrong("num_mel_bins", n_mels, f"config.json needs {shape.width} numbers, for {stacked} frames")
        found = StackedMel(rate, n_mels, stacked, MOST_SECONDS)
    if shape.n_tokens(found.n_steps(int(MOST_SECONDS * rate))) > config.max_positions:
        raise LoadError(
            f"{fields.file} makes more than {config.max_positions:,} tokens of {MOST_SECONDS:g} s: correct it."
        )
    return found


def check_sound(found: Preparation, config: EncoderConfig) -> None:
    """Raise LoadError for a preparation of our own files that makes another input than the model accepts."""
    seconds = Fields(dataclasses.asdict(found)).number("seconds", found.seconds)
    if not LOWEST_RATE <= found.rate <= HIGHEST_RATE or not 0 < seconds <= MOST_SECONDS:
        raise LoadError(f"config.json's preparation has rate={found.rate} and {seconds:g} s: save the model again.")
    shape, front, frames = config.spectrogram, config.convolutions, config.frames
    if isinstance(found, KaldiMel):
        right = shape is not None and (found.n_mels, found.n_frames) == (shape.n_mels, shape.n_frames)
        right = right and found.std >= 1e-6 and abs(found.mean or 0.0) <= 1e6
    elif isinstance(found, WhisperMel):
        right = front is not None and 2 <= found.n_fft <= 65_536 and 1 <= found.hop <= found.rate
        right = right and front is not None and (found.n_mels, found.n_frames) == (front.channels, front.length)
    elif isinstance(found, Samples):
        right = front is not None and front.channels == 1
    elif isinstance(found, PairedMel):
        right = frames is not None and not frames.layers and 2 * found.n_mels == frames.width
        right = right and 2 <= found.n_fft <= 65_536 and 1 <= found.frame <= found.n_fft
        right = right and 1 <= found.stride <= found.rate
    elif isinstance(found, StackedMel):
        right = frames is not None and not frames.layers and found.n_mels * found.stacked == frames.width
    else:
        right = frames is not None and frames.layers > 0 and found.n_mels == frames.width
        right = right and 2 <= found.n_fft <= 65_536 and 1 <= found.frame <= found.n_fft
        right = right and 1 <= found.hop <= found.rate and abs(found.preemphasis) <= 1.0
    if not right:
        raise LoadError("config.json's preparation does not make this encoder's input: save the model again.")
