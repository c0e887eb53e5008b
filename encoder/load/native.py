"""Our own checkpoints: what `encoder.save` writes and `encoder.load` reads back, to the last bit in float32.

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

from encoder.config import EncoderConfig, Patches
from encoder.errors import EncoderError, LoadError
from encoder.load.families.family import MAX_LAYERS
from encoder.load.weights import SINGLE, WeightFiles, fill, parse_json, read_json
from encoder.mlm import MLMHead, MLMHeadConfig
from encoder.model import Encoder, unfilled
from encoder.pooling import POOLINGS, Dense, DenseConfig
from encoder.text_encoder import TextEncoder
from encoder.tokenizer import Tokenizer

MODEL_TYPE = "encoderscope"
FORMAT = 1
HEAD = "mlm_head."
DENSE = "dense.{}."
#: The largest number that float16 can hold.
FLOAT16_MAX = 65_504.0

DiskType = Literal["float32", "float16", "bfloat16"]
DISK_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


# --- saving -----------------------------------------------------------------------------------------------------------


def save(model: TextEncoder, folder: str | Path, *, dtype: DiskType = "float32") -> Path:
    """Write `model` as a folder that `encoder.load` reads, and return the folder. dtype: the numbers on disk.

    The folder appears whole or not at all: it is written beside its place and then renamed. A checkpoint that was saved
    this way before is replaced. Raises EncoderError for a folder that holds something else, for a number type that is
    not known, and for a weight that float16 cannot hold.
    """
    if not isinstance(model, TextEncoder):
        raise EncoderError(f"{type(model).__name__} is not saved here: give an encoder of text, a TextEncoder.")
    if dtype not in DISK_TYPES:
        raise EncoderError(f"dtype={dtype!r}: choose one of {', '.join(DISK_TYPES)}.")
    target = Path(folder).expanduser().resolve()
    _check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    try:
        _write(model, beside, DISK_TYPES[dtype])
        _replace(target, beside)
    finally:
        shutil.rmtree(beside, ignore_errors=True)  # nothing is left there unless something failed
    return target


def _check_target(target: Path) -> None:
    """Raise EncoderError where saving would overwrite something that `save` did not write."""
    if target.is_file():
        raise EncoderError(f"{target.name} is a file: give the name of a folder.")
    if target.is_dir() and any(target.iterdir()) and not is_native(target):
        raise EncoderError(
            f"{target.name} holds files that are no checkpoint of this program, so it is not overwritten: "
            "give another folder."
        )


def _replace(target: Path, beside: Path) -> None:
    """Put `beside` in the place of `target`; what was there goes last, and comes back if that fails."""
    _as_the_umask_says(beside)
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


def _as_the_umask_says(folder: Path) -> None:
    """mkdtemp and safetensors make what their owner alone may read; others get what any new folder and file gets."""
    usual = folder / "usual"
    usual.mkdir()
    shutil.copymode(usual, folder)
    usual.rmdir()
    shutil.copymode(folder / "config.json", folder / SINGLE)


def _write(model: TextEncoder, folder: Path, dtype: torch.dtype) -> None:
    from safetensors.torch import save_file

    weights = {name: _to_disk(name, value, dtype) for name, value in _state(model).items()}
    save_file(weights, folder / SINGLE, metadata={"format": "pt"})
    head = model.mlm_head
    fields = {
        "model_type": MODEL_TYPE,
        "format": FORMAT,
        "name": model.name,
        "encoder": dataclasses.asdict(model.config),
        "mlm_head": None if head is None else dataclasses.asdict(head.config),
        "pooling": model.pooling,
        "dense": [dataclasses.asdict(dense.config) for dense in model.dense],
        "normalise": model.normalise,
        "max_embed_tokens": model.max_embed_tokens,
    }
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    model.tokenizer.backend.save(str(folder / "tokenizer.json"))
    special = json.dumps(model.tokenizer.special, indent=2, ensure_ascii=False)
    (folder / "special_tokens_map.json").write_text(special + "\n", encoding="utf-8")


def _state(model: TextEncoder) -> dict[str, Tensor]:
    state = dict(model.encoder.state_dict())
    if model.mlm_head is not None:
        state |= prefixed(HEAD, model.mlm_head)
    for index, dense in enumerate(model.dense):
        state |= prefixed(DENSE.format(index), dense)
    return state


def prefixed(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module beside the encoder, under the names that they have on disk."""
    return {prefix + name: value for name, value in module.state_dict().items()}


