"""preprocessor_config.json: how a checkpoint's images, or the frames of its videos, are prepared."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from encoder.encoders.image import Interpolation, Preparation
from encoder.errors import ConfigError, LoadError, quoted
from encoder.inputs.image_files import MOST_PIXELS
from encoder.inputs.json_file import read_json
from encoder.model.config import Patches

#: Pillow's numbers of the ways to scale an image.
RESAMPLING: dict[int, Interpolation] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box"}
FILE, JOINT_FILE, VIDEO_FILE = "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"
NOTHING: Mapping[str, Any] = MappingProxyType({})


def read_preparation(folder: Path, patches: Patches, usual_fields: Mapping[str, Any] = NOTHING) -> Preparation:
    """The folder's preparation; usual_fields: where no file says anything, by default ViT's.

    A processor of images and texts may have its file inside processor_config.json. Raises LoadError, which names an
    unknown setting.
    """
    fields = {**usual_fields, **(read_video_fields(folder) if patches.frames else read_fields(folder))}
    usual_size = usual_fields.get("size", {})
    if "shortest_edge" in usual_size and isinstance(fields["size"], int):  # one number means a square elsewhere
        fields["size"] = {"shortest_edge": fields["size"]}
    if "enlarged" in usual_fields:  # the frame around the cut follows from the cut, whatever the file says
        whole, part = usual_fields["enlarged"]
        fields["size"] = {"shortest_edge": _side(fields, "crop_size", "height", patches.image_size) * whole // part}
    resample = fields.get("resample", 2)
    if type(resample) is not int or resample not in RESAMPLING:
        raise LoadError(f"{FILE} has an unknown resample={quoted(resample)}: choose 0 to 4 (nearest to box).")
    factor = fields.get("rescale_factor", 1 / 255)
    if fields.get("do_rescale", True) is not True or not is_number(factor) or abs(factor * 255 - 1) > 1e-3:
        raise LoadError(f"{FILE} does not scale pixels from 0..255 to 0..1: choose a checkpoint that does.")
    channels, usual, resize = patches.channels, Preparation(), resize_of(fields, patches.image_size)
    smooths = "smooths" in usual_fields
    form: Any = {
        "interpolation": RESAMPLING[resample],
        "resize": resize,
        "padded": smooths and fields["do_pad"] is True,
        "smoothed": smooths,
    }
    if fields.get("do_normalize", True) is not True:
        return Preparation((0.0,) * channels, (1.0,) * channels, **form)
    mean, std = (
        numbers(fields, key, default, channels)
        for key, default in (("image_mean", usual.mean), ("image_std", usual.std))
    )
    try:
        return Preparation(mean, std, **form)
    except ConfigError as error:
        raise LoadError(f"{FILE} describes no preparation of images. {error}") from error


def read_fields(folder: Path) -> dict[str, Any]:
    """The object in preprocessor_config.json, or in processor_config.json; {} without either."""
    if (folder / FILE).is_file():
        return read_json(folder / FILE)
    if (folder / JOINT_FILE).is_file():
        found = read_json(folder / JOINT_FILE).get("image_processor", {})
        if not isinstance(found, dict):
            raise LoadError(f"{JOINT_FILE} has image_processor={quoted(found)}: specify an object.")
        return found
    return {}


def read_video_fields(folder: Path) -> dict[str, Any]:
    """The same of videos: transformers looks into these files in this order."""
    found = read_json(folder / JOINT_FILE).get("video_processor") if (folder / JOINT_FILE).is_file() else None
    if found is not None and not isinstance(found, dict):
        raise LoadError(f"{JOINT_FILE} has video_processor={quoted(found)}: specify an object.")
    if found is not None:
        return found
    return read_json(folder / VIDEO_FILE) if (folder / VIDEO_FILE).is_file() else read_fields(folder)


def resize_of(fields: dict[str, Any], side: int) -> tuple[int, int] | int | None:
    """What an image is scaled to before its middle, side x side, is cut out: `Preparation.resize`.

    A checkpoint whose middle has another size than its images (DINOv2 with interpolated positions) keeps the ratio of
    both. Without a cut the image is scaled to side x side, whatever the file says: this model accepts no other.
    """
    if not fields.get("do_resize", True) or not fields.get("do_center_crop", False):
        shortest = fields.get("size", {}).get("shortest_edge") if isinstance(fields.get("size"), dict) else None
        return None if shortest is None or not fields.get("do_resize", True) else side
    cut = _side(fields, "crop_size", "height", side)
    size = fields.get("size", side)
    if isinstance(size, dict) and "shortest_edge" in size:
        return max(side, round(_side(fields, "size", "shortest_edge", side) * side / cut))
    height, width = (_side(fields, "size", name, side) for name in ("height", "width"))
    return round(height * side / cut), round(width * side / cut)


def _side(fields: dict[str, Any], key: str, name: str, default: int) -> int:
    """A length in pixels, a number by itself or by its name. Raises LoadError for anything else."""
    value = fields.get(key, default)
    value = value.get(name) if isinstance(value, dict) else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or value * value > MOST_PIXELS:
        raise LoadError(f"{FILE} has {key}={quoted(fields.get(key))}: specify a number of pixels.")
    return value


def numbers(fields: dict[str, Any], key: str, default: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number for each channel. Raises LoadError for anything else."""
    value = fields.get(key, default[:1] * channels)
    if not isinstance(value, list | tuple) or len(value) != channels or not all(map(is_number, value)):
        raise LoadError(f"{FILE} has {key}={quoted(value)}: specify one number for each of {channels} channels.")
    return tuple(float(x) for x in value)


def is_number(value: object) -> bool:
    """Whether a value of JSON is a finite number; its `true` and NaN are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
