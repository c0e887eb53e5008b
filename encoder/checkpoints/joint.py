"""A checkpoint of CLIP, of OpenCLIP's files too, or SigLIP -> JointEncoder; one of its towers, or any encoder of
images, by itself."""

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import torch

from encoder.checkpoints.checkpoint import LoadedWeights, read_checkpoint
from encoder.checkpoints.families import OPEN_CLIP, Family, Fields, Joint, in_full, open_clip
from encoder.checkpoints.pixels import read_preparation
from encoder.checkpoints.tokenizer import read_tokenizer
from encoder.checkpoints.weights import WeightFiles
from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.encoders.video import VideoEncoder
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer

#: Fields of a classifier of images that are outside its tower's.
OF_CLASSES = ("architectures", "id2label", "num_labels", "problem_type")


def load_joint(
    name: str, folder: Path, files: WeightFiles, fields: Fields, joint: Joint, device: torch.device, dtype: torch.dtype
) -> JointEncoder | ImageEncoder:
    """Read a checkpoint of both towers, or of a classifier of images. Raises LoadError, which names what is wrong."""
    files, notes = without_heads(files, joint)
    text, texts = None, files.starting_with(joint.texts)
    if len(texts):
        own = tower_fields(fields, "text")
        text = text_encoder(name, folder, own, joint.text, read_checkpoint(texts, own, joint.text, device, dtype))
    own = tower_fields(fields, "vision")
    own |= {key: fields[key] for key in OF_CLASSES if key in fields}
    read = read_checkpoint(files.starting_with(joint.images), own, in_full(joint.image, own), device, dtype)
    image = image_encoder(name, folder, joint.image, read)
    if text is None:
        return image
    scale, bias = (_number(files, one) if one else 0.0 for one in (joint.scale, joint.bias))
    for part, found in (("text", text.dense), ("image", image.vector_head)):
        if not found:
            raise LoadError(f"The checkpoint lacks what makes one vector of its {part} tower: download it again.")
    if joint.most is not None:
        scale = min(max(scale, 0.0), math.log(max(1.0, fields.number(*joint.most))))
    compares: Any = "sigmoid" if joint.bias else "softmax"
    factor = float(torch.tensor(scale).exp())
    return JointEncoder(name, text, image, scale=factor, bias=bias, compares=compares, notes=notes)


def without_heads(files: WeightFiles, joint: Joint) -> tuple[WeightFiles, tuple[str, ...]]:
    """The weights of both towers and of what compares them; a sentence about each head. Raises LoadError for others."""
    towers = files.beneath(joint.prefix)
    numbers = {name for name in (joint.scale, joint.bias) if name}
    known = {*towers.starting_with(joint.texts + joint.images), *numbers & {*towers}}
    before = "" if towers is files else joint.prefix
    meanings = set()
    for name in sorted({*files} - {before + one for one in known}):
        meaning = next((said for pattern, said in joint.dropped.items() if re.fullmatch(pattern, name)), None)
        if meaning is None:
            raise LoadError(f"The checkpoint has the weight {name}, which this family does not have: save it again.")
        meanings.add(meaning)
    return towers, tuple(f"Left out: {meaning}." for meaning in sorted(meanings - {""}))


def is_open_clip(folder: Path) -> bool:
    """Whether a folder has OpenCLIP's files only. Many have those of transformers next to them."""
    return not (folder / "config.json").is_file() and (folder / open_clip.FILE).is_file()


def load_open_clip(name: str, folder: Path, device: torch.device, dtype: torch.dtype) -> JointEncoder | ImageEncoder:
    """Read a folder of OpenCLIP. Raises LoadError, which names what is wrong."""
    given = Fields.of(open_clip.FILE, read_json(folder / open_clip.FILE))
    fields = open_clip.as_clip(given)
    if not (folder / open_clip.WEIGHTS).is_file():
        raise LoadError(f"{folder.name} has no {open_clip.WEIGHTS}: put the weights next to {open_clip.FILE}.")
    files = WeightFiles.of_file(folder / open_clip.WEIGHTS)
    image = OPEN_CLIP.image
    prepared = image.but(
        preparation={**image.preparation, **open_clip.preparation(given, fields["vision_config"]["image_size"])}
    )
    return load_joint(name, folder, files, fields, dataclasses.replace(OPEN_CLIP, image=prepared), device, dtype)


def tower_fields(fields: Fields, kind: str) -> Fields:
    """The fields of one tower in the config.json of both; "..._config_dict" of older files comes first.

    Raises LoadError for what is not an object.
    """
    key = f"{kind}_config"
    older = fields.get(f"{key}_dict")
    found: Any = older if older is not None else fields.get(key)
    if not isinstance(found, dict | None):
        raise LoadError(f"config.json has {key}={quoted(found)}: specify an object with the fields of this tower.")
    whole = {name: fields[name] for name in ("projection_dim", "dtype", "torch_dtype") if name in fields}
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


# --- a tower -------------------------------------------------------------------------------------------------------


def image_encoder(name: str, folder: Path, family: Family, read: LoadedWeights) -> Any:
    """The encoder of a folder whose model accepts images, or videos."""
    patches, head = read.encoder.config.patches, read.vector
    assert patches is not None
    kind: Any = VideoEncoder if patches.frames else ImageEncoder
    return kind(
        name=name,
        encoder=read.encoder,
        preparation=read_preparation(folder, patches, family.preparation),
        classifier=read.classifier,
        vector_head=head,
        notes=read.notes,
    )


def text_encoder(name: str, folder: Path, fields: Fields, family: Family, read: LoadedWeights) -> TextEncoder:
    """The tower of texts of CLIP or SigLIP. Raises LoadError for a tokenizer that does not end a text as it needs."""
    assert family.pooling is not None
    found = read_tokenizer(folder, fields)
    tokenizer = found.tokenizer
    if family.filled:
        tokenizer = tokenizer.filled_to(read.encoder.config.max_tokens)
    elif read.encoder.config.causal:
        check_end(tokenizer, fields, family)
    dense: Any = () if read.vector is None else (read.vector,)
    return TextEncoder(
        name=name,
        encoder=read.encoder,
        tokenizer=tokenizer,
        pooling=family.pooling,
        dense=dense,
        notes=(*read.notes, *found.notes),
    )


def check_end(tokenizer: Tokenizer, fields: Fields, family: Family) -> None:
    """Raise LoadError unless each text ends with the token whose vector the family takes, `Family.end`.

    transformers takes the first token with this id. Where all texts end with that token, it is the last one.
    """
    last = tokenizer.encode("a").ids[-1]
    end = fields.integer("eos_token_id", 49_407)
    if family.end == "largest" or (family.end == "eos" and end == 2):
        end = max(tokenizer.backend.get_vocab(with_added_tokens=True).values())
    if last != end:
        raise LoadError(
            f"The tokenizer ends a text with {quoted(tokenizer.token(last))} (id {last}), and the model takes the "
            f"vector of the token {end}: correct eos_token_id in config.json, or use the checkpoint's own tokenizer."
        )
