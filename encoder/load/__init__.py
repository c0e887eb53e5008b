"""Checkpoints of other projects, and our own -> TextEncoder or ImageEncoder. Safetensors alone, never pickle.

`load` finds a checkpoint (bundled, folder, Hub); `folder` reads it with `checkpoint` (names and weights, by the tables
in `families`), `tokenizer`, `sentence` (pooling) and `pixels`; `native` holds our own format; `places` guards a root.
"""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

import torch

from encoder.device import DEVICES, DTYPES, pick_device
from encoder.errors import LoadError
from encoder.image_encoder import ImageEncoder
from encoder.load.bundled import BUNDLED, bundled_folder
from encoder.load.families import FAMILIES
from encoder.load.folder import load_folder
from encoder.load.hub import download, full_hub_id, looks_like_hub_id
from encoder.load.native import save
from encoder.load.places import folders_inside, inside
from encoder.text_encoder import TextEncoder

__all__ = [
    "BUNDLED", "DEVICES", "DTYPES", "FAMILIES", "folders_inside", "inside", "load", "pick_device", "save",
]  # fmt: skip


def load(source: str | Path, *, device: str = "auto", dtype: str = "float32") -> TextEncoder | ImageEncoder:
    """A bundled name ("minilm"), a local folder, or a Hub id ("org/name") -> TextEncoder; for a ViT, an ImageEncoder.

    The folder is one in Hugging Face's layout, one of sentence-transformers, or one that `encoder.save` wrote.
    device: "auto" takes CUDA, then MPS, then the CPU; dtype: "float32" or "bfloat16". Raises LoadError in one sentence
    when there is no such checkpoint, when it holds pickles only, when its family or a field of its config.json is not
    known, when a weight is missing, unknown or out of shape, and when the Hub is out of reach.
    """
    if dtype not in DTYPES:
        raise LoadError(f"dtype={dtype!r}: choose one of {', '.join(DTYPES)}.")
    where = pick_device(device)
    try:
        folder, name = find(source)
        model = load_folder(folder, where, DTYPES[dtype])
    except torch.OutOfMemoryError as error:
        raise LoadError(f"{source} does not fit into the memory of {where}: choose the CPU, or bfloat16.") from error
    return model if name is None else dataclasses.replace(model, name=name)


def find(source: str | Path) -> tuple[Path, str | None]:
    """Where a checkpoint lies, and what a person calls it (None: as it says itself, or by its folder's name)."""
    name = str(source).strip()
    if not name:
        raise LoadError("No model is named: give a bundled name, a folder or a Hub id such as org/name.")
    if name in BUNDLED:
        return bundled_folder(name), BUNDLED[name].title
    path = Path(name)
    try:
        path = path.expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have
        exists = False
    if exists:
        return path, None
    if looks_like_hub_id(name):
        return download(name), name
    raise LoadError(
        f"There is no model {name!r}: it is no bundled name ({', '.join(BUNDLED)}), no folder here "
        f"and no Hub id of the form org/name.{_suggestion(name)}"
    )


def _suggestion(name: str) -> str:
    """A sentence more, where what was meant can be guessed: a bundled name, or a Hub id without its organisation."""
    close = difflib.get_close_matches(name.lower(), BUNDLED, n=1)
    meant = close[0] if close else full_hub_id(name)
    return "" if meant is None else f" Did you mean {meant!r}?"
