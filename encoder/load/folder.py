"""A checkpoint folder in Hugging Face's layout -> TextEncoder: config.json, safetensors, tokenizer.json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoder.config import EncoderConfig
from encoder.errors import LoadError
from encoder.load.families import Family, family_of, match_dropped
from encoder.model import Encoder
from encoder.pipeline import Pooling, TextEncoder
from encoder.text import Tokenizer

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")


def load_folder(folder: Path) -> TextEncoder:
    """Read a checkpoint. Raises LoadError in one sentence that names the file or the key that stands in the way."""
    if folder.is_file():
        raise LoadError(
            f"{folder.name} is a file: give the folder that holds config.json and model.safetensors.{_pickle_word(folder)}"
        )
    fields = read_json(folder / "config.json")
    family = family_of(fields)
    config = family.config(fields)
    on_disk = read_weights(folder)
    weights, config, notes = rename(on_disk, config, family)
    with torch.device("meta"):  # the weights come from disk: none is drawn, none is copied
        encoder = Encoder(config)
    assign(encoder, weights)
    pooling, normalise, max_embed_tokens = read_pooling(folder)
    return TextEncoder(
        name=folder.resolve().name,
        encoder=encoder,
        tokenizer=read_tokenizer(folder),
        pooling=pooling,
        normalise=normalise,
        max_embed_tokens=max_embed_tokens,
        notes=notes,
    )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises LoadError where it is missing or is none."""
    if not path.is_file():
        raise LoadError(
            f"{path.parent.name} is no checkpoint: it has no {path.name}. Give a folder in Hugging Face's layout."
        )
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadError(f"{path.name} in {path.parent.name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise LoadError(f"{path.name} in {path.parent.name} is not a JSON object.")
    return value


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of the folder's safetensors, from one file or from shards listed in an index."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(read_json(index).get("weight_map", {}).values()))
        if any(Path(name).name != name for name in names):
            raise LoadError(f"{index.name} names a file outside of its folder, which is not followed.")
    else:
        names = ["model.safetensors"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        held = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
        if held:
            raise LoadError(
                f"{folder.name} holds its weights as a pickle ({held[0]}), which can run code when it is opened, so it is not "
                "read: save them with save_pretrained(..., safe_serialization=True)."
            )
        raise LoadError(
            f"{folder.name} has no {missing[0] if missing else 'weights in its index'}: safetensors are needed."
        )
    weights: dict[str, Tensor] = {}
    for name in names:
        try:
            weights.update(load_file(folder / name))
        except (SafetensorError, OSError) as error:
            raise LoadError(f"{name} in {folder.name} is no safetensors file that can be read: {error}") from error
    return weights


def rename(
    on_disk: dict[str, Tensor], config: EncoderConfig, family: Family
) -> tuple[dict[str, Tensor], EncoderConfig, tuple[str, ...]]:
    """Names on disk -> ours, strict in both directions. Returns the weights, the config settled by them, and notes."""
    on_disk = {old_norm_name(key): value for key, value in on_disk.items()}
    config = settle_pooler(on_disk, config, family)
    with torch.device("meta"):
        wanted = list(Encoder(config).state_dict())
    prefix = find_prefix(on_disk, family)
    weights = {}
    for ours in wanted:
        theirs = prefix + name_on_disk(ours, family)
        if theirs not in on_disk:
            raise LoadError(f"The checkpoint lacks the weight {theirs}.")
        weights[ours] = on_disk.pop(theirs)
    return weights, config, dropped_notes(on_disk, family)


def name_on_disk(ours: str, family: Family) -> str:
    """Our parameter name -> the name on disk, without prefix."""
    parts = ours.split(".")
    if parts[0] == "layers":
        return family.names[".".join(["layers", "{l}", *parts[2:]])].format(l=parts[1])
    return family.names[ours]


def old_norm_name(key: str) -> str:
    """`gamma` and `beta` of checkpoints from TensorFlow's days -> `weight` and `bias`."""
    if key.endswith("LayerNorm.gamma"):
        return key[: -len("gamma")] + "weight"
    if key.endswith("LayerNorm.beta"):
        return key[: -len("beta")] + "bias"
    return key


def find_prefix(on_disk: dict[str, Tensor], family: Family) -> str:
    """What stands before the names on disk. Raises LoadError when no token table is found under any known prefix."""
    tokens = family.names["embedding.tokens.weight"]
    for prefix in family.prefixes:
        if prefix + tokens in on_disk:
            return prefix
    raise LoadError(f"The checkpoint lacks the weight {tokens}, under any of the prefixes {family.prefixes}.")


def settle_pooler(on_disk: dict[str, Tensor], config: EncoderConfig, family: Family) -> EncoderConfig:
    """BERT's pooler is part of some checkpoints and not of others: the weights decide."""
    theirs = family.names.get("pooler.weight")
    has_pooler = theirs is not None and any(key.endswith(theirs) for key in on_disk)
    return dataclasses.replace(config, pooler=has_pooler)


def dropped_notes(left: dict[str, Tensor], family: Family) -> tuple[str, ...]:
    """Sentences on the weights that are not used. Raises LoadError for one that is not known."""
    meanings = set()
    for key in left:
        meaning = match_dropped(family, key)
        if meaning is None:
            raise LoadError(f"The checkpoint holds the weight {key}, which is not known for this family.")
        if "head" in meaning:
            meanings.add(meaning)
    return tuple(f"Left out: {meaning}, which is no part of the encoder." for meaning in sorted(meanings))


def assign(encoder: Encoder, weights: dict[str, Tensor]) -> None:
    """Put the weights into an encoder on the meta device. Raises LoadError naming the first that has another shape."""
    for name, parameter in encoder.state_dict().items():
        if weights[name].shape != parameter.shape:
            raise LoadError(
                f"The weight for {name} has the shape {tuple(weights[name].shape)}; config.json makes it {tuple(parameter.shape)}."
            )
    encoder.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    encoder.requires_grad_(True)


def read_tokenizer(folder: Path) -> Tokenizer:
    """The folder's tokenizer.json. Raises LoadError where there is none."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise LoadError(f"{folder.name} has no tokenizer.json: save it with the tokenizer's save_pretrained.")
    return Tokenizer.from_file(path)


def read_pooling(folder: Path) -> tuple[Pooling, bool, int | None]:
    """How sentence-transformers pools here: (pooling, normalise, tokens it cuts at). Without its files: the mean, as is."""
    if not (folder / "modules.json").is_file():
        return "mean", False, None
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    normalise = any(module["type"].endswith("Normalize") for module in modules)
    pooling: Pooling = "mean"
    for module in modules:
        if module["type"].endswith("Pooling"):
            settings = read_json(folder / module["path"] / "config.json")
            if settings.get("pooling_mode_cls_token"):
                pooling = "cls"
            elif not settings.get("pooling_mode_mean_tokens", True):
                raise LoadError(
                    "This checkpoint pools neither by the mean nor by [CLS]; other ways are not known here."
                )
    cut = None
    if (folder / "sentence_bert_config.json").is_file():
        cut = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    return pooling, normalise, cut


def _pickle_word(path: Path) -> str:
    if any(path.match(pattern) for pattern in PICKLES):
        return " A pickle can run code when it is opened, so none is read here; only safetensors are."
    return ""
