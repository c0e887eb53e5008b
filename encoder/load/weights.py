"""The weights of a checkpoint folder, from one safetensors file or from shards. Each is read when it is needed.

Names and shapes come from the files' headers, so everything is checked before a weight is read, and memory never
contains a model twice. Each weight is a copy: a view of the mapped file would end the process (SIGBUS) when somebody
truncates the file, and `save` may replace a folder whose model is in use.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder.device import free_memory
from encoder.errors import LoadError, quoted
from encoder.text_file import read_json

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

    def starting_with(self, prefixes: tuple[str, ...]) -> WeightFiles:
        """Only the weights whose names start with one of `prefixes`."""
        some = copy.copy(self)
        some._file_of = {name: file for name, file in self._file_of.items() if name.startswith(prefixes)}
        return some

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
    # As in transformers: an index counts only where there is no single file.
    names = [SINGLE] if (folder / SINGLE).is_file() or not (folder / INDEX).is_file() else shard_names(folder)
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
        plain = name not in ("", ".", "..") and not any(mark in name for mark in "/\\:\0") and len(name) <= 200
        if not plain or not name.endswith(".safetensors"):
            raise LoadError(
                f"{INDEX} in {folder.name} names {quoted(name)}: it may name only safetensors files of this folder."
            )
    return names


def fill(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put `weights`, one for each parameter, into a module from `unfilled`. Nothing is copied."""
    module.load_state_dict(weights, strict=True, assign=True)
    module.requires_grad_(True)


def check_memory(modules: Iterable[nn.Module], device: torch.device, dtype: torch.dtype) -> None:
    """Raise LoadError for weights that do not fit into the memory that is free, before any is read."""
    n_bytes = sum(value.numel() for module in modules for value in module.state_dict().values()) * dtype.itemsize
    free = free_memory(device)
    if n_bytes > free:
        raise LoadError(
            f"These weights need {n_bytes / 1e9:,.1f} GB as {str(dtype).removeprefix('torch.')}, and {device} has "
            f"{free / 1e9:,.1f} GB free: choose bfloat16, a smaller model or another machine."
        )


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
    check_memory(modules.values(), device, dtype)
    for prefix, module in modules.items():
        fill(module, {name: files.read(prefix + name).to(device, dtype, copy=True) for name in module.state_dict()})
