"""Checkpoints of other projects and our own -> an encoder of text, images, sound, or images and text. Never pickle.

`load` finds a checkpoint (bundled, folder, Hub). `folder` reads it with `checkpoint` (names and weights, by the tables
in `families`), `tokenizer`, `sentence` (pooling) and `pixels`; `joint` reads two towers. `huggingface` writes a model
in its family's layout, `native` in our own, `native_read` reads it; `places` protects a root.
"""

import dataclasses
import difflib
import os
from pathlib import Path

import torch

from encoder.checkpoints.bundled import BUNDLED, bundled_folder, first_bundled
from encoder.checkpoints.families import FAMILIES
from encoder.checkpoints.folder import Loaded, load_folder
from encoder.checkpoints.generation import named
from encoder.checkpoints.hub import download, full_hub_id, looks_like_hub_id
from encoder.checkpoints.huggingface import save
from encoder.checkpoints.in_memory import wrap
from encoder.checkpoints.places import inside
from encoder.checkpoints.traces import open_trace
from encoder.errors import EncoderError, LoadError, is_out_of_memory, quoted
from encoder.model.device import DEVICES, DTYPES, pick_device, pick_dtype

__all__ = [
    "BUNDLED", "DEVICES", "DTYPES", "FAMILIES", "first_bundled", "inside", "load", "open_trace",
    "pick_device", "save", "wrap",
]  # fmt: skip


def load(source: str | Path, *, device: str = "auto", dtype: str = "float32", trial: bool = False) -> Loaded:
    """A bundled name ("minilm"), a local folder, or a Hub id ("org/name") -> an encoder of its kind, or a pair of them.

    A file of attention maps (encoder.checkpoints.maps) -> MapsEncoder.

    A folder has Hugging Face's layout, sentence-transformers' layout, or that of `encoder.save`. device: "auto" takes
    CUDA, then MPS, then the CPU; dtype: "float32" or "bfloat16"; trial: try the tokenizer of a folder from anywhere
    first, in a process of its own with bounded time and memory.
    Raises LoadError for a checkpoint that does not exist or has only pickles; for an unknown family or field of
    config.json; for a weight that is missing, unknown or of another shape; for a tokenizer that fails; for weights that
    do not fit into memory; and when the Hub cannot be reached.
    """
    if not isinstance(source, str | os.PathLike):
        raise LoadError(
            f"load opens a name or a folder, and this is a {type(source).__name__} in memory: call "
            "encoder.wrap(model, tokenizer)."
        )
    number_type, where = pick_dtype(dtype), pick_device(device)
    folder, name = find(source)
    try:
        # Weights that are made in inference mode could never be trained or differentiated.
        with torch.inference_mode(False):
            model = load_folder(folder, where, number_type, trial=trial and source not in BUNDLED)
    except LoadError:
        raise
    except EncoderError as error:
        raise LoadError(f"{folder.name} describes no encoder. {error}") from error
    except Exception as error:  # the last resort, for a folder that may come from anywhere
        if is_out_of_memory(error):
            raise LoadError(
                f"{folder.name} does not fit into the memory of {where}: choose another device, or bfloat16."
            ) from error
        raise LoadError(
            f"{folder.name} cannot be opened ({type(error).__name__}: {quoted(str(error))}): download it again."
        ) from error
    return model if name is None else dataclasses.replace(model, **named(model, name))


def find(source: str | Path) -> tuple[Path, str | None]:
    """A checkpoint's folder, and its name for people (None: the name in the checkpoint, or its folder's)."""
    name = str(source).strip()
    if not name:
        raise LoadError("The model has no name: specify a bundled name, a folder or a Hub id such as org/name.")
    if name in BUNDLED:
        return bundled_folder(name), BUNDLED[name].title
    path = Path(name)
    try:
        path = path.expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # no file can have such a name
        exists = False
    if exists:
        return path, None
    if looks_like_hub_id(name):
        return download(name), name
    raise LoadError(
        f"No model {quoted(name)}: specify a bundled name ({', '.join(BUNDLED)}), a folder, or a Hub id of the form "
        f"org/name.{_suggestion(name)}"
    )


def _suggestion(name: str) -> str:
    """A second sentence with a likely name: a bundled one, or a Hub id without its organisation."""
    close = difflib.get_close_matches(name.lower(), BUNDLED, n=1)
    meant = close[0] if close else full_hub_id(name)
    return "" if meant is None else f" Did you mean {meant!r}?"
