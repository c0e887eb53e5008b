"""Our own checkpoints: `encoder.save` writes them and `encoder.load` reads them, exactly in float32.

A folder with config.json (model_type "encoderscope": the fields of EncoderConfig and of the masked-word head),
model.safetensors (our own parameter names) and tokenizer.json.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import types
import typing
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from encoder.classifier import Classifier, ClassifierConfig
from encoder.config import EncoderConfig, Patches
from encoder.errors import EncoderError, LoadError, SaveError, quoted
from encoder.image_encoder import ImageEncoder, Preparation
from encoder.load.weights import SINGLE, WeightFiles, fill_strictly, prefixed
from encoder.mlm import MLMHead, MLMHeadConfig
from encoder.model import Encoder, unfilled
from encoder.pooling import POOLINGS, Dense, DenseConfig
from encoder.text_encoder import TextEncoder
from encoder.text_file import parse_json, read_json
from encoder.tokenizer import Tokenizer

MODEL_TYPE = "encoderscope"
FORMAT = 1
HEAD = "mlm_head."
CLASSIFIER = "classifier."
DENSE = "dense.{}."
#: The largest number of float16.
FLOAT16_MAX = 65_504.0

DiskType = Literal["float32", "float16", "bfloat16"]
DISK_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


# --- saving -----------------------------------------------------------------------------------------------------------


def save(model: TextEncoder | ImageEncoder, folder: str | Path, *, dtype: DiskType = "float32") -> Path:
    """Write `model` as a folder that `encoder.load` reads, and return the folder. dtype: the numbers on disk.

    The folder is written elsewhere and then renamed, so it is never incomplete. An earlier checkpoint of `save` is
    replaced. Raises SaveError where the disk is full or takes no files; EncoderError for a folder with other files, for
    an unknown number type, and for a weight that is too large for float16.
    """
    if not isinstance(model, TextEncoder | ImageEncoder):
        raise EncoderError(f"{type(model).__name__} cannot be saved: give a TextEncoder or an ImageEncoder.")
    if dtype not in DISK_TYPES:
        raise EncoderError(f"dtype={dtype!r} is unknown: choose one of {', '.join(DISK_TYPES)}.")
    try:
        target = Path(folder).expanduser().resolve()
        _check_target(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            _write(model, beside, DISK_TYPES[dtype])
            _replace(target, beside)
        finally:
            shutil.rmtree(beside, ignore_errors=True)  # it is still there only after a failure
    except EncoderError:
        raise
    except Exception as error:  # the disk; safetensors and tokenizers have errors of their own for it
        raise SaveError(
            f"{Path(folder).name[:80]} cannot be written ({error}): make room on the disk, or give another folder."
        ) from error
    return target


def _check_target(target: Path) -> None:
    """Raise EncoderError if saving would overwrite files that `save` did not write."""
    if target.is_file():
        raise EncoderError(f"{target.name} is a file: give the name of a folder.")
    if target.is_dir() and any(target.iterdir()) and not is_native(target):
        raise EncoderError(
            f"{target.name} has files that are no checkpoint of this program, and they stay: give another folder."
        )


def _replace(target: Path, beside: Path) -> None:
    """Rename `beside` to `target`. The earlier folder is deleted last, and comes back if the renaming fails."""
    _apply_umask(beside)
    if not target.exists():
        beside.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    target.rename(old / "was")
    try:
        beside.rename(target)
    except OSError:
        (old / "was").rename(target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _apply_umask(folder: Path) -> None:
    """Give the folder and its weights usual permissions: mkdtemp and safetensors give them to the owner alone."""
    usual = folder / "usual"
    usual.mkdir()
    shutil.copymode(usual, folder)
    usual.rmdir()
    shutil.copymode(folder / "config.json", folder / SINGLE)


def _write(model: TextEncoder | ImageEncoder, folder: Path, dtype: torch.dtype) -> None:
    from safetensors.torch import save_file

    weights = {name: _to_disk(name, value, dtype) for name, value in _state(model).items()}
    save_file(weights, folder / SINGLE, metadata={"format": "pt"})
    fields = {
        "model_type": MODEL_TYPE,
        "format": FORMAT,
        "name": model.name,
        "encoder": dataclasses.asdict(model.config),
        "classifier": None if model.classifier is None else dataclasses.asdict(model.classifier.config),
    }
    if isinstance(model, ImageEncoder):
        fields["preparation"] = dataclasses.asdict(model.preparation)
    else:
        fields |= _fields_of_text(model)
        model.tokenizer.backend.save(str(folder / "tokenizer.json"))
        special = json.dumps(model.tokenizer.special, indent=2, ensure_ascii=False)
        (folder / "special_tokens_map.json").write_text(special + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")


def _fields_of_text(model: TextEncoder) -> dict[str, Any]:
    head = model.mlm_head
    return {
        "mlm_head": None if head is None else dataclasses.asdict(head.config),
        "pooling": model.pooling,
        "dense": [dataclasses.asdict(dense.config) for dense in model.dense],
        "normalise": model.normalise,
        "max_embed_tokens": model.max_embed_tokens,
    }


def _state(model: TextEncoder | ImageEncoder) -> dict[str, Tensor]:
    state = dict(model.encoder.state_dict())
    if model.classifier is not None:
        state |= prefixed(CLASSIFIER, model.classifier)
    if isinstance(model, ImageEncoder):
        return state
    if model.mlm_head is not None:
        state |= prefixed(HEAD, model.mlm_head)
    for index, dense in enumerate(model.dense):
        state |= prefixed(DENSE.format(index), dense)
    return state


def _to_disk(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    value = value.detach().cpu()
    largest = float(value.abs().max()) if dtype is torch.float16 else 0.0
    if largest > FLOAT16_MAX:
        raise EncoderError(
            f"The weight {name} reaches {largest:g}, but float16 ends at {FLOAT16_MAX:g}: save as float32 or bfloat16."
        )
    return value.to(dtype).contiguous()


# --- loading ----------------------------------------------------------------------------------------------------------


def is_native(folder: Path) -> bool:
    """Whether `save` wrote this folder."""
    try:
        fields = parse_json(folder / "config.json")
    except LoadError:
        return False
    return isinstance(fields, dict) and fields.get("model_type") == MODEL_TYPE


def load_native(folder: Path, device: torch.device, dtype: torch.dtype) -> TextEncoder | ImageEncoder:
    """Read a folder of `save`. Raises LoadError, which names the field or weight that is wrong."""
    fields = read_json(folder / "config.json")
    if fields.get("format") != FORMAT:
        raise LoadError(
            f"{folder.name} has the format {quoted(fields.get('format'))}, but this version reads {FORMAT}: update the "
            "program, or save the model again."
        )
    config = from_fields(EncoderConfig, fields.get("encoder"), "encoder")
    if config.patches is not None:
        return _load_images(folder, fields, config, device, dtype)
    head_fields = fields.get("mlm_head")
    dense_fields = fields.get("dense", [])
    if not isinstance(dense_fields, list):
        raise LoadError(f"config.json has dense={quoted(dense_fields)}: give a list.")
    with unfilled():
        encoder = Encoder(config)
        head = None if head_fields is None else MLMHead(config, from_fields(MLMHeadConfig, head_fields, "mlm_head"))
        dense = tuple(Dense(from_fields(DenseConfig, entry, "dense")) for entry in dense_fields)
        classifier = _classifier(config, fields)
    modules: dict[str, nn.Module] = {"": encoder}
    if head is not None:
        modules[HEAD] = head
    if classifier is not None:
        modules[CLASSIFIER] = classifier
    modules |= {DENSE.format(index): module for index, module in enumerate(dense)}
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    pooling = fields.get("pooling", "mean")
    if not isinstance(pooling, str) or pooling not in POOLINGS:
        raise LoadError(f"config.json has an unknown pooling={quoted(pooling)}: choose one of {', '.join(POOLINGS)}.")
    most = fields.get("max_embed_tokens")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise LoadError(f"config.json has max_embed_tokens={quoted(most)}: give a whole number from 1 on, or null.")
    return TextEncoder(
        name=str(fields.get("name") or folder.resolve().name),
        encoder=encoder,
        tokenizer=Tokenizer.from_file(folder / "tokenizer.json"),
        pooling=pooling,
        dense=dense,
        normalise=bool(fields.get("normalise", False)),
        max_embed_tokens=most,
        mlm_head=head,
        classifier=classifier,
    )


def _classifier(config: EncoderConfig, fields: dict[str, Any]) -> Classifier | None:
    named = fields.get("classifier")
    if named is None:
        return None
    return Classifier(config.d_model, from_fields(ClassifierConfig, named, "classifier"))


def _load_images(
    folder: Path, fields: dict[str, Any], config: EncoderConfig, device: torch.device, dtype: torch.dtype
) -> ImageEncoder:
    with unfilled():
        encoder, classifier = Encoder(config), _classifier(config, fields)
    modules: dict[str, nn.Module] = {"": encoder} | ({} if classifier is None else {CLASSIFIER: classifier})
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    preparation: Preparation = from_fields(Preparation, fields.get("preparation", {}), "preparation")
    assert config.patches is not None
    if not len(preparation.mean) == len(preparation.std) == config.patches.channels:
        raise LoadError(
            f"config.json's mean and std need {config.patches.channels} numbers each: save the model again."
        )
    name = str(fields.get("name") or folder.resolve().name)
    return ImageEncoder(name=name, encoder=encoder, preparation=preparation, classifier=classifier)


def from_fields(kind: type, fields: Any, where: str) -> Any:
    """A JSON object -> the frozen dataclass `kind`. Raises LoadError for an unknown, missing or wrong field.

    A field that the object does not name gets its default, so older checkpoints stay readable.
    """
    if not isinstance(fields, dict):
        raise LoadError(
            f"config.json has no object {where!r} with the fields of {kind.__name__}: save the model again."
        )
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(fields) - set(hints))
    if unknown:
        raise LoadError(
            f"config.json's {where} has an unknown field {unknown[0]!r}: update the program, or remove the field."
        )
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.name not in fields:
            raise LoadError(f"config.json's {where} has no {field.name}: save the model again.")
    return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in fields.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    """A JSON value in the type `hint`: lists become tuples, objects Patches."""
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(value, dict) and hint == Patches | None:
        return from_fields(Patches, value, where)
    if not _fits(hint, value):
        raise LoadError(f"config.json has {where}={quoted(value)}, which has the wrong type: save the model again.")
    return value


def _fits(hint: Any, value: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(option, value) for option in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(typing.get_args(hint)[0], entry) for entry in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