def _to_disk(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    value = value.detach().cpu()
    largest = float(value.abs().max()) if dtype is torch.float16 else 0.0
    if largest > FLOAT16_MAX:
        raise EncoderError(
            f"The weight {name} reaches {largest:g}; float16 ends at {FLOAT16_MAX:g}. Save it as float32 or bfloat16."
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


def load_native(folder: Path, device: torch.device, dtype: torch.dtype) -> TextEncoder:
    """Read what `save` wrote. Raises LoadError naming the field or weight that is missing, unknown or out of shape."""
    fields = read_json(folder / "config.json")
    if fields.get("format") != FORMAT:
        raise LoadError(
            f"{folder.name} has the format {fields.get('format')!r}; this version reads {FORMAT}. Update the program, "
            "or save the model again."
        )
    config = from_fields(EncoderConfig, fields.get("encoder"), "encoder")
    if config.n_layers > MAX_LAYERS:
        raise LoadError(f"config.json has n_layers={config.n_layers}: 1 to {MAX_LAYERS} layers are what is taken here.")
    head_fields = fields.get("mlm_head")
    dense_fields = fields.get("dense", [])
    if not isinstance(dense_fields, list):
        raise LoadError(f"config.json has dense={dense_fields!r}: a list is needed.")
    with unfilled():
        encoder = Encoder(config)
        head = None if head_fields is None else MLMHead(config, from_fields(MLMHeadConfig, head_fields, "mlm_head"))
        dense = tuple(Dense(from_fields(DenseConfig, entry, "dense")) for entry in dense_fields)
    modules = {"": encoder} | ({} if head is None else {HEAD: head})
    modules |= {DENSE.format(index): module for index, module in enumerate(dense)}
    fill_strictly(modules, WeightFiles(folder), device, dtype)
    pooling = fields.get("pooling", "mean")
    if pooling not in POOLINGS:
        raise LoadError(f"config.json has pooling={pooling!r}: known are {', '.join(POOLINGS)}.")
    return TextEncoder(
        name=str(fields.get("name") or folder.resolve().name),
        encoder=encoder,
        tokenizer=Tokenizer.from_file(folder / "tokenizer.json"),
        pooling=pooling,
        dense=dense,
        normalise=bool(fields.get("normalise", False)),
        max_embed_tokens=fields.get("max_embed_tokens"),
        mlm_head=head,
    )


def fill_strictly(modules: dict[str, nn.Module], files: WeightFiles, device: torch.device, dtype: torch.dtype) -> None:
    """Fill the modules, each under its prefix, with the weights in the files: none missing, none more, all in shape."""
    wanted = {name: value for prefix, module in modules.items() for name, value in prefixed(prefix, module).items()}
    unknown = sorted(set(files) - set(wanted))
    if unknown:
        raise LoadError(f"The checkpoint holds the weight {unknown[0]}, which this architecture does not have.")
    for name, parameter in wanted.items():
        if name not in files:
            raise LoadError(f"The checkpoint lacks the weight {name}.")
        if files.shape(name) != tuple(parameter.shape):
            raise LoadError(
                f"The weight {name} has the shape {files.shape(name)}; config.json makes it {tuple(parameter.shape)}."
            )
    for prefix, module in modules.items():
        # Copied, never a view of the mapped file: this folder is one that `save` may replace while the model is in use.
        fill(module, {name: files.read(prefix + name).to(device, dtype, copy=True) for name in module.state_dict()})


def from_fields(kind: type, fields: Any, where: str) -> Any:
    """A JSON object -> the frozen dataclass `kind`. Raises LoadError for a field that is unknown, missing or misfit.

    A field that the object does not name takes its default, so old checkpoints load after a new field is added.
    """
    if not isinstance(fields, dict):
        raise LoadError(f"config.json has no object {where!r}, where the fields of {kind.__name__} stand.")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(fields) - set(hints))
    if unknown:
        raise LoadError(f"config.json's {where} has the field {unknown[0]!r}, which {kind.__name__} does not know.")
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.name not in fields:
            raise LoadError(f"config.json's {where} has no {field.name}.")
    return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in fields.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    """A JSON value as what the type `hint` asks for: lists become tuples, objects Patches."""
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(value, dict) and hint == Patches | None:
        return from_fields(Patches, value, where)
    if not _fits(hint, value):
        raise LoadError(f"config.json has {where}={value!r}, which is of another type than this field.")
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
