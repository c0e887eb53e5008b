"""Our own checkpoints: `encoder.save` writes them here; `native_read` reads them, exactly in float32.

A folder with config.json (model_type "encoderscope": the fields of EncoderConfig and of the heads), model.safetensors
(our own parameter names) and, where there is text, tokenizer.json. A JointEncoder has the fields of both "towers", and
"text." and "image." (or "sound.") before the names of their weights.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, LoadError, SaveError
from encoder.inputs.json_file import parse_json, read_json
from encoder.load.weights import SINGLE, prefixed

MODEL_TYPE = "encoderscope"
FORMAT = 1
#: A field of config.json in any layout: `save` wrote it and may replace it.
SAVED_BY = "saved_by_encoderscope"
#: Fields of TextEncoder that are written as they are.
TEXT_SETTINGS = ("pooling", "normalise", "max_embed_tokens", "truncate_dim", "default_prompt", "pools_prompt")
#: The largest number of float16.
FLOAT16_MAX = 65_504.0

DiskType = Literal["float32", "float16", "bfloat16"]
Tower = TextEncoder | ImageEncoder | AudioEncoder
Savable = Tower | JointEncoder
DISK_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def save(
    model: Savable,
    folder: str | Path,
    *,
    dtype: DiskType = "float32",
    write: Callable[[Savable, Path, torch.dtype], None] | None = None,
) -> Path:
    """Write `model` as a folder that `encoder.load` reads, and return the folder. dtype: the numbers on disk; write:
    writes its files, by default in our own layout.

    The folder is written elsewhere and then renamed, so it is never incomplete. An earlier checkpoint of `save` is
    replaced. Raises SaveError where the disk is full or takes no files; EncoderError for a folder with other files, for
    an unknown number type, and for a weight that is too large for float16.
    """
    if not isinstance(model, Savable):
        raise EncoderError(f"{type(model).__name__} cannot be saved: specify an encoder of this program.")
    if dtype not in DISK_TYPES:
        raise EncoderError(f"dtype={dtype!r} is unknown: choose one of {', '.join(DISK_TYPES)}.")
    try:
        target = Path(folder).expanduser().resolve()
        _check_target(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            (write or write_native)(model, beside, DISK_TYPES[dtype])
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
    if target.exists() and not target.is_dir():  # a device and a pipe, too
        raise EncoderError(f"{target.name} is a file: specify the name of a folder.")
    if target.is_dir() and any(target.iterdir()) and not _is_ours(target):
        raise EncoderError(
            f"{target.name} has files that are not a checkpoint of this program, and they stay: specify another folder."
        )


def _replace(target: Path, beside: Path) -> None:
    """Rename `beside` to `target`. The earlier folder is deleted last, and comes back after an error or Ctrl-C."""
    _apply_umask(beside)
    if not target.exists():
        beside.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    try:
        target.rename(old / "was")
        beside.rename(target)
    finally:
        if not target.exists():
            (old / "was").rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _apply_umask(folder: Path) -> None:
    """Give the folder and its weights usual permissions: mkdtemp and safetensors give them to the owner only."""
    usual = folder / "usual"
    usual.mkdir()
    shutil.copymode(usual, folder)
    usual.rmdir()
    shutil.copymode(folder / "config.json", folder / SINGLE)


def write_weights(state: dict[str, Tensor], file: Path, dtype: torch.dtype) -> None:
    """Weights as safetensors. Raises EncoderError for one that is too large for the number type."""
    from safetensors.torch import save_file

    file.parent.mkdir(exist_ok=True)
    save_file({name: _to_disk(name, value, dtype) for name, value in state.items()}, file, {"format": "pt"})


def write_native(model: Savable, folder: Path, dtype: torch.dtype) -> None:
    """Write the files of our own layout."""
    if isinstance(model, JointEncoder):
        towers = model.towers
        state = {f"{kind}.{name}": value for kind, tower in towers.items() for name, value in state_of(tower).items()}
        fields: dict[str, Any] = {"towers": {kind: fields_of(tower) for kind, tower in towers.items()}}
        fields |= {name: getattr(model, name) for name in ("scale", "bias", "compares")}
        text: Tower = model.text
    else:
        state, fields, text = state_of(model), fields_of(model), model
    write_weights(state, folder / SINGLE, dtype)
    fields = {"model_type": MODEL_TYPE, "format": FORMAT, "name": model.name} | fields
    if isinstance(text, TextEncoder):
        text.tokenizer.backend.save(str(folder / "tokenizer.json"))
        special = json.dumps(text.tokenizer.special, indent=2, ensure_ascii=False)
        (folder / "special_tokens_map.json").write_text(special + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")


def fields_of(model: Tower) -> dict[str, Any]:
    """All of a model but its weights and its tokenizer, as JSON."""
    fields = {"encoder": dataclasses.asdict(model.config), "classifier": _head_fields(model.classifier)}
    if not isinstance(model, TextEncoder):
        preparation = dataclasses.asdict(model.preparation)
        if isinstance(model, AudioEncoder):
            preparation["kind"] = type(model.preparation).__name__
        return fields | {"preparation": preparation, "vector_head": _head_fields(model.vector_head)}
    return fields | {
        **{name: getattr(model, name) for name in TEXT_SETTINGS},
        **{name: _head_fields(getattr(model, name)) for name in ("mlm_head", "span_head")},
        **{name: [_head_fields(dense) for dense in getattr(model, name)] for name in ("dense", "token_dense")},
        "prompts": dict(model.prompts),
        "sparse": None if model.sparse is None else dataclasses.asdict(model.sparse),
        "late": None if model.late is None else dataclasses.asdict(model.late),
        "fill_to": model.tokenizer.fill_to,
    }


def _head_fields(head: Any) -> dict[str, Any] | None:
    return None if head is None else dataclasses.asdict(head.config)


def modules_of(model: Tower) -> dict[str, nn.Module]:
    """The encoder and its heads, by what comes before the names of their weights."""
    return {"": model.encoder} | {f"{name}.": head for name, head in model.heads.items()}


def state_of(model: Tower) -> dict[str, Tensor]:
    """The weights under our own names."""
    return {name: value for prefix, part in modules_of(model).items() for name, value in prefixed(prefix, part).items()}


def _to_disk(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    value = value.detach().cpu()
    largest = float(value.abs().max()) if dtype is torch.float16 else 0.0
    if largest > FLOAT16_MAX:
        raise EncoderError(
            f"The weight {name} reaches {largest:g}, but float16 ends at {FLOAT16_MAX:g}: save as float32 or bfloat16."
        )
    return value.to(dtype).contiguous()


def _is_ours(folder: Path) -> bool:
    """Whether `save` wrote this folder, in any layout."""
    with contextlib.suppress(LoadError):
        return SAVED_BY in read_json(folder / "config.json") or is_native(folder)
    return False


def is_native(folder: Path) -> bool:
    """Whether `save` wrote this folder."""
    try:
        fields = parse_json(folder / "config.json")
    except LoadError:
        return False
    return isinstance(fields, dict) and fields.get("model_type") == MODEL_TYPE
