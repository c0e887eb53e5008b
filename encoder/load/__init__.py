"""Checkpoints of other projects -> TextEncoder. Safetensors alone, never pickle.

`load` says where a checkpoint is (bundled, folder, Hub); `folder` reads it; `families` knows each family's names and fields.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from encoder.device import DEVICES, DTYPES, pick_device
from encoder.errors import LoadError
from encoder.load.bundled import BUNDLED, bundled_folder
from encoder.load.folder import load_folder
from encoder.load.hub import download, looks_like_hub_id
from encoder.load.native import is_native, load_native, save
from encoder.pipeline import TextEncoder

__all__ = ["BUNDLED", "DEVICES", "DTYPES", "load", "pick_device", "save"]


def load(source: str | Path, *, device: str = "auto", dtype: str = "float32") -> TextEncoder:
    """A bundled name ("minilm"), a local folder in Hugging Face's layout, or a Hub id ("org/name") -> TextEncoder.

    device: "auto" takes CUDA, then MPS, then the CPU; dtype: "float32" or "bfloat16". Raises LoadError in one sentence when
    there is no such checkpoint, when it holds pickles only, when its family is not known, or when the Hub is out of reach.
    """
    if dtype not in DTYPES:
        raise LoadError(f"dtype={dtype!r}: choose one of {', '.join(DTYPES)}.")
    where = pick_device(device)
    name = str(source).strip()
    if not name:
        raise LoadError("No model is named: give a bundled name, a folder or a Hub id such as org/name.")
    if name in BUNDLED:
        model = dataclasses.replace(load_folder(bundled_folder(name)), name=BUNDLED[name].title)
    elif is_native(Path(name).expanduser()):
        model = load_native(Path(name).expanduser(), where, DTYPES[dtype])
    elif Path(name).expanduser().exists():
        model = load_folder(Path(name).expanduser())
    elif looks_like_hub_id(name):
        model = dataclasses.replace(load_folder(download(name)), name=name)
    else:
        raise LoadError(
            f"There is no model {name!r}: it is no bundled name ({', '.join(BUNDLED)}), no folder here "
            "and no Hub id of the form org/name."
        )
    model.encoder.to(where, DTYPES[dtype])
    return model
