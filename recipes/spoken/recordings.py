"""The file of the bundled recordings, as `encoder.inputs.spoken_digits` reads it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from encoder.inputs.log_mel import Array
from encoder.inputs.spoken_digits import MU, Recording


def write(recordings: Sequence[Recording], path: Path) -> None:
    """Write them as one safetensors file."""
    sounds = [compressed(one.sound.samples) for one in recordings]
    starts = np.cumsum([0, *(len(sound) for sound in sounds)])
    tensors: dict[str, NDArray[Any]] = {
        "samples": np.concatenate(sounds),
        "starts": starts.astype(np.int64),
        "digits": np.array([one.digit for one in recordings], dtype=np.uint8),
    }
    save_file(tensors, path, metadata={"voices": json.dumps([one.voice for one in recordings])})


def compressed(samples: Array) -> NDArray[np.uint8]:
    """Samples [N] from -1 to 1 -> numbers of 8 bits on a logarithmic scale."""
    curve = np.sign(samples) * np.log1p(MU * np.abs(samples)) / np.log1p(MU)
    return ((curve + 1) * 127.5).round().astype(np.uint8)
