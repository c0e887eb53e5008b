"""A checkpoint of CLIP or SigLIP -> JointEncoder; its classifier of images -> ImageEncoder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError, quoted
from encoder.load.checkpoint import read_checkpoint
from encoder.load.families import Fields, Joint
from encoder.load.notes import note_on_dtype
from encoder.load.towers import image_encoder, text_encoder
from encoder.load.weights import WeightFiles

TEXT, IMAGE = ("text_model.", "text_projection."), ("vision_model.", "visual_projection.", "classifier.")


@dataclass(frozen=True)
class Target:
    """Where and how weights are loaded."""

    device: torch.device
    dtype: torch.dtype


def load_joint(
    name: str, folder: Path, files: WeightFiles, fields: Fields, joint: Joint, target: Target
) -> JointEncoder | ImageEncoder:
    """Read a checkpoint of both towers, or of a classifier of images. Raises LoadError, which names what is wrong."""
    numbers = [name for name in (joint.scale, joint.bias) if name]
    for unknown in sorted(set(files) - set(files.starting_with(TEXT + IMAGE)) - set(numbers)):
        raise LoadError(f"The checkpoint has the weight {unknown}, which this family does not have: save it again.")
    if not len(files.starting_with(TEXT)):
        return _image(name, folder, files, fields, joint, target)
    text = _text(name, folder, files, fields, joint, target)
    image = _image(name, folder, files, fields, joint, target)
    scale, bias = (_number(files, one) if one else 0.0 for one in (joint.scale, joint.bias))
    for part, found in (("text", text.dense), ("image", image.vector_head)):
        if not found:
            raise LoadError(f"The checkpoint lacks what makes one vector of its {part} tower: download it again.")
    return JointEncoder(
        name,
        text,
        image,
        scale=float(torch.tensor(scale).exp()),
        bias=bias,
        compares="sigmoid" if joint.bias else "softmax",
    )


def _text(name: str, folder: Path, files: WeightFiles, fields: Fields, joint: Joint, target: Target) -> TextEncoder:
    own = tower_fields(fields, "text")
    files = files.starting_with(TEXT)
    read = read_checkpoint(files, own, joint.text, target.device, target.dtype)
    read = dataclasses.replace(read, notes=(*read.notes, *note_on_dtype(fields, files, target.dtype)))
    return text_encoder(name, folder, own, joint.text, read)


def _image(name: str, folder: Path, files: WeightFiles, fields: Fields, joint: Joint, target: Target) -> ImageEncoder:
    own = tower_fields(fields, "vision")
    own |= {key: fields[key] for key in ("architectures", "id2label", "num_labels", "problem_type") if key in fields}
    files = files.starting_with(IMAGE)
    read = read_checkpoint(files, Fields(own), joint.image, target.device, target.dtype)
    read = dataclasses.replace(read, notes=(*read.notes, *note_on_dtype(fields, files, target.dtype)))
    return image_encoder(name, folder, joint.image, read)


def tower_fields(fields: Fields, kind: str) -> Fields:
    """The fields of one tower in the config.json of both; "..._config_dict" of older files comes first.

    Raises LoadError for what is not an object.
    """
    key = f"{kind}_config"
    older = fields.get(f"{key}_dict")
    found: Any = older if older is not None else fields.get(key)
    if not isinstance(found, dict | None):
        raise LoadError(f"config.json has {key}={quoted(found)}: specify an object with the fields of this tower.")
    whole = {"projection_dim": fields["projection_dim"]} if "projection_dim" in fields else {}
    return Fields({**(found or {}), **whole, "model_type": f"{fields['model_type']}_{kind}_model"})


def _number(files: WeightFiles, name: str) -> float:
    """A weight that is a single number. Raises LoadError for another shape, or a number that is not finite."""
    if name not in files:
        raise LoadError(f"The checkpoint lacks the weight {name}: download it again.")
    if files.shape(name) not in ((), (1,)):
        raise LoadError(f"The weight {name} of shape {files.shape(name)} is not a single number: download it again.")
    value = float(files.read(name).float())
    if not abs(value) < 80.0:  # exp(80) is close to the largest number of float32
        raise LoadError(f"The weight {name} is {value:g}, and a model has less than 80: download it again.")
    return value
