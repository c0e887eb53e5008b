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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import ConfigError, EncoderError, LoadError, SaveError, quoted
from encoder.inputs.json_file import parse_json, read_json
from encoder.load.weights import SINGLE, prefixed
from encoder.model.checks import check_whole
from encoder.model.classifier import ClassifierConfig
from encoder.model.mlm import MLMHeadConfig
from encoder.model.pooling import DenseConfig, LateConfig, SparseConfig, parts_of
from encoder.model.vector_head import VectorHeadConfig

MODEL_TYPE = "encoderscope"
FORMAT = 1
#: A field of config.json in any layout: `save` wrote it and may replace it.
SAVED_BY = "saved_by_encoderscope"
#: The largest number of float16.
FLOAT16_MAX = 65_504.0

DiskType = Literal["float32", "float16", "bfloat16"]
Tower = TextEncoder | ImageEncoder | AudioEncoder
Savable = Tower | JointEncoder
DISK_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class SignalFields:
    """The heads of an encoder of images or sound."""

    classifier: ClassifierConfig | None = None
    vector_head: VectorHeadConfig | None = None


@dataclass(frozen=True)
class TextFields:
    """The heads and settings of a TextEncoder.

    Raises ConfigError for an unknown pooling, a default prompt that is none of the prompts, and a number below 1.
    """

    classifier: ClassifierConfig | None = None
    mlm_head: MLMHeadConfig | None = None
    span_head: ClassifierConfig | None = None
    dense: tuple[DenseConfig, ...] = ()
    token_dense: tuple[DenseConfig, ...] = ()
    sparse: SparseConfig | None = None
    late: LateConfig | None = None
    pooling: str = "mean"
    normalise: bool = False
    max_embed_tokens: int | None = None
    truncate_dim: int | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    pools_prompt: bool = True
    fill_to: int | None = None

    def __post_init__(self) -> None:
        parts_of(self.pooling)
        if self.default_prompt is not None and self.default_prompt not in self.prompts:
            raise ConfigError(f"default_prompt={quoted(self.default_prompt)} is none of the prompts: correct it.")
        for name in ("max_embed_tokens", "truncate_dim", "fill_to"):
            if (value := getattr(self, name)) is not None:
                check_whole(name, value, 1)


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
    kind: Any = TextFields if isinstance(model, TextEncoder) else SignalFields
    names = [one.name for one in dataclasses.fields(kind) if one.name != "fill_to"]
    fields = {"encoder": model.config} | {name: getattr(model, name) for name in names}
    if isinstance(model, TextEncoder):
        fields["fill_to"] = model.tokenizer.fill_to
    else:
        fields["preparation"] = model.preparation
    found = {name: _as_json(value) for name, value in fields.items()}
    if isinstance(model, AudioEncoder):
        found["preparation"]["kind"] = type(model.preparation).__name__
    return found


def _as_json(value: Any) -> Any:
    """A field of an encoder: of a head, its config."""
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    value = value.config if isinstance(value, nn.Module) else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


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
