"""Our own checkpoints -> the encoder that `encoder.save` wrote (`native`)."""

import dataclasses
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from encoder.checkpoints.json_fields import from_fields
from encoder.checkpoints.native import (
    DECODER_TOKENIZER,
    FORMAT,
    HEADS,
    OF_TOKENIZER,
    SEVERAL,
    TOKENS,
    Savable,
    TextFields,
    Tower,
    heads_of,
    modules_of,
)
from encoder.checkpoints.sounds import check_sound
from encoder.checkpoints.tokenizer import check_tags
from encoder.checkpoints.weights import WeightFiles, fill_strictly
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder, Preparation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.seq2seq import Decoder, GenerationSettings, check_decoder
from encoder.encoders.text import TextEncoder
from encoder.encoders.video import VideoEncoder
from encoder.errors import LoadError, quoted
from encoder.inputs import log_mel
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.model.lm_head import LMHead, LMHeadConfig
from encoder.model.steps import STEPS

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
    model = _joint(name, folder, fields) if "towers" in fields else _tower(name, folder, fields)
    files, shared = WeightFiles(folder), _shares_tokens(fields)
    if shared and TOKENS in files:
        files.also(f"decoder.{TOKENS}", TOKENS)
    fill_strictly(modules_of(model), files, device, dtype)
    if shared and not isinstance(model, JointEncoder):
        model.decoder.encoder.embedding.tokens.weight = model.encoder.embedding.tokens.weight
    return model


def _shares_tokens(fields: dict[str, Any]) -> bool:
    return isinstance(about := fields.get("decoder"), dict) and about.get("shares_tokens") is True


def _joint(name: str, folder: Path, fields: dict[str, Any]) -> JointEncoder:
    towers = fields["towers"]
    if not isinstance(towers, dict) or set(towers) not in ({"text", "image"}, {"text", "sound"}):
        raise LoadError(f"config.json has towers={quoted(towers)}: specify the fields of text, and of image or sound.")
    scale, bias, compares = fields.get("scale"), fields.get("bias"), fields.get("compares")
    for key, value in (("scale", scale), ("bias", bias)):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise LoadError(f"config.json has {key}={quoted(value)}: specify a number.")
    made: dict[str, Any] = {}
    for kind, tower_fields in towers.items():
        if not isinstance(tower_fields, dict):
            raise LoadError(f"config.json's tower {kind} is not an object: save the model again.")
        made[kind] = _tower(name, folder, tower_fields)
        if made[kind].takes != kind:
            raise LoadError(f"config.json's tower {kind} accepts {made[kind].takes}: save the model again.")
    text, other = made.pop("text"), made.popitem()[1]
    return JointEncoder(name, text, other, float(scale), float(bias), compares)  # type: ignore[arg-type]


def _tower(name: str, folder: Path, fields: dict[str, Any]) -> Tower:
    """The encoder that the fields describe, whose weights are not read yet."""
    config: EncoderConfig = from_fields(EncoderConfig, fields.get("encoder"), "encoder")
    kind: type[Tower] = TextEncoder if config.takes_text else AudioEncoder
    if config.patches is not None:
        kind = VideoEncoder if config.patches.frames else ImageEncoder
    with unfilled():
        parts: dict[str, Any] = {"encoder": Encoder(config)}
        for head in heads_of(kind):
            if fields.get(head) is not None:
                of_head, make = HEADS[head]
                parts[head] = make(config, from_fields(of_head, fields[head], head))
        for maps in SEVERAL if config.takes_text else ():
            if not isinstance(fields.get(maps, []), list):
                raise LoadError(f"config.json has {maps}={quoted(fields[maps])}: specify a list.")
            parts[maps] = tuple(_step(entry, maps) for entry in fields.get(maps, []))
    if config.takes_text:
        parts |= _of_text(folder, fields, config)
    elif config.patches is None:
        parts["preparation"] = _sound(fields, config)
    else:
        parts["preparation"] = _pixels(fields, config.patches.channels)
    if fields.get("decoder") is not None:
        parts["decoder"] = _decoder(name, folder, fields["decoder"], parts)
    made: Tower = kind(name=name, **parts)
    return made


def _step(entry: Any, where: str) -> nn.Module:
    """A step after the pooling. Raises LoadError for an unknown kind."""
    kind = entry.get("kind", "dense") if isinstance(entry, dict) else None
    if kind not in STEPS:
        raise LoadError(f"config.json has {where}={quoted(entry)}: specify steps of the kinds {', '.join(STEPS)}.")
    settings, make = STEPS[kind]
    step: nn.Module = make(from_fields(settings, {name: entry[name] for name in entry if name != "kind"}, where))
    return step


def _decoder(name: str, folder: Path, given: Any, parts: dict[str, Any]) -> Decoder:
    """The decoder that the fields describe. parts: of its encoder."""
    if not isinstance(given, dict) or not isinstance(given.get("lm_head"), dict):
        raise LoadError(f"config.json has decoder={quoted(given)}: save the model again.")
    settings = from_fields(GenerationSettings, given.get("settings", {}), "decoder.settings")
    with unfilled():
        stack = parts["encoder"]
        if given.get("encoder") is not None:
            stack = Encoder(from_fields(EncoderConfig, given["encoder"], "decoder.encoder"))
        head = LMHead(stack.config, from_fields(LMHeadConfig, given["lm_head"], "decoder.lm_head"))
    check_decoder(stack.config, parts["encoder"].config, settings)
    tokenizer = parts.get("tokenizer")
    if tokenizer is None or (folder / DECODER_TOKENIZER).is_file():
        tokenizer = Tokenizer.from_file(folder / DECODER_TOKENIZER)
    return Decoder(name, stack, head, tokenizer, settings)


def _of_text(folder: Path, fields: dict[str, Any], config: EncoderConfig) -> dict[str, Any]:
    """The tokenizer and the settings of a TextEncoder."""
    known = {one.name: fields[one.name] for one in dataclasses.fields(TextFields) if one.name in fields}
    found: TextFields = from_fields(TextFields, known)
    settings = {name: value for name, value in vars(found).items() if name not in OF_TOKENIZER}
    if found.fill_to is not None and found.fill_to > config.max_tokens:
        raise LoadError(f"config.json has fill_to={found.fill_to}, more than the {config.max_tokens} tokens of a text.")
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json").filled_to(found.fill_to)
    tokenizer = tokenizer.word_by_word(found.label_prompt).node_by_node(found.tags)
    check_tags(tokenizer, config.places)
    return settings | {"tokenizer": tokenizer}


def _pixels(fields: dict[str, Any], channels: int) -> Preparation:
    preparation: Preparation = from_fields(Preparation, fields.get("preparation", {}), "preparation")
    if not len(preparation.mean) == len(preparation.std) == channels:
        raise LoadError(f"config.json's mean and std need {channels} numbers each: save the model again.")
    return preparation


def _sound(fields: dict[str, Any], config: EncoderConfig) -> log_mel.Preparation:
    """How sound is prepared, with the same checks as of other checkpoints' files."""
    given = fields.get("preparation")
    kinds = {kind.__name__: kind for kind in get_args(log_mel.Preparation)}
    if not isinstance(given, dict) or given.get("kind") not in kinds:
        raise LoadError(f"config.json has preparation={quoted(given)}: specify one of the kinds {', '.join(kinds)}.")
    rest = {name: value for name, value in given.items() if name != "kind"}
    found: log_mel.Preparation = from_fields(kinds[given["kind"]], rest, "preparation")
    check_sound(found, config)
    return found
