"""The manifest of an atlas: its format, and the errors for a folder that this version cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from encoder.errors import AtlasError, LoadError
from encoder.text_file import check_regular

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
        raise AtlasError(f"{folder.name} is no atlas: its {MANIFEST} is no regular file, or too large.") from None
    except OSError:
        raise AtlasError(
            f"{folder} is no atlas, since it has no {MANIFEST}: build one with encoderscope corpus build."
        ) from None
    except (ValueError, RecursionError):
        raise AtlasError(f"The {MANIFEST} of {folder.name} is damaged: build the atlas again.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise AtlasError(f"{folder.name} is no atlas of Encoderscope: choose the folder that corpus build has made.")
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise AtlasError(f"The {MANIFEST} of {folder.name} is damaged: build the atlas again.")
    if version > VERSION:
        raise AtlasError(
            f"{folder.name} has the format {version}, and this version of Encoderscope reads up to {VERSION}: update "
            "it, or build the atlas again."
        )
    return manifest
