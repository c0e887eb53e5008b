"""The weights of a checkpoint folder, from one safetensors file or from shards. Each is read when it is needed.

Names and shapes come from the files' headers, so everything is checked before a weight is read, and memory never
contains a model twice. On the CPU, a float32 weight stays a view of the mapped file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder.errors import LoadError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.h5", "*.msgpack")


class WeightFiles:
    """The safetensors of one folder. Raises LoadError for a missing or unreadable file."""

    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError, safe_open

        self.folder = folder
        self._file_of: dict[str, Any] = {}
        for path in weight_files(folder):
            try:
                opened: Any = safe_open(path, framework="pt")
                names = list(opened.keys())
            except (SafetensorError, OSError, ValueError) as error:
                raise LoadError(
                    f"{path.name} in {folder.name} is no readable safetensors file ({error}): download it "
                    "again, it may be incomplete."
                ) from error
            for name in names:
                if name in self._file_of:
                    raise LoadError(
                        f"{folder.name} has the weight {name} twice, in two of its files: save the model again."
                    )
                self._file_of[name] = opened

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight, from the header."""
        return tuple(self._file_of[name].get_slice(name).get_shape())

    def read(self, name: str) -> Tensor:
        """The weight, in the number type of the file."""
        weight: Tensor = self._file_of[name].get_tensor(name)
        return weight


def weight_files(folder: Path) -> list[Path]:
    """The files to read. Raises LoadError for a pickle, for no file, and for an index that points elsewhere."""
    names = shard_names(folder) if (folder / INDEX).is_file() else [SINGLE]
    missing = [name for name in names if not (folder / name).is_file()]
    if not missing:
        return [folder / name for name in names]
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        raise LoadError(
            f"{folder.name} has its weights in {pickles[0]}. A pickle can run code when it is opened, so this program "
            "reads only safetensors: save the model again with save_pretrained(folder)."
        )
    raise LoadError(f"{folder.name} has no {missing[0]}: put the weights beside config.json, as safetensors.")


def shard_names(folder: Path) -> list[str]:
    """File names in the folder's index, each once. Raises LoadError for a file outside the folder."""
    weight_map = read_json(folder / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise LoadError(f"{INDEX} in {folder.name} has no weight_map: download it again.")
    names = sorted({str(name) for name in weight_map.values()})
    for name in names:
        if name in ("", ".", "..") or any(mark in name for mark in "/\\:\0") or not name.endswith(".safetensors"):
            raise LoadError(
                f"{INDEX} in {folder.name} names {name!r}: it may name only safetensors files of this folder."
            )
    return names


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises LoadError for a missing file, or another content."""
    if not path.is_file():
        raise LoadError(
            f"{path.parent} is no checkpoint, since it has no {path.name}: give a folder in Hugging Face's layout."
        )
    value = parse_json(path)
    if not isinstance(value, dict):
        raise LoadError(f"{path.name} in {path.parent.name} has no JSON object ({{...}}): download it again.")
    return value


def parse_json(path: Path) -> Any:
    """The JSON value in a file. Raises LoadError for anything else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LoadError(
            f"{path.name} in {path.parent.name} is no readable JSON ({error}): download it again."
        ) from error
    except OSError as error:
        raise LoadError(
            f"{path.name} in {path.parent.name} cannot be opened ({error.strerror}): check its permissions."
        ) from error


def fill(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put `weights`, one for each parameter, into a module from `unfilled`. Nothing is copied."""
    module.load_state_dict(weights, strict=True, assign=True)
    module.requires_grad_(True)


def prefixed(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module under their names on disk, which start with `prefix`."""
    return {prefix + name: value for name, value in module.state_dict().items()}


def fill_strictly(
    modules: Mapping[str, nn.Module], files: WeightFiles, device: torch.device, dtype: torch.dtype
) -> None:
    """Fill modules, by prefix. Raises LoadError for a weight that is missing, unknown or of another shape."""
    wanted = {name: value for prefix, module in modules.items() for name, value in prefixed(prefix, module).items()}
    where = files.folder.name
    for name in sorted(set(files) - set(wanted)):
        raise LoadError(f"{where} has an unknown weight {name}, which config.json does not describe: save it again.")
    for name, parameter in wanted.items():
        if name not in files:
            raise LoadError(f"{where} lacks the weight {name}: save it again.")
        if files.shape(name) != tuple(parameter.shape):
            raise LoadError(
                f"The weight {name} in {where} has the shape {files.shape(name)}, but config.json makes it "
                f"{tuple(parameter.shape)}: save it again."
            )
    for prefix, module in modules.items():
        # Copies, not views of the mapped file: `save` may replace this folder while the model is in use.
        fill(module, {name: files.read(prefix + name).to(device, dtype, copy=True) for name in module.state_dict()})
