"""Sound files from anywhere -> Sound.

`soundfile` (the extra "sound"; libsndfile is in its wheel) reads WAV, FLAC, OGG and MP3, block by block, so memory
stays bounded whatever a header says. Without it SciPy reads WAV. The limits are those of `encoder.sound`.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoder import media_file
from encoder.errors import SoundError
from encoder.sound import HIGHEST_RATE, LOWEST_RATE, MOST_BYTES, MOST_CHANNELS, MOST_SECONDS, Sound

#: Formats that are opened; libsndfile knows more, which nobody needs here.
FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3")
#: File endings of these formats, and of those that need no extra.
ENDINGS, PLAIN_ENDINGS = ("wav", "flac", "ogg", "mp3"), ("wav",)
#: First bytes of a file -> its format, for a sentence without the extra.
MARKS = {b"fLaC": "FLAC", b"OggS": "OGG", b"ID3": "MP3", b"\xff\xfb": "MP3"}
WAV_MARKS = (b"RIFF", b"RIFX", b"RF64")


def has_soundfile() -> bool:
    """Whether the extra "sound" is installed."""
    return importlib.util.find_spec("soundfile") is not None


def endings() -> tuple[str, ...]:
    """File endings that can be opened here."""
    return ENDINGS if has_soundfile() else PLAIN_ENDINGS


def open_sound(file: bytes | str | Path, name: str = "This file") -> Sound:
    """A sound file, or its content -> its first MOST_SECONDS seconds; several channels are averaged.

    Raises SoundError for a file that is empty, too large, damaged, of another format, or without samples.
    """
    file, name = media_file.content(file, name, most=MOST_BYTES, kind="sound", refused=SoundError)
    try:
        samples, rate = _by_soundfile(file) if has_soundfile() else _by_scipy(file, name)
        return Sound(samples, rate)
    except SoundError as error:
        raise SoundError(str(error).replace("This sound", name, 1)) from None
    except Exception as error:  # a broken file may raise anything in a decoder
        raise SoundError(
            f"{name} is no sound that can be decoded ({type(error).__name__}): use a WAV file, or save it again."
        ) from None


def _check_header(rate: int, channels: int) -> None:
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise SoundError(
            f"This sound has {rate:,} samples per second: {LOWEST_RATE:,} to {HIGHEST_RATE:,} are read. Save it again."
        )
    if not 1 <= channels <= MOST_CHANNELS:
        raise SoundError(f"This sound has {channels} channels: 1 to {MOST_CHANNELS} are read. Save it with fewer.")


def _by_soundfile(content: bytes) -> tuple[NDArray[np.float32], int]:
    """(samples [N], rate), read one second at a time."""
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as opened:
        if opened.format not in FORMATS:
            raise SoundError(f"This sound is {opened.format}, which is not read: use {', '.join(FORMATS)}.")
        rate = int(opened.samplerate)
        _check_header(rate, int(opened.channels))
        parts, left = [], int(MOST_SECONDS * rate)
        while left > 0:
            block = opened.read(min(rate, left), dtype="float32", always_2d=True)  # [n, channels]
            if not len(block):
                break
            parts.append(block.mean(axis=1))
            left -= len(block)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32), rate


def _by_scipy(content: bytes, name: str) -> tuple[NDArray[np.float32], int]:
    """(samples [N], rate) of a WAV file. Whole numbers become numbers from -1 to 1."""
    if not content.startswith(WAV_MARKS):
        found = next((kind for mark, kind in MARKS.items() if content.startswith(mark)), "no WAV file")
        raise SoundError(f'{name} is {found}: use WAV, or run pip install "encoderscope[sound]" for more formats.')
    from scipy.io import wavfile

    with warnings.catch_warnings():  # about unknown chunks, which are skipped
        warnings.simplefilter("ignore")
        rate, data = wavfile.read(io.BytesIO(content))
    data = data if data.ndim == 2 else data[:, None]
    _check_header(int(rate), data.shape[1])
    data = data[: int(MOST_SECONDS * rate)]
    return _scaled(data).mean(axis=1, dtype=np.float32), int(rate)


def _scaled(data: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers of any type -> from -1 to 1. Eight bits are without a sign in WAV."""
    if data.dtype.kind == "f":
        return data.astype(np.float32)
    if data.dtype == np.uint8:
        return (data.astype(np.float32) - 128.0) / 128.0
    return data.astype(np.float32) / np.float32(-float(np.iinfo(data.dtype).min))


def wav_bytes(sound: Sound) -> bytes:
    """The sound as a WAV file of 16 bits, louder samples cut off: what a browser plays."""
    from scipy.io import wavfile

    out = io.BytesIO()
    wavfile.write(out, sound.rate, (sound.samples.clip(-1.0, 1.0) * 32_767).round().astype(np.int16))
    return out.getvalue()
