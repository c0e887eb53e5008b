"""preprocessor_config.json: how a checkpoint's images are prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from encoder.errors import LoadError
from encoder.image_encoder import Interpolation, Preparation
from encoder.text_file import read_json

#: Pillow's numbers of the ways to scale an image.
RESAMPLING: dict[int, Interpolation] = {0: "nearest", 2: "bilinear", 3: "bicubic", 4: "box"}


def read_preparation(folder: Path, channels: int) -> Preparation:
    """The folder's preparation; without the file, ViT's. Raises LoadError, which names an unknown setting."""
    path = folder / "preprocessor_config.json"
    fields = read_json(path) if path.is_file() else {}
    resample = fields.get("resample", 2)
    if resample not in RESAMPLING:
        raise LoadError(f"preprocessor_config.json has an unknown resample={resample!r}: choose 0, 2, 3 or 4.")
    if fields.get("do_rescale", True) is not True or abs(fields.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-3:
        raise LoadError(
            "preprocessor_config.json does not scale pixels from 0..255 to 0..1: choose a checkpoint that does."
        )
    usual = Preparation()
    if fields.get("do_normalize", True) is not True:
        return Preparation((0.0,) * channels, (1.0,) * channels, RESAMPLING[resample])
    mean, std = (numbers(fields, key, default, channels) for key, default in
                 (("image_mean", usual.mean), ("image_std", usual.std)))  # fmt: skip
    return Preparation(mean, std, RESAMPLING[resample])


def numbers(fields: dict[str, Any], key: str, default: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number for each channel. Raises LoadError for anything else."""
    value = fields.get(key, default[:1] * channels)
    if (
        not isinstance(value, list | tuple)
        or len(value) != channels
        or not all(isinstance(x, int | float) for x in value)
    ):
        raise LoadError(
            f"preprocessor_config.json has {key}={value!r}: give one number for each of {channels} channels."
        )
    return tuple(float(x) for x in value)
