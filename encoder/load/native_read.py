"""Our own checkpoints -> the encoder that `encoder.save` wrote (`native`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder, Preparation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError, quoted
from encoder.inputs import log_mel
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.load.json_fields import from_fields
from encoder.load.native import CLASSIFIER, DENSE, FORMAT, HEAD, SPANS, TOKEN_DENSE, VECTOR_HEAD, Savable, Tower
from encoder.load.sounds import check_sound
from encoder.load.weights import WeightFiles, fill_strictly
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.model.mlm import MLMHead, MLMHeadConfig
from encoder.model.pooling import POOLINGS, Dense, DenseConfig, LateConfig, SparseConfig
from encoder.model.vector_head import VectorHead, VectorHeadConfig

Modules = dict[str, nn.Module]
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
    modules, make = _tower(name, folder, fields)
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    made: Tower = make()
    return made


def _joint(name: str, folder: Path, fields: dict[str, Any], device: torch.device, dtype: torch.dtype) -> JointEncoder:
    towers = fields["towers"]
    if not isinstance(towers, dict) or set(towers) not in ({"text", "image"}, {"text", "sound"}):
        raise LoadError(f"config.json has towers={quoted(towers)}: specify the fields of text, and of image or sound.")
    scale, bias, compares = fields.get("scale"), fields.get("bias"), fields.get("compares")
    for key, value in (("scale", scale), ("bias", bias)):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise LoadError(f"config.json has {key}={quoted(value)}: specify a number.")
    found: dict[str, Any] = {}
    modules: Modules = {}
    for kind, tower_fields in towers.items():
        if not isinstance(tower_fields, dict):
            raise LoadError(f"config.json's tower {kind} is not an object: save the model again.")
        parts, found[kind] = _tower(name, folder, tower_fields)
        modules |= {f"{kind}.{prefix}": module for prefix, module in parts.items()}
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    made = {kind: make() for kind, make in found.items()}
    if wrong := [kind for kind, tower in made.items() if tower.takes != kind]:
        raise LoadError(f"config.json's tower {wrong[0]} accepts {made[wrong[0]].takes}: save the model again.")
    text, other = made.pop("text"), made.popitem()[1]
    return JointEncoder(name, text, other, float(scale), float(bias), compares)  # type: ignore[arg-type]


def _tower(name: str, folder: Path, fields: dict[str, Any]) -> tuple[Modules, Callable[[], Any]]:
    """The unfilled modules of an encoder by their prefix, and what makes the encoder of them."""
    config: EncoderConfig = from_fields(EncoderConfig, fields.get("encoder"), "encoder")
    with unfilled():
        modules: Modules = {"": Encoder(config)}
        if fields.get("classifier") is not None:
            head = from_fields(ClassifierConfig, fields["classifier"], "classifier")
            modules[CLASSIFIER] = Classifier(config.d_model, head)
    return (_text if config.takes_text else _signal)(name, folder, fields, config, modules)


def _signal(
    name: str, folder: Path, fields: dict[str, Any], config: EncoderConfig, modules: Modules
) -> tuple[Modules, Callable[[], ImageEncoder | AudioEncoder]]:
    kind: Any = AudioEncoder if config.patches is None else ImageEncoder
    preparation: Any = _sound(fields, config) if config.patches is None else _pixels(fields, config.patches.channels)
    if fields.get("vector_head") is not None:
        with unfilled():
            head = from_fields(VectorHeadConfig, fields["vector_head"], "vector_head")
            modules[VECTOR_HEAD] = VectorHead(config.d_model, head)
    heads: dict[str, Any] = {"classifier": modules.get(CLASSIFIER), "vector_head": modules.get(VECTOR_HEAD)}
    encoder: Any = modules[""]
    return modules, lambda: kind(name=name, encoder=encoder, preparation=preparation, **heads)


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


def _text(
    name: str, folder: Path, fields: dict[str, Any], config: EncoderConfig, modules: Modules
) -> tuple[Modules, Callable[[], TextEncoder]]:
    for key in ("dense", "token_dense"):
        if not isinstance(fields.get(key, []), list):
            raise LoadError(f"config.json has {key}={quoted(fields[key])}: specify a list.")
    with unfilled():
        if fields.get("mlm_head") is not None:
            modules[HEAD] = MLMHead(config, from_fields(MLMHeadConfig, fields["mlm_head"], "mlm_head"))
        if fields.get("span_head") is not None:
            spans = from_fields(ClassifierConfig, fields["span_head"], "span_head")
            modules[SPANS] = Classifier(config.d_model, spans)
        dense, token_dense = (
            tuple(Dense(from_fields(DenseConfig, entry, key)) for entry in fields.get(key, []))
            for key in ("dense", "token_dense")
        )
    for name_of, several in ((DENSE, dense), (TOKEN_DENSE, token_dense)):
        modules |= {name_of.format(index): module for index, module in enumerate(several)}
    pooling = fields.get("pooling", "mean")
    if not isinstance(pooling, str) or not set(pooling.split("+")) <= set(POOLINGS):
        raise LoadError(f"config.json has an unknown pooling={quoted(pooling)}: choose one of {', '.join(POOLINGS)}.")
    for key in ("normalise", "pools_prompt"):
        if not isinstance(fields.get(key, False), bool):
            raise LoadError(f"config.json has {key}={quoted(fields[key])}: specify true or false.")
    encoder: Any = modules[""]
    heads: dict[str, Any] = {
        "classifier": modules.get(CLASSIFIER), "mlm_head": modules.get(HEAD), "span_head": modules.get(SPANS),
    }  # fmt: skip
    for key, kind in (("sparse", SparseConfig), ("late", LateConfig)):
        heads[key] = None if fields.get(key) is None else from_fields(kind, fields[key], key)
    prompts, prompt = fields.get("prompts", {}), fields.get("default_prompt")
    if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
        raise LoadError(f"config.json has prompts={quoted(prompts)}: specify a text for each name.")
    if prompt is not None and prompt not in prompts:
        raise LoadError(f"config.json has default_prompt={quoted(prompt)}, which is none of its prompts: correct it.")
    most, fill_to = _whole(fields, "max_embed_tokens"), _whole(fields, "fill_to")
    if fill_to is not None and fill_to > config.max_tokens:
        raise LoadError(f"config.json has fill_to={fill_to}, more than the {config.max_tokens} tokens of a text.")
    return modules, lambda: TextEncoder(
        name=name,
        encoder=encoder,
        tokenizer=Tokenizer.from_file(folder / "tokenizer.json").filled_to(fill_to),
        pooling=pooling,
        dense=dense,
        token_dense=token_dense,
        normalise=fields.get("normalise", False),
        max_embed_tokens=most,
        truncate_dim=_whole(fields, "truncate_dim"),
        prompts=prompts,
        default_prompt=prompt,
        pools_prompt=fields.get("pools_prompt", True),
        **heads,
    )


def _whole(fields: dict[str, Any], key: str) -> int | None:
    """A whole number from 1 on, or null. Raises LoadError for anything else."""
    value = fields.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise LoadError(f"config.json has {key}={quoted(value)}: specify a whole number from 1 on, or null.")
    return value
