"""Sound files from anywhere -> Sound.

SciPy reads WAV. `soundfile` (the extra "sound"; libsndfile is in its wheel) reads FLAC, OGG and MP3 (`decoder`), block
by block, so memory stays bounded whatever a header says. It gets no other file: libsndfile goes by the content, not by
the name. 1.2.2, the newest in a wheel, counts frames of some WAV files beyond 32 bits (CVE-2026-37555), and it fails in
MAT4 (CVE-2026-88372). The limits are those of `encoder.inputs.sound`.
"""

import importlib.util
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoder.errors import SoundError
from encoder.inputs import decoder, media_file
from encoder.inputs.sound import HIGHEST_RATE, LOWEST_RATE, MOST_BYTES, MOST_CHANNELS, MOST_SECONDS, Sound

#: Formats that are opened; libsndfile knows more, which nobody needs here.
FORMATS = ("WAV", "FLAC", "OGG", "MP3")
#: File endings of these formats, and of those that need no extra.
ENDINGS, PLAIN_ENDINGS = ("wav", "flac", "ogg", "mp3"), ("wav",)
#: First bytes of a file -> its format.
MARKS = {b"RIFF": "WAV", b"RIFX": "WAV", b"RF64": "WAV", b"fLaC": "FLAC", b"OggS": "OGG"}


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
        content, form = _recognised(file)
        if form == "WAV":
            samples, rate = _by_scipy(content)
        elif has_soundfile():
            samples, rate = _by_soundfile(content, form)
        else:
            raise SoundError(f'This sound is {form}: use WAV, or pip install "encoderscope[sound]" for more formats.')
        return Sound(samples, rate)
    except SoundError as error:
        raise SoundError(str(error).replace("This sound", name, 1)) from None
    except Exception as error:  # a broken file may raise anything in a decoder
        raise SoundError(
            f"{name} is not a sound that can be decoded ({type(error).__name__}): save it as WAV without compression."
        ) from None


def _check_header(rate: int, channels: int) -> None:
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise SoundError(
            f"This sound has {rate:,} samples per second: {LOWEST_RATE:,} to {HIGHEST_RATE:,} are read. Save it again."
        )
    if not 1 <= channels <= MOST_CHANNELS:
        raise SoundError(f"This sound has {channels} channels: 1 to {MOST_CHANNELS} are read. Save it with fewer.")


def _recognised(content: bytes) -> tuple[bytes, str]:
    """(content without ID3 tags in front of it, one of FORMATS). Raises SoundError for anything else."""
    start = 0
    while content.startswith(b"ID3", start) and len(content) > start + 10:  # tags of an MP3: 10 bytes, and their size
        size = content[start + 6 : start + 10]  # four times 7 bits
        start += 10 + sum((byte & 0x7F) << shift for byte, shift in zip(size, (21, 14, 7, 0), strict=True))
    content = content[start:]
    if content[:1] == b"\xff" and content[1:2] >= b"\xe0":  # the eleven bits with which a frame of MPEG begins
        return content, "MP3"
    if content[:4] not in MARKS:
        raise SoundError(f"This sound has a format that is not read: use {', '.join(FORMATS)}.")
    return content, MARKS[content[:4]]


def _by_soundfile(content: bytes, form: str) -> tuple[NDArray[np.float32], int]:
    """(samples [N], rate)."""
    about, samples = decoder.decoded(content, form, MOST_SECONDS)
    if about["format"] != form:
        raise SoundError(f"This sound is {about['format']}, though it begins like {form}: save it again.")
    rate = int(str(about["rate"]))
    _check_header(rate, int(str(about["channels"])))
    return np.frombuffer(samples, dtype=np.float32), rate


def _by_scipy(content: bytes) -> tuple[NDArray[np.float32], int]:
    """(samples [N], rate) of a WAV file. Whole numbers become numbers from -1 to 1."""
    from scipy.io import wavfile

    with warnings.catch_warnings():  # about unknown chunks, which are skipped
        warnings.simplefilter("ignore")
        rate, data = wavfile.read(io.BytesIO(content))
    data = data if data.ndim == 2 else data[:, None]
    _check_header(int(rate), data.shape[1])
    data = data[: int(MOST_SECONDS * rate)]
    with np.errstate(over="ignore", invalid="ignore"):  # `Sound` accepts finite numbers only
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
