"""Recordings in one file: samples of 8 bits (mu-law, ITU-T G.711's curve), their digits and voices.

Shapes: R recordings, N samples of all of them.
"""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoder.inputs.log_mel import Array
from encoder.inputs.sound import Sound

DATA = Path(__file__).parents[1] / "data" / "spoken-digits"
FILE = "held_out.safetensors"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SPOKEN = tomllib.loads((Path(__file__).parent / "templates.toml").read_text(encoding="utf-8"))["spoken"]
#: Captions of the training of "spoken-words", and captions that were never trained on.
TEMPLATES, UNSEEN_TEMPLATES = tuple(_SPOKEN["trained"]), tuple(_SPOKEN["unseen"])
#: Samples per second.
RATE = 16_000
#: mu of the curve: 38 dB above the noise of 8 bits for loud and quiet sounds alike.
MU = 255.0


@dataclass(frozen=True)
class Recording:
    """A spoken digit. voice: as espeak-ng names it, with its accent."""

    digit: int
    voice: str
    sound: Sound

    @property
    def word(self) -> str:
        """The digit in English."""
        return WORDS[self.digit]


def read(path: Path) -> tuple[Recording, ...]:
    """The recordings in a file that `recipes.spoken.recordings` wrote."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        samples, starts, digits = (file.get_tensor(name) for name in ("samples", "starts", "digits"))
        voices = json.loads(file.metadata()["voices"])
    return tuple(
        Recording(int(digit), voice, Sound(expanded(samples[start:end]), RATE))
        for digit, voice, start, end in zip(digits, voices, starts[:-1], starts[1:], strict=True)
    )


@cache
def held_out() -> tuple[Recording, ...]:
    """The bundled recordings: each digit by each voice that the training never heard."""
    return read(DATA / FILE)


@cache
def examples() -> dict[str, Recording]:
    """Word -> a bundled recording of it, each by another voice as far as there are enough."""
    found: dict[str, Recording] = {}
    voices = list(dict.fromkeys(one.voice.partition(",")[0] for one in held_out()))
    for one in held_out():
        if one.voice.partition(",")[0] == voices[one.digit % len(voices)]:
            found.setdefault(one.word, one)
    return found


def expanded(stored: NDArray[np.uint8]) -> Array:
    """Numbers of 8 bits on a logarithmic scale -> samples [N] from -1 to 1."""
    curve = stored / 127.5 - 1
    return (np.sign(curve) * np.expm1(np.abs(curve) * np.log1p(MU)) / MU).astype(np.float32)
