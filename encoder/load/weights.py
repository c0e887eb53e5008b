"""The tensors of a checkpoint folder, from one safetensors file or from shards: read one by one, when asked for.

Names and shapes come from the files' headers, so that everything can be checked before a single weight is read, and no
second copy of a model is ever held. On the CPU a float32 weight stays a view of the mapped file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from encoder.errors import LoadError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.h5", "*.msgpack")


class WeightFiles:
    """The safetensors of one folder. Raises LoadError for a file that is missing or cannot be read."""

    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError, safe_open

        self.folder = folder
        self._file_of: dict[str, Any] = {}
        for path in weight_files(folder):
            try:
                opened = safe_open(path, framework="pt")
                names = list(opened.keys())
            except (SafetensorError, OSError, ValueError) as error:
                raise LoadError(
                    f"{path.name} in {folder.name} is no safetensors file that can be read ({error}): "
                    "fetch it anew, it may be cut short."
                ) from error
            for name in names:
                if name in self._file_of:
                    raise LoadError(f"{folder.name} holds the weight {name} twice, in two of its files.")
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
        """The weight itself, in the number type that it was saved in."""
        return self._file_of[name].get_tensor(name)


def weight_files(folder: Path) -> list[Path]:
    """The files to read. Raises LoadError for a pickle, for none at all, and for an index that points elsewhere."""
    names = shard_names(folder) if (folder / INDEX).is_file() else [SINGLE]
    missing = [name for name in names if not (folder / name).is_file()]
    if not missing:
        return [folder / name for name in names]
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        raise LoadError(
            f"{folder.name} holds its weights as {pickles[0]}. A pickle can run code when it is opened, so only "
            "safetensors are read here: save the model again with save_pretrained(folder)."
        )
    raise LoadError(f"{folder.name} has no {missing[0]}: the weights must lie beside config.json, as safetensors.")


def shard_names(folder: Path) -> list[str]:
    """File names in the folder's index, each once. Raises LoadError for one that lies elsewhere."""
    weight_map = read_json(folder / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise LoadError(f"{INDEX} in {folder.name} has no weight_map, so it does not say where the weights are.")
    names = sorted({str(name) for name in weight_map.values()})
    for name in names:
        if name in ("", ".", "..") or any(mark in name for mark in "/\\:\0") or not name.endswith(".safetensors"):
            raise LoadError(
                f"{INDEX} in {folder.name} names {name!r}: only safetensors files of the folder itself are read."
            )
    return names


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises LoadError where the file is missing or holds something else."""
    if not path.is_file():
        raise LoadError(
            f"{path.parent} is no checkpoint: it has no {path.name}. Give a folder in Hugging Face's layout."
        )
    value = parse_json(path)
    if not isinstance(value, dict):
        raise LoadError(f"{path.name} in {path.parent.name} holds no JSON object ({{...}}).")
    return value


def parse_json(path: Path) -> Any:
    """Whatever JSON the file holds. Raises LoadError where it cannot be read as such."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LoadError(
            f"{path.name} in {path.parent.name} is not JSON that can be read ({error}): fetch it anew."
        ) from error
    except OSError as error:
        raise LoadError(f"{path.name} in {path.parent.name} cannot be opened: {error.strerror}.") from error


def fill(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put `weights`, one for each parameter, into a module made on the meta device. No copy is made."""
    module.load_state_dict(weights, strict=True, assign=True)
    module.requires_grad_(True)
