"""Our own checkpoints -> the encoder that `encoder.save` wrote (`native`)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder, Preparation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError, quoted
from encoder.inputs import log_mel
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.load.json_fields import from_fields
from encoder.load.native import FORMAT, Savable, SignalFields, TextFields, Tower, modules_of
from encoder.load.sounds import check_sound
from encoder.load.weights import WeightFiles, fill_strictly
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.model.mlm import MLMHead, MLMHeadConfig
from encoder.model.pooling import Dense, DenseConfig
from encoder.model.vector_head import VectorHead, VectorHeadConfig

#: Characters of a model's name.
LONGEST_NAME = 200


def load_native(folder: Path, device: torch.device, dtype: torch.dtype) -> Savable:
    """Read a folder of `save`. Raises LoadError, which names the field or weight that is wrong."""
    fields = read_json(folder / "config.json")
    if fields.get("format") != FORMAT:
        raise LoadError(
            f"{folder.name} has the format {quoted(fields.get('format'))}, but this version reads {FORMAT}: update the "
            "program, or save the model again."
        )
    name = fields.get("name") or folder.resolve().name
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise LoadError(f"config.json has name={quoted(name)}: specify a text of at most {LONGEST_NAME} characters.")
    if "towers" in fields:
        return _joint(name, folder, fields, device, dtype)
    made = _tower(name, folder, fields)
    fill_strictly(modules_of(made), WeightFiles(folder), device, dtype)
    return made


def _joint(name: str, folder: Path, fields: dict[str, Any], device: torch.device, dtype: torch.dtype) -> JointEncoder:
    towers = fields["towers"]
    if not isinstance(towers, dict) or set(towers) not in ({"text", "image"}, {"text", "sound"}):
        raise LoadError(f"config.json has towers={quoted(towers)}: specify the fields of text, and of image or sound.")
    scale, bias, compares = fields.get("scale"), fields.get("bias"), fields.get("compares")
    for key, value in (("scale", scale), ("bias", bias)):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise LoadError(f"config.json has {key}={quoted(value)}: specify a number.")
    made: dict[str, Tower] = {}
    for kind, tower_fields in towers.items():
        if not isinstance(tower_fields, dict):
            raise LoadError(f"config.json's tower {kind} is not an object: save the model again.")
        made[kind] = _tower(name, folder, tower_fields)
    modules = {f"{kind}.{before}": part for kind, tower in made.items() for before, part in modules_of(tower).items()}
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    if wrong := [kind for kind, tower in made.items() if tower.takes != kind]:
        raise LoadError(f"config.json's tower {wrong[0]} takes {made[wrong[0]].takes}: save the model again.")
    text, other = made.pop("text"), made.popitem()[1]
    return JointEncoder(name, text, other, float(scale), float(bias), compares)  # type: ignore[arg-type]


def _tower(name: str, folder: Path, fields: dict[str, Any]) -> Tower:
    """An encoder whose weights are still to be filled."""
    config: EncoderConfig = from_fields(EncoderConfig, fields.get("encoder"), "encoder")
    kind: Any = TextFields if config.takes_text else SignalFields
    known = {one.name for one in dataclasses.fields(kind)}
    found = from_fields(kind, {key: value for key, value in fields.items() if key in known}, "")
    with unfilled():
        rest = {key: _unfilled_head(config, getattr(found, key)) for key in known}
        encoder = Encoder(config)
    if config.patches is not None:
        return ImageEncoder(name, encoder, _pixels(fields, config.patches.channels), **rest)
    if not config.takes_text:
        return AudioEncoder(name, encoder, _sound(fields, config), **rest)
    fill_to = rest.pop("fill_to")
    if fill_to is not None and fill_to > config.max_tokens:
        raise LoadError(f"config.json has fill_to={fill_to}, more than the {config.max_tokens} tokens of a text.")
    return TextEncoder(name, encoder, Tokenizer.from_file(folder / "tokenizer.json").filled_to(fill_to), **rest)


def _unfilled_head(config: EncoderConfig, value: Any) -> Any:
    """The module of a head's config, or of several; any other value itself."""
    if isinstance(value, tuple):
        return tuple(_unfilled_head(config, one) for one in value)
    if isinstance(value, MLMHeadConfig):
        return MLMHead(config, value)
    if isinstance(value, DenseConfig):
        return Dense(value)
    if isinstance(value, ClassifierConfig):
        return Classifier(config.d_model, value)
    return VectorHead(config.d_model, value) if isinstance(value, VectorHeadConfig) else value


def _pixels(fields: dict[str, Any], channels: int) -> Preparation:
    preparation: Preparation = from_fields(Preparation, fields.get("preparation", {}), "preparation")
    if not len(preparation.mean) == len(preparation.std) == channels:
        raise LoadError(f"config.json's mean and std need {channels} numbers each: save the model again.")
    return preparation


def _sound(fields: dict[str, Any], config: EncoderConfig) -> log_mel.Preparation:
    """How sound is prepared, with the same checks as of other checkpoints' files."""
    given = fields.get("preparation")
    kinds = {kind.__name__: kind for kind in (log_mel.KaldiMel, log_mel.WhisperMel, log_mel.Samples)}
    if not isinstance(given, dict) or given.get("kind") not in kinds:
        raise LoadError(f"config.json has preparation={quoted(given)}: specify one of the kinds {', '.join(kinds)}.")
    rest = {name: value for name, value in given.items() if name != "kind"}
    found: log_mel.Preparation = from_fields(kinds[given["kind"]], rest, "preparation")
    check_sound(found, config)
    return found
