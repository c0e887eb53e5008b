"""How a checkpoint folder wants its images prepared: preprocessor_config.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from encoder.errors import LoadError
from encoder.image_encoder import Preparation
from encoder.load.weights import read_json

#: Pillow's numbers for the ways of scaling an image.
RESAMPLING = {0: "nearest", 2: "bilinear", 3: "bicubic"}


def read_preparation(folder: Path, channels: int) -> Preparation:
    """The folder's preparation; without a file, ViT's own. Raises LoadError naming a setting that is not known here."""
    path = folder / "preprocessor_config.json"
    fields = read_json(path) if path.is_file() else {}
    resample = fields.get("resample", 2)
    if resample not in RESAMPLING:
        raise LoadError(
            f"preprocessor_config.json has resample={resample!r}: known are 0, 2 and 3 (nearest to bicubic)."
        )
    if fields.get("do_rescale", True) is not True or abs(fields.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-3:
        raise LoadError(
            "preprocessor_config.json does not scale pixels from 0..255 to 0..1, which is what is known here."
        )
    usual = Preparation()
    if fields.get("do_normalize", True) is not True:
        return Preparation((0.0,) * channels, (1.0,) * channels, RESAMPLING[resample])  # type: ignore[arg-type]
    mean, std = (numbers(fields, key, default, channels) for key, default in
                 (("image_mean", usual.mean), ("image_std", usual.std)))  # fmt: skip
    return Preparation(mean, std, RESAMPLING[resample])  # type: ignore[arg-type]


def numbers(fields: dict[str, Any], key: str, default: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number a channel. Raises LoadError for something else."""
    value = fields.get(key, default[:1] * channels)
    if (
        not isinstance(value, list | tuple)
        or len(value) != channels
        or not all(isinstance(x, int | float) for x in value)
    ):
        raise LoadError(
            f"preprocessor_config.json has {key}={value!r}: one number for each of {channels} channels is needed."
        )
    return tuple(float(x) for x in value)
