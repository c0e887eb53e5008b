"""The weights of a checkpoint folder, from one safetensors file or from shards. Each is read when it is needed.

Names and shapes come from the files' headers, so everything is checked before a weight is read, and memory never
contains a model twice. `safetensors` checks the headers; the weights are read, not mapped: a mapped file would end the
process (SIGBUS) when somebody truncates it, while it is loaded or later. A file stays open until it is read, so `save`
may replace a folder that is loaded or in use.
"""

from __future__ import annotations

import copy
import json
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from encoder.disk import open_regular
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import JSON_BYTES, read_json
from encoder.model.device import free_memory

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
#: Number types of weights, as safetensors names them.
NUMBERS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
WHOLE = {"I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "U8": torch.uint8}
#: Files that an index may name.
MOST_SHARDS = 1_000
SAVE_AGAIN = "save the model again with save_pretrained(folder)."
#: Makes safetensors of a pickle of plain weights, which torch opens without running its code.
PICKLE_RECIPE = (
    "run in Python, in its folder: import torch, safetensors.torch; "
    'weights = torch.load("{name}", weights_only=True, map_location="cpu"); '
    'safetensors.torch.save_file({{k: v.clone() for k, v in weights.items()}}, "model.safetensors").'
)
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.h5", "*.msgpack")


class OpenFile:
    """A file that is closed when nobody has it any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_regular(path)
        weakref.finalize(self, self._file.close)

    def read(self, start: int, n_bytes: int) -> Tensor:
        """uint8 [n_bytes]. Raises EOFError for a file that ends before."""
        content = torch.empty(n_bytes, dtype=torch.uint8)
        self._file.seek(start)
        if self._file.readinto(content.numpy().data) != n_bytes:
            raise EOFError(f"{self.path.name} ends too early")
        return content


@dataclass(frozen=True)
class Stored:
    """A weight in a file: its first byte, its size, its number type and its shape."""

    file: OpenFile
    start: int
    n_bytes: int
    kind: str
    shape: tuple[int, ...]


class WeightFiles:
    """The safetensors of one folder. Raises LoadError for a missing or unreadable file.

    shares: whether `read` gives weights that somebody else uses, so that they are not copied (`wrap`).
    """

    shares = False

    def __init__(self, folder: Path) -> None:
        self._open(folder, weight_files(folder))

    @classmethod
    def of_file(cls, path: Path) -> WeightFiles:
        """The weights of one file of another name. Raises LoadError for a file that is not readable."""
        found = cls.__new__(cls)
        found._open(path.parent, [path])
        return found

    def _open(self, folder: Path, paths: list[Path]) -> None:
        from safetensors import SafetensorError

        self.folder = folder
        self._stored: dict[str, Stored] = {}
        for path in paths:
            try:
                found = _stored_in(path)
            except (SafetensorError, OSError, EOFError, ValueError, KeyError, TypeError) as error:
                raise LoadError(
                    f"{path.name} in {folder.name} is not a readable safetensors file ({quoted(str(error))}): "
                    "download it again, it may be incomplete."
                ) from error
            for name in found:
                if name in self._stored:
                    raise LoadError(
                        f"{folder.name} has the weight {quoted(name)} twice, in two of its files: save the model again."
                    )
            self._stored |= found

    def starting_with(self, prefixes: tuple[str, ...]) -> WeightFiles:
        """Only the weights whose names start with one of `prefixes`."""
        some = copy.copy(self)
        some._stored = {name: one for name, one in self._stored.items() if name.startswith(prefixes)}
        return some

    def beneath(self, prefix: str) -> WeightFiles:
        """Only the weights whose names start with `prefix`, by what follows it; all of them where none does."""
        names = {name: name.removeprefix(prefix) for name in self._stored if prefix and name.startswith(prefix)}
        return self._renamed(names) if names else self

    def _renamed(self, names: Mapping[str, str]) -> WeightFiles:
        """Only the weights of these names, by others. names: here -> there."""
        some = copy.copy(self)
        some._stored = {new: self._stored[name] for name, new in names.items()}
        return some

    def replace(self, other: WeightFiles, names: Mapping[str, str]) -> None:
        """Let the weights of these names be those of other files. names: ours -> theirs."""
        self._stored = self._stored | {ours: other._stored[theirs] for ours, theirs in names.items()}

    def without(self, names: tuple[str, ...]) -> WeightFiles:
        """All weights but those of these names."""
        some = copy.copy(self)
        some._stored = {name: one for name, one in self._stored.items() if name not in names}
        return some

    def also(self, name: str, same: str) -> None:
        """Let the weight `same` have a second name."""
        self._stored[name] = self._stored[same]

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight, from the header."""
        return self._stored[name].shape

    def kinds(self) -> set[str]:
        """The number types of the weights, as safetensors names them."""
        return {one.kind for one in self._stored.values()}

    def read(self, name: str) -> Tensor:
        """A copy of the weight, in the number type of the file.

        Raises LoadError for a file that ends too early, and for a weight that is not of ordinary numbers. Whole numbers
        are the weights of a model that was quantised; without their scales they are another model.
        """
        return self._read(name, NUMBERS)

    def read_whole(self, name: str) -> Tensor:
        """A copy of a table of whole numbers, such as places in another. Raises LoadError for other numbers."""
        return self._read(name, WHOLE).long()

    def _read(self, name: str, kinds: Mapping[str, torch.dtype]) -> Tensor:
        stored = self._stored[name]
        if stored.kind not in kinds:
            raise LoadError(
                f"The weight {quoted(name)} in {self.folder.name} is of the type {stored.kind}, and "
                f"{', '.join(kinds)} are read: save the model in one of them."
            )
        try:
            content = stored.file.read(stored.start, stored.n_bytes)
        except EOFError:
            name = stored.file.path.name
            raise LoadError(f"{name} in {self.folder.name} was cut short meanwhile: load it again.") from None
        return content.view(kinds[stored.kind]).reshape(stored.shape)


def read_tensor(
    path: Path, name: str, check: Callable[[tuple[int, ...]], None]
) -> tuple[Tensor, dict[str, str]] | None:
    """One tensor of a safetensors file, and the file's metadata; None where the file has no such tensor.

    check: raises LoadError for a shape that is not read. Raises LoadError for a broken file, too.
    """
    from safetensors import SafetensorError, safe_open

    try:
        stored = _stored_in(path).get(name)
        if stored is None:
            return None
        if stored.kind not in NUMBERS:
            raise LoadError(f"{path.name} has {name} as {stored.kind}: save it as one of {', '.join(NUMBERS)}.")
        check(stored.shape)
        content = stored.file.read(stored.start, stored.n_bytes).view(NUMBERS[stored.kind]).reshape(stored.shape)
        metadata: dict[str, str] | None = safe_open(path, framework="pt").metadata()  # type: ignore[no-untyped-call]
        return content, metadata or {}
    except (SafetensorError, OSError, EOFError, ValueError, KeyError, TypeError) as error:
        what = quoted(str(error))
        raise LoadError(f"{path.name} is not a readable safetensors file ({what}): save it again.") from error


def _stored_in(path: Path) -> dict[str, Stored]:
    """Where each weight of a safetensors file is. Raises SafetensorError for a header that is wrong in any part."""
    from safetensors import safe_open

    file = OpenFile(path)
    safe_open(path, framework="pt")  # checks sizes, and that nothing overlaps or is left out
    n_header = int.from_bytes(file.read(0, 8).numpy().tobytes(), "little")
    if n_header > JSON_BYTES:
        raise ValueError(f"a header of {n_header / 1e6:,.0f} MB")
    header = json.loads(file.read(8, n_header).numpy().tobytes())
    header.pop("__metadata__", None)
    found = {}
    for name, about in header.items():
        (start, end), kind, shape = about["data_offsets"], str(about["dtype"]), tuple(about["shape"])
        size = (NUMBERS | WHOLE).get(kind)
        if size is not None and end - start != math.prod(shape) * size.itemsize:
            raise ValueError(f"{quoted(name)} has another size than its shape")  # another file since the check
        found[name] = Stored(file, 8 + n_header + start, end - start, kind, shape)
    return found


def weight_files(folder: Path) -> list[Path]:
    """The files to read. Raises LoadError for a pickle, for no file, and for an index that points elsewhere."""
    # As in transformers: an index counts only without a single file.
    names = [SINGLE] if (folder / SINGLE).is_file() or not (folder / INDEX).is_file() else shard_names(folder)
    missing = [name for name in names if not (folder / name).is_file()]
    if not missing:
        return [folder / name for name in names]
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        recipe = PICKLE_RECIPE.format(name=pickles[0]) if pickles[0].endswith((".bin", ".pt", ".pth")) else SAVE_AGAIN
        raise LoadError(
            f"{folder.name} has its weights in {pickles[0]}. A pickle can run code when it is opened, so this program "
            f"reads only safetensors: {recipe}"
        )
    exports = sorted(str(path.relative_to(folder)) for end in ("*.onnx", "onnx/*.onnx") for path in folder.glob(end))
    if exports:
        raise LoadError(
            f"{folder.name} has only an export for another program, {exports[0]}, whose operations are no longer those "
            "of an encoder: open the model that it was exported from. Its AutoModel.from_pretrained(original)"
            ".save_pretrained(folder) writes safetensors."
        )
    raise LoadError(f"{folder.name} has no {missing[0]}: put the weights next to config.json, as safetensors.")


def shard_names(folder: Path) -> list[str]:
    """File names in the folder's index, each once. Raises LoadError for a file outside the folder."""
    weight_map = read_json(folder / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise LoadError(f"{INDEX} in {folder.name} has no weight_map: download it again.")
    names = sorted({str(name) for name in weight_map.values()})
    if len(names) > MOST_SHARDS:
        raise LoadError(f"{INDEX} in {folder.name} names {len(names):,} files: at most {MOST_SHARDS:,} are read.")
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


def named_weights(modules: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The weights of modules, by prefix, under their names on disk."""
    return {prefix + name: value for prefix, one in modules.items() for name, value in one.state_dict().items()}


def fill_strictly(
    modules: Mapping[str, nn.Module], files: WeightFiles, device: torch.device, dtype: torch.dtype
) -> None:
    """Fill modules, by prefix. Raises LoadError for a weight that is missing, unknown or of another shape."""
    wanted = named_weights(modules)
    where = files.folder.name
    for name in sorted(set(files) - set(wanted)):
        raise LoadError(
            f"{where} has an unknown weight {quoted(name)}, which config.json does not describe: save it again."
        )
    for name, parameter in wanted.items():
        if name not in files:
            raise LoadError(f"{where} lacks the weight {name}: save it again.")
        if files.shape(name) != tuple(parameter.shape):
            raise LoadError(
                f"The weight {name} in {where} has the shape {files.shape(name)}, but config.json makes it "
                f"{tuple(parameter.shape)}: save it again."
            )
    if not files.shares:
        check_memory(modules.values(), device, dtype)
    for prefix, module in modules.items():
        state = {name: files.read(prefix + name) for name in module.state_dict()}
        fill(module, {name: value.to(device, dtype, copy=not files.shares) for name, value in state.items()})
