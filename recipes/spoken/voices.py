"""Digits that espeak-ng says: voices, accents, speeds and pitches, and the clips as samples.

espeak-ng (GPL 3 or later) is a program next to this one: `apt-get install espeak-ng`. Only the training needs it.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError
from encoder.inputs.log_mel import Array
from encoder.inputs.sound import Sound
from encoder.inputs.sound_files import open_sound
from encoder.inputs.spoken_digits import RATE, WORDS

ACCENTS = (
    "en-us", "en-gb", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029", "en-us-nyc",
)  # fmt: skip
#: espeak-ng's voices, without its robots. No voice of the second list, and no relative of one, is in the first.
TRAINING_VOICES = (
    "Alex", "Andrea", "Andy", "Annie", "Denis", "Diogo", "Gene", "Hugo", "Jacky", "Lee", "Marco", "Michael", "Mike",
    "adam", "anika", "announcer", "antonio", "aunty", "belinda", "benjamin", "boris", "caleb", "croak", "david", "ed",
    "f1", "f2", "f4", "f5", "gustave", "iven", "john", "kaukovalta", "klatt2", "klatt3", "m1", "m2", "m3", "m5", "m6",
    "m7", "m8", "marcelo", "max", "michel", "miguel", "norbert", "pablo", "paul", "pedro", "quincy", "rob", "robert",
    "sandro", "shelby", "victor", "whisper", "zac",
)  # fmt: skip
HELD_OUT_VOICES = ("Alicia", "edward", "f3", "grandma", "grandpa", "linda", "m4", "travis")
#: Words per minute and pitch, 0 to 99, as espeak-ng counts them.
RANGES = SPEEDS, PITCHES = (110, 230), (20, 80)


@dataclass(frozen=True)
class Utterance:
    """A digit, and how it is said."""

    digit: int
    voice: str
    accent: str
    speed: int
    pitch: int


def utterances(voices: Iterable[str], seed: int, accents_each: int = len(ACCENTS)) -> list[Utterance]:
    """Each digit by each voice in some of the accents, in turn, at a random speed and pitch."""
    draw = np.random.default_rng(seed)
    return [
        Utterance(digit, voice, ACCENTS[(place + step) % len(ACCENTS)], *(int(draw.integers(*each)) for each in RANGES))
        for place, voice in enumerate(voices)
        for step in range(accents_each)
        for digit in range(len(WORDS))
    ]


def say(utterance: Utterance) -> Array:
    """The samples [N] at 16 kHz, without the silence around the word. Raises EncoderError without espeak-ng."""
    if shutil.which("espeak-ng") is None:
        raise EncoderError("espeak-ng is not installed: run apt-get install espeak-ng, then try again.")
    command = [
        "espeak-ng",
        "-v",
        f"{utterance.accent}+{utterance.voice}",
        "-s",
        str(utterance.speed),
        "-p",
        str(utterance.pitch),
        "--stdout",
        WORDS[utterance.digit],
    ]
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode or not run.stdout:
        raise EncoderError(f"espeak-ng cannot say {utterance}: {run.stderr.decode(errors='replace')[:200]}")
    # What it writes to a pipe has no length in its header.
    return trimmed(open_sound(_with_length(run.stdout)).at(RATE).samples)


def _with_length(wav: bytes) -> bytes:
    size = len(wav) - 44
    return wav[:4] + (size + 36).to_bytes(4, "little") + wav[8:40] + size.to_bytes(4, "little") + wav[44:]


def trimmed(samples: Array, share: float = 0.01) -> Array:
    """The part between the first and the last sample above a share of the loudest one."""
    loud = np.flatnonzero(np.abs(samples) > share * np.abs(samples).max())
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples


def said(wanted: list[Utterance], workers: int = 4) -> Iterator[Array]:
    """The clips in order. Several processes run at a time, since each mostly waits."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(say, wanted)


# --- a recording in a room -------------------------------------------------------------------------------------------


def recorded(clip: Array, draw: np.random.Generator, seconds: float) -> Sound:
    """The clip somewhere in a recording of at most `seconds`, with an echo, another tone colour, loudness and noise."""
    clip = clip[: int(seconds * RATE)].astype(np.float64)
    length = int(draw.integers(len(clip), int(seconds * RATE) + 1))
    samples = np.zeros(length)
    start = int(draw.integers(0, length - len(clip) + 1))
    samples[start : start + len(clip)] = clip
    if draw.random() < 0.4:
        samples = echoed(samples, draw)
    tilt = draw.uniform(-0.5, 0.5)  # a microphone that is bright or dull
    samples[1:] += tilt * samples[:-1]
    samples *= 10 ** draw.uniform(-1.3, 0.0) / (np.abs(samples).max() + 1e-9)
    noise = coloured_noise(length, draw)
    power = float(np.mean(samples[start : start + len(clip)] ** 2))
    return Sound((samples + noise * np.sqrt(power) * 10 ** (-draw.uniform(5, 45) / 20)).clip(-1, 1), RATE)


def echoed(samples: NDArray[np.float64], draw: np.random.Generator) -> NDArray[np.float64]:
    """With a room's echo: noise that decays within 40 to 200 ms."""
    from scipy.signal import fftconvolve

    time = np.arange(int(0.2 * RATE)) / RATE
    tail = draw.standard_normal(len(time)) * np.exp(-time / draw.uniform(0.01, 0.05))
    tail[0] = 0.0
    room = draw.uniform(0.1, 0.6) * tail / np.sqrt((tail**2).sum())
    echo: NDArray[np.float64] = samples + fftconvolve(samples, room)[: len(samples)]
    return echo


def coloured_noise(length: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Noise of power 1 whose spectrum falls with frequency to the power of 0 to 1.5."""
    spectrum = np.fft.rfft(draw.standard_normal(length))
    spectrum[1:] /= np.arange(1, len(spectrum)) ** draw.uniform(0.0, 0.75)
    noise = np.fft.irfft(spectrum, length)
    scaled: NDArray[np.float64] = noise / (np.sqrt(np.mean(noise**2)) + 1e-12)
    return scaled
