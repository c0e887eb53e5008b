"""The files of an atlas, each checked when it is read: an atlas may come from anywhere. The manifest names them."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from encoder.errors import AtlasError, LoadError, quoted
from encoder.inputs.json_file import check_regular

FORMAT, VERSION = "encoderscope atlas", 1
MANIFEST = "manifest.json"
#: Table -> (its columns of numbers, its columns of texts). A file may come from anywhere, so they are checked.
TABLES = {
    "heads": ("layer head n mean std se low high", "measure"),
    "histograms": ("layer head lower upper count", "measure"),
    "types": ("layer head by_mean support share low high", "type"),
    "profile": ("layer head offset mean share pairs", ""),
    "key_tokens": ("layer head n mean std se", "token"),
    "labels": ("layer head n mean std se", "label value measure"),
    "similarity": ("layer head other_layer other_head divergence", ""),
    "examples": ("layer head rank value text n_tokens", "measure"),
    "norms": ("n mean std se", "quantity place"),
    "lengths": ("n_tokens texts", ""),
    "texts": ("row", "text"),
    "problems": ("row text", "why"),
    "tokens": ("text position special start end", "token"),
}
#: A larger manifest is refused unread.
MOST_BYTES = 50_000_000


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in a folder, of this version or an older one.

    Raises AtlasError for a folder without a manifest, a damaged one, another format, and a newer version.
    """
    path = folder / MANIFEST
    try:
        check_regular(path, MOST_BYTES)
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except LoadError:
        raise AtlasError(
            f"{folder.name} is not an atlas: its {MANIFEST} is not a regular file, or too large."
        ) from None
    except OSError:
        raise AtlasError(
            f"{folder} is not an atlas, since it has no {MANIFEST}: build one with encoderscope corpus build."
        ) from None
    except (ValueError, RecursionError):
        raise AtlasError(f"The {MANIFEST} of {folder.name} is damaged: build the atlas again.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise AtlasError(
            f"{folder.name} is not an atlas of Encoderscope: choose the folder that corpus build has made."
        )
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise AtlasError(f"The {MANIFEST} of {folder.name} is damaged: build the atlas again.")
    if version > VERSION:
        raise AtlasError(
            f"{folder.name} has the format {version}, and this version of Encoderscope reads up to {VERSION}: update "
            "it, or build the atlas again."
        )
    return manifest


class Files:
    """The files that a manifest names, in a folder."""

    def __init__(self, folder: Path, files: Mapping[str, Any]) -> None:
        """files: name -> bytes and sha256. Raises AtlasError for a name outside of the folder."""
        self._folder = folder
        self._files = {str(name): (int(file["bytes"]), str(file["sha256"])) for name, file in files.items()}
        if any(name.startswith(("/", "\\")) or ".." in name.split("/") for name in self._files):
            raise AtlasError(f"The {MANIFEST} of {folder.name} names files outside of it: build the atlas again.")

    @property
    def names(self) -> tuple[str, ...]:
        """Paths inside the folder, with "/"."""
        return tuple(self._files)

    def check(self) -> None:
        """Raise AtlasError for a file that is missing or has another size."""
        for name, (size, _) in self._files.items():
            path = self._folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise AtlasError(f"{name} of {self._folder.name} is missing or damaged: copy or build the atlas again.")

    def verify(self) -> None:
        """Raise AtlasError where the content of a file is not what was written."""
        for name, (_, sha256) in self._files.items():
            with open(self._folder / name, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise AtlasError(f"{name} of {self._folder.name} was changed: copy or build the atlas again.")

    def arrow(self, name: str, columns: Sequence[str] | None = None, filters: Any = None) -> Any:
        """A table as pyarrow's. Raises AtlasError where it, or a column, is not there or damaged."""
        if name not in self._files:
            raise AtlasError(f"This atlas has no {quoted(name)}: it has {', '.join(self._tables())}.")
        found = self.read(name, lambda path: pq.read_table(path, columns=columns, filters=filters))
        numbers, texts = TABLES.get(name.split("/")[0].removesuffix(".parquet"), ("", ""))
        for column in columns or (numbers + " " + texts).split():
            kind = found.schema.field(column).type if column in found.schema.names else None
            if kind is None or (
                (pa.types.is_string(kind) or pa.types.is_dictionary(kind)) == (column in numbers.split())
            ):
                raise AtlasError(
                    f"{name} of {self._folder.name} is damaged: it has no column {column}, or another kind."
                )
        return found

    def read(self, name: str, read: Callable[[Path], Any]) -> Any:
        """What `read` makes of the path of a file. Raises AtlasError where it fails."""
        try:
            return read(self._folder / name)
        except (pa.ArrowException, SafetensorError, OSError, LookupError, TypeError, ValueError) as error:
            raise AtlasError(
                f"{name} of {self._folder.name} is damaged ({quoted(str(error))}): copy or build the atlas again."
            ) from None

    def _tables(self) -> list[str]:
        return [name.removesuffix(".parquet") for name in self._files if "/" not in name]

    def tensor(self, part: str, name: str) -> np.ndarray:
        """A tensor of a part of the vectors."""

        def read(path: Path) -> np.ndarray:
            with safe_open(path, framework="numpy") as file:
                return file.get_tensor(name)

        if f"vectors/{part}.safetensors" not in self._files:
            raise AtlasError(f"This atlas has no part {quoted(part)} of vectors.")
        return self.read(f"vectors/{part}.safetensors", read)
